/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* maps.h: every map and global variable of the BPF object. */
#ifndef GCPROF_MAPS_H
#define GCPROF_MAPS_H

#include "kernel.h"
#include "config.h"
#include "events.h"
#include "walk_read.h"
#include "walk_managed.h"
#include "walk_rows.h"
#include "walk_native.h"
#include "walk_hotspot.h"
#include "v8_names.h"
#include "frame_place.h"

static __always_inline long cpython_read(void *to, const uint32_t size, uint64_t from)
{
	return bpf_probe_read_user(to, size, (const void *)from);
}

#include "walk_cpython.h"

/* Set before loading and constant afterwards: the verifier removes what is switched off. */
const volatile struct bpf_config config;

/* Cleared by the recorder to stop everything at once, before it detaches in its own time. */
volatile uint32_t recording = 1;

/* What the recorder changes where all of it takes too much: ticks of the timer that a tick stands
 * for; short calls recorded one by one, a second and CPU; below this length all calls are short. */
volatile uint32_t tick_stands = 1;
volatile uint32_t short_rate = 5000;
volatile uint64_t short_ns = 0;

/* The next process index. */
uint32_t next_process = FIRST_PROCESS;

/* The next number of an interpreted function, see bytecode.h. */
uint32_t next_bytecode = 1;

/* Threads that were made known by looking for them, so far. */
uint32_t threads_met = 0;

/* Processes that were moved into the cgroup, so far: their other threads must be looked for. */
volatile uint32_t processes_moved = 0;

/* The pid namespace in which the recorder sees processes: address and depth. */
uint64_t recorder_namespace = 0;
uint32_t recorder_level = 0;

/* 1 once any process began a collection: until then system calls need not ask for theirs. */
volatile uint32_t collections_seen = 0;

/*
 * System calls are traced while this is even: the recorder adds 1 when it stops and
 * when it begins again, so that the begin of a call is never paired with the end of
 * another. Since when it is as it is: calls_opened, ns.
 */
volatile uint32_t calls_epoch = 0;
volatile uint64_t calls_opened = 0;

/* How far the scheduler's clock is ahead of CLOCK_MONOTONIC, ns; 0: not known yet. See call_cpu.h.
 */
int64_t scheduler_ahead = 0;

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_state);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 32768);
	__type(key, uint32_t);
	__type(value, struct process_state);
} processes SEC(".maps");

/* 1 once the runtime of any process has fibers: until then none are looked for. */
volatile uint32_t fibers_known = 0;

/* 1 once the interpreter of any process has a lock that is known. */
volatile uint32_t locks_known = 0;

/* By process; the recorder removes those that are gone. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 32768);
	__type(key, uint32_t);
	__type(value, struct fiber_path);
} fiber_paths SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TARGETS_MAX);
	__type(key, uint32_t);
	__type(value, struct target_entry);
} targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536); /* memory is taken as entries come */
	__type(key, struct syscall_key);
	__type(value, struct syscall_total);
} syscall_totals SEC(".maps");

/* By process; the recorder removes those that are gone. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 32768);
	__type(key, uint32_t);
	__type(value, struct call_cpu);
} call_cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LOSS_KERNEL_MAX);
	__type(key, uint32_t);
	__type(value, uint64_t);
} losses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PROBE_PLACES_MAX);
	__type(key, uint32_t);
	__type(value, struct probe_place);
} probe_places SEC(".maps");

/* Values whose text was reported: those of a process that come seldom are forgotten first. */
struct place_seen {
	uint64_t value;
	uint32_t process, place;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct place_seen);
	__type(value, uint64_t);
} places_seen SEC(".maps");

enum ceiling {
	CEILING_SYSCALL,
	CEILING_LONG,
	CEILING_WAIT,
	CEILING_LEAVE,
	CEILING_FAULT,
	CEILING_GC,
	CEILING_NAME,
	CEILING_FORK,
	CEILING_EXEC,
	CEILING_EXIT,
	CEILING_USAGE,
	CEILING_BYTECODE,
	CEILINGS
};

/* See ceiling.h. */
struct ceiling_state {
	uint64_t next;     /* from when on the next event may pass, ns */
	uint64_t passed;   /* when the last one did */
	uint32_t halvings; /* one of 2^halvings passes, at random */
	uint32_t reserved;
};

