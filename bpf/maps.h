/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* maps.h: the maps and global variables of the BPF object. */
#ifndef GCPROF_MAPS_H
#define GCPROF_MAPS_H

#include "kernel.h"
#include "config.h"
#include "events.h"
#include "fate_maps.h"
#include "process_table.h"
#include "walk_read.h"
#include "walk_managed.h"
#include "walk_rows.h"
#include "walk_native.h"
#include "walk_hotspot.h"
#include "v8_names.h"
#include "frame_place.h"
#include "pypy_code.h"
#include "walk_ruby.h"

static __always_inline long cpython_read(void *to, const uint32_t size, uint64_t from)
{
	return bpf_probe_read_user(to, size, (const void *)from);
}

#include "walk_cpython.h"

/* Set before loading, then constant: the verifier removes disabled code. */
const volatile struct bpf_config config;

/* Cleared by the recorder to stop all programs at once, before it detaches. */
volatile uint32_t recording = 1;

/* Changed under throttling: timer ticks that a tick stands for; records of short calls, per second
 * and CPU; the length below which every call is short. */
volatile uint32_t tick_stands = 1;
volatile uint32_t short_rate = 5000;
volatile uint64_t short_ns = 0;

/* The next process index. */
uint32_t next_process = FIRST_PROCESS;

/* The next number of an interpreted function, see bytecode.h. */
uint32_t next_bytecode = 1;

/* Threads registered by an iterator so far. */
uint32_t threads_met = 0;

/* Processes moved into the cgroup so far; the recorder must look for their other threads. */
volatile uint32_t processes_moved = 0;

/* The recorder's pid namespace: address and depth. */
uint64_t recorder_namespace = 0;
uint32_t recorder_level = 0, recorder_user = 0;

/* 1 once any process began a collection; until then system calls skip the lookup. */
volatile uint32_t collections_seen = 0;

/*
 * System calls are traced while this is even. The recorder increments it when it stops and when it
 * resumes tracing, so that the begin of a call is never paired with the end of another.
 * calls_opened: time of the last change, ns.
 */
volatile uint32_t calls_epoch = 0;
volatile uint64_t calls_opened = 0;

/* Offset of the scheduler's clock from CLOCK_MONOTONIC, ns; 0: unknown. See call_cpu.h. */
int64_t scheduler_ahead = 0;

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_state);
} tasks SEC(".maps");

PROCESS_TABLE(processes, struct process_state);

/* 1 once any process has a runtime with fibers; until then there is no lookup. */
volatile uint32_t fibers_known = 0;

volatile uint32_t locks_known = 0; /* 1 once the lock of any interpreter is known */

/* How to find the current fiber, by process; the recorder removes ended processes. */
PROCESS_TABLE(fiber_paths, struct fiber_path);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TARGETS_MAX);
	__type(key, uint32_t);
	__type(value, struct target_entry);
} targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, TOTALS_MAX); /* allocated on demand */
	__type(key, struct syscall_key);
	__type(value, struct syscall_total);
} syscall_totals SEC(".maps");

/* By process; the recorder removes ended processes. */
PROCESS_TABLE(call_cpus, struct call_cpu);

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

/* Values whose text was reported; the least recently used are evicted. */
struct place_seen {
	uint64_t value, image;
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
	uint64_t next;     /* earliest time of the next event, ns */
	uint64_t passed;   /* time of the last event */
	uint64_t random;   /* the last random number */
	uint32_t halvings; /* one in 2^halvings passes, at random */
};

/* Per CPU and ceiling. */
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

/* The largest record is a full batch of samples: 22.6 KB. A tick with three full stacks takes 17.4
 * KB, a fate record 6.2 KB. Together with the walkers' state it must stay below 32 KB. */
#define RECORD_BYTES_MAX 22592

/* An interpreted function, before it has a number. */
struct bytecode_of {
	uint64_t address, print;    /* together unique in the process */
	uint32_t runtime, reserved; /* enum bytecode_runtime */
};

/*
 * Where records of variable size are assembled. Probe programs can be preempted and a timer can
 * interrupt all others, so a CPU has several, taken by an atomic exchange. The walkers' state is
 * here too: the verifier does not track the contents of maps, so it does not follow each depth of a
 * stack separately.
 */
struct scratch {
	uint32_t busy;
	uint32_t size;   /* bytes of `data` used */
	uint32_t slot;   /* index on this CPU */
	uint16_t java;   /* 1: `hotspot` describes the thread's Java virtual machine */
	uint8_t v8_on;   /* 1: `v8` describes the thread's V8 engine */
	uint8_t pypy_on; /* 1: `pypy` describes the thread's PyPy */
	struct walk_window window;
	struct walk_native native;
	struct walk_managed managed;
	/* A native walk uses one of the first three; a walk of interpreted frames comes later. */
	union {
		struct walk_hotspot hotspot;
		struct walk_v8 v8;
		struct walk_pypy pypy;
		struct walk_cpython cpython;
		struct walk_ruby ruby;
	};
	struct bytecode_of bytecode;   /* the function at which the walk is */
	struct user_regs regs;         /* where the walk begins */
	uint32_t copying;              /* 1: the record gets a stack dump */
	uint32_t copy_flags;           /* enum copy_flag */
	uint32_t copy_size, copy_done; /* bytes to copy, and copied so far */
	uint8_t data[RECORD_BYTES_MAX];
};

#define SCRATCH_SLOTS 4

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCRATCH_SLOTS);
	__type(key, uint32_t);
	__type(value, struct scratch);
} scratches SEC(".maps");

/* Cached rules, one set per scratch; the owner of a scratch owns its set. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCRATCH_SLOTS);
	__type(key, uint32_t);
	__type(value, struct walk_rules);
} walk_rules SEC(".maps");

/* Interpreted functions that were reported; the least recently used are evicted. */
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

/* Line counts of V8 sources. */
struct v8_source {
	uint64_t script; /* the engine's number of it */
	uint32_t process, reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct v8_source);
	__type(value, struct v8_lines);
} v8_sources SEC(".maps");

/* Where reports of functions are assembled, one per scratch. */
struct bytecode_room {
	uint32_t used;    /* bytes of `data` */
	uint32_t width;   /* bytes per character of the text read last */
	uint64_t head[4]; /* of the object read last */
	struct event_bytecode event;
	uint8_t data[2 * BYTECODE_TEXT_MAX + BYTECODE_TABLE_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCRATCH_SLOTS);
	__type(key, uint32_t);
	__type(value, struct bytecode_room);
} bytecode_rooms SEC(".maps");

/* A record with a stack dump, one per scratch and CPU: too large for others. */
struct copy_room {
	/* One page more, so that a page can be read at any offset. */
	uint8_t data[RECORD_BYTES_MAX + sizeof(struct event_copy) + COPY_BYTES_MAX + PAGE_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* the recorder sets the number of CPUs */
	__type(key, uint32_t);
	__type(value, struct copy_room);
} copy_rooms SEC(".maps");

/* One ring per stream: a storm in one never costs an event of another. The recorder sets the
 * sizes. */
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