/* Of each CPU and ceiling. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CEILINGS);
	__type(key, uint32_t);
	__type(value, struct ceiling_state);
} ceilings SEC(".maps");

/* See cost.h. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COST_PROGRAMS);
	__type(key, uint32_t);
	__type(value, struct cost);
} costs SEC(".maps");

/* The greatest record is a full batch of samples: 22.6 KB; a tick with three full stacks has 17.4
 * KB, a fate 6.2 KB. With what the walkers need it must be less than 32 KB. */
#define RECORD_BYTES_MAX 22592

/*
 * Where records of varying size are put together. Probe programs can be
 * preempted and a timer can interrupt all others, so a CPU has several and each
 * is taken by an atomic exchange. The walkers' state lies in it as well: what
 * is in map memory the verifier takes for unknown, which keeps it from
 * following every depth of a stack apart.
 */
struct bytecode_of {
	uint64_t address, print; /* which tell it from others of the process */
	uint32_t runtime;        /* enum bytecode_runtime */
	uint32_t reserved;
};

struct scratch {
	uint32_t busy;
	uint32_t size;  /* bytes of `data` used */
	uint32_t slot;  /* its number on this CPU */
	uint16_t java;  /* 1: the thread has a Java virtual machine, known to `hotspot` */
	uint16_t v8_on; /* 1: likewise, a V8 engine */
	struct walk_window window;
	struct walk_native native;
	struct walk_managed managed;
	/* Of the first two a walk of the native stack uses one; that of Python's comes later. */
	union {
		struct walk_hotspot hotspot;
		struct walk_v8 v8;
		struct walk_cpython cpython;
	};
	struct bytecode_of bytecode; /* the interpreted function that the walk is at */
	struct user_regs regs;       /* of the stack */
	uint32_t copying;            /* 1: a copy of the stack goes along */
	uint32_t copy_flags;         /* enum copy_flag */
	uint32_t copy_size;          /* bytes to be copied, and done of them */
	uint32_t copy_done;
	uint8_t data[RECORD_BYTES_MAX];
};

#define SCRATCH_SLOTS 4

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCRATCH_SLOTS);
	__type(key, uint32_t);
	__type(value, struct scratch);
} scratches SEC(".maps");

/* Rules that were found, one set for each scratch: the program that has the scratch has these. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCRATCH_SLOTS);
	__type(key, uint32_t);
	__type(value, struct walk_rules);
} walk_rules SEC(".maps");

/* Interpreted functions that were reported; those that come seldom are forgotten first. */
struct bytecode_key {
	uint64_t address;
	uint32_t process, reserved;
};

struct bytecode_known {
	uint64_t print;
	uint32_t number, reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, struct bytecode_key);
	__type(value, struct bytecode_known);
} bytecodes SEC(".maps");

/* What is known of the lines of sources of V8 engines. */
struct v8_source {
	uint64_t script; /* its number; that of an engine */
	uint32_t process, reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct v8_source);
	__type(value, struct v8_lines);
} v8_sources SEC(".maps");

/* Where such a report is put together, one for each scratch. */
struct bytecode_room {
	uint32_t used;    /* bytes of `data` */
	uint32_t width;   /* of the characters of the text that was read last */
	uint64_t head[3]; /* of an object */
	struct event_bytecode event;
	uint8_t data[2 * BYTECODE_TEXT_MAX + BYTECODE_TABLE_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCRATCH_SLOTS);
	__type(key, uint32_t);
	__type(value, struct bytecode_room);
} bytecode_rooms SEC(".maps");

/* A record with a copy of a stack, for each scratch of each CPU: too big to be per-CPU itself. */
struct copy_room {
	/* A page more, so that pages can be read anywhere in it. */
	uint8_t data[RECORD_BYTES_MAX + sizeof(struct event_copy) + COPY_BYTES_MAX + PAGE_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* the recorder knows how many CPUs there are */
	__type(key, uint32_t);
	__type(value, struct copy_room);
} copy_rooms SEC(".maps");

/* One ring a stream: a storm in one never costs an event of another. Sizes: the recorder. */
struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
};

struct ring ring_alloc SEC(".maps");
struct ring ring_gc SEC(".maps");
struct ring ring_cpu SEC(".maps");
struct ring ring_syscall SEC(".maps");
struct ring ring_sched SEC(".maps");
struct ring ring_fault SEC(".maps");
struct ring ring_process SEC(".maps");

#endif
