/* SPDX-License-Identifier: BSD-2-Clause */
/* config.h: settings that the recorder writes into the BPF object, and state of threads and
 * processes. */
#ifndef GCPROF_CONFIG_H
#define GCPROF_CONFIG_H

#ifndef __bpf__
#include <stdint.h>
#endif

#include "fate_table.h"
#include "wait_events.h"

/* A question of the recorder and its answer: kernel_name.bpf.c. */
struct kernel_name {
	uint64_t address;
	char text[256]; /* "function", "function [module]", or the address as a number */
};

struct bpf_config {
	uint32_t user_stacks;      /* 1: walk user stacks */
	uint32_t syscall_rate;     /* initial short_rate; 0: never record short calls */
	uint32_t rows;             /* 1: walk user stacks by unwind rows, where available */
	uint32_t follow_children;  /* 1: trace the children of traced processes */
	uint32_t processes;        /* that tables by process have room for */
	uint32_t whole;            /* 1: all processes are targets, or all in `cgroup` */
	uint32_t recorder;         /* its pid, in whole-machine recordings: not a target */
	uint32_t copy_bytes;       /* bytes of a stack dump; 0: no dumps */
	uint32_t waits;            /* 1: record off-CPU time */
	uint32_t syscalls;         /* enum syscall_mode */
	uint32_t syscall_args;     /* 1: record arguments */
	uint32_t wait_rate;        /* wait records, per second and CPU */
	uint64_t wait_min_ns;      /* shortest wait with a record */
	uint64_t cgroup;           /* id; 0: none */
	uint64_t syscall_slow_ns;  /* shortest call that always has a record */
	uint64_t syscall_stack_ns; /* shortest call with a user stack */
	uint32_t copy_always;      /* 0: dumps only where rows are missing */
	uint32_t fault_rate;       /* page fault records, per second and CPU */
	uint32_t kernel_stacks;    /* 1: record kernel stacks of calls and waits */
	uint32_t measured;         /* 1: measure the cost of our programs */
	uint32_t long_rate;        /* records of long calls, per second and CPU */
	uint32_t rare_rate;        /* records of rare kinds, per second and CPU: ceiling.h */
	uint32_t preempt_off;      /* 1: run with preemption disabled: preempt.h */
	uint32_t viewer;           /* the user who gets the profile; 0: root: viewer.h */
	uint32_t shut_out;         /* 1: /proc hides other users' commands from the viewer */
	uint32_t timers;           /* 1: record timer ticks and CPU time */
	uint32_t signals_all;      /* 1: the recorder may signal other users' programs */
};

/* Calls that the recorder patches before loading: see preempt.h. */
#define PREEMPT_DISABLE_CALL 0x70000001
#define PREEMPT_ENABLE_CALL  0x70000002

enum syscall_mode {
	SYSCALLS_OFF,
	SYSCALLS_COUNT, /* totals only */
	SYSCALLS_SLOW,  /* and records of slow calls */
	SYSCALLS_ALL,   /* and of others, up to a ceiling */
};

enum task_flag {
	TASK_ARMED = 1,   /* started by the recorder, before its exec: nothing is recorded */
	TASK_ACTIVE = 2,  /* recorded */
	TASK_MEETING = 4, /* being initialized by the program that set this flag */
	TASK_ENDED = 8,   /* only the CPU time of its exit is still recorded */
};

/* The waits of a thread: the current one, and exact totals. */
struct task_waits {
	uint64_t since;    /* when it left its CPU, ns; 0: it is on a CPU */
	uint64_t ended;    /* end of a wait that is still to be reported; 0: none */
	uint64_t length;   /* of that wait, ns */
	uint64_t queued;   /* its run delay when the last wait began, ns */
	uint64_t woken;    /* when it was woken, ns; 0: not yet, or it was preempted */
	uint64_t ready;    /* runnable at the end of the last wait, ns; 0: unknown */
	uint64_t switches; /* how often it had left a CPU then */
	uint32_t reason;
	uint32_t number; /* of the system call */
	uint32_t flags;  /* enum wait_flag */
	uint32_t held;   /* the call whose earlier waits the next record stands for */
	uint32_t waker;  /* thread that ended a futex wait; 0: unknown */
	uint32_t waker_process;
	uint64_t call_count, call_ns, call_max;         /* of the waits in the open call */
	uint64_t count[WAIT_REASONS], ns[WAIT_REASONS]; /* all waits */
	uint64_t max[WAIT_REASONS];                     /* the longest, ns */
	uint64_t reported_count[WAIT_REASONS], reported_ns[WAIT_REASONS]; /* reported, or dropped */
};

/* Programs whose cost is measured, in the map `costs`. */
enum cost_program {
	COST_ENTER,       /* begin of recorded system calls */
	COST_EXIT,        /* their end */
	COST_OTHERS,      /* system calls of threads that are not recorded: counted, not timed */
	COST_OTHER_TICKS, /* timer interrupts in such threads: counted */
	COST_SWITCH,      /* threads leave and get CPUs */
	COST_TICK,
	COST_FAULT,
	COST_PROBE,
	COST_PROGRAMS,
};

/* Cost on one CPU so far. */
struct cost {
	uint64_t runs;  /* updated when a run is timed, for all up to the next */
	uint64_t timed; /* number of timed runs */
	uint64_t ns;    /* time of those */
	uint64_t left;  /* runs until the next is timed */
	uint64_t began; /* begin of the last timed run, ns */
	uint64_t links; /* of probes, in timed runs: links of their files, if more than one */
};

/* Page faults, as the kernel counts them for a thread. */
struct task_faults {
	uint64_t minor, major;
};

#define COLLECTING_MAX 8 /* collections in progress that are tracked per process */

/* A collection in progress. */
struct collection {
	uint64_t heap;             /* 0: none; the other fields are then of a past one */
	uint32_t thread;           /* that began it */
	uint32_t late;             /* 1: reported after it was over */
	struct task_faults faults; /* of that thread when it began */
};

/* A system call that ended. */
struct syscall_done {
	uint64_t now;
	uint64_t duration;
	uint64_t gc_ns;
	int64_t result;
	uint32_t flags;
	uint32_t stands; /* as in event_syscall */
	uint32_t thread; /* tid of the caller */
	uint32_t bucket; /* of the histogram */
};

/* State of each traced thread, in the map `tasks`; valid when zeroed. */
struct task_state {
	uint32_t process;  /* index, see events.h */
	uint32_t flags;    /* enum task_flag */
	uint64_t anchor;   /* address of its struct gc_anchor, 0: none */
	uint32_t provider; /* that the anchor belongs to: struct probe_place */
	uint32_t reserved;
	uint64_t whole;   /* key of the last stack it reported without native frames; 0: none */
	uint64_t renamed; /* last name change: begins a new image, see process.bpf.c */
	uint64_t image;   /* exec of its current program; 0: before the recording */
	uint64_t start;   /* of the open system call, ns; 0: none */
	uint64_t gc_ns;   /* collection time of the process at the begin of that call */
	uint64_t args[3];
	uint32_t number;
	uint32_t compat;           /* 1: a 32-bit call */
	uint32_t epoch;            /* calls_epoch at its last begin or end of a call */
	uint32_t gc_late;          /* 1: page faults of the last collection it ended are unknown */
	struct syscall_done done;  /* its last call; here, because the verifier tracks the stack */
	uint64_t ran;              /* CPU time already reported, or before the recording, ns */
	uint64_t queued;           /* run delay before the recording, ns */
	struct task_faults faults; /* when its recording began */
	struct task_faults faults_reported; /* at its last fault record */
	/* As of the last pause of the recording: run delay and page faults in all, so far. */
	uint64_t paused_queued;
	struct task_faults paused_faults;
	struct task_faults gc_faults; /* of the last collection it ended */
	uint64_t cpu_ns;              /* CPU time when last added to its process: call_cpu.h */
	uint64_t python[2]; /* its PyThreadStates, innermost first, to be verified; 0: none found */
	uint64_t python_newest; /* the newest interpreter then */
	uint64_t python_search; /* earliest time of the next search for one, ns */
	struct task_waits waits;
};

#define TITLE_NS       1000000000 /* shortest interval between reads of a process's title */
#define TITLE_FIRST_NS 20000000   /* age at the first read: servers write theirs after fork */

/* State of each traced process, in the map `processes`. */
struct process_state {
	uint32_t threads; /* alive */
	uint32_t turn;    /* entry of `open` that is overwritten next if none is free */
	uint64_t pauses;  /* collections in progress and collection time, see pauses.h */
	struct collection open[COLLECTING_MAX];
	uint64_t mapped;          /* when code was last mapped, ns: its rows may still be missing */
	uint64_t program;         /* since when its program runs, as far as known, ns */
	uint64_t titled;          /* when its title was last read, ns */
	uint64_t share;           /* of the allocation ring: used up to this time, ns; ceiling.h */
	uint32_t owner, reserved; /* share_owner() of its user */
	uint64_t ran; /* CPU time that was reported while any process had a struct fate_table, ns */
};

/* How to find a probe's argument at one of its locations. */
enum probe_operand {
	OPERAND_CONSTANT = 0, /* `value` itself */
	OPERAND_REGISTER = 1, /* in `base` */
	OPERAND_MEMORY = 2,   /* at base + index * scale + value */
	OPERAND_ADDRESS = 3,  /* base + value */
};

#define OPERAND_REGISTERS 21 /* 8-byte words of struct pt_regs */
#define OPERAND_RIP       16 /* of these words: at a probe, its address */
#define OPERAND_NO_INDEX  255
#define PROBE_ARGUMENTS   14 /* the maximum of all probes and places */
#define PROBE_STEPS       4  /* to get from an operand to an argument */
#define PROBE_PLACES_MAX  4096

/* A step of processing the value that was read at a place. */
enum probe_step_kind {
	STEP_END = 0,
	STEP_READ = 1,  /* value = the `size` bytes (1, 2, 4, 8) at value + offset, unsigned */
	STEP_ADD = 2,   /* value += argument number `other`, an earlier one */
	STEP_SHIFT = 3, /* value <<= argument number `other` */
	STEP_PLUS = 4,  /* value += offset */
};

struct probe_step {
	int32_t offset;
	uint8_t kind; /* enum probe_step_kind */
	uint8_t size;
	uint8_t other;
	uint8_t reserved;
};

struct probe_argument {
	int64_t value;
	uint8_t operand; /* enum probe_operand */
	uint8_t base;    /* word of struct pt_regs */
	uint8_t index;   /* word of struct pt_regs, or OPERAND_NO_INDEX */
	uint8_t scale;   /* 1, 2, 4, 8 */
	uint8_t size;    /* bytes: 1, 2, 4, 8 */
	uint8_t is_signed;
	uint8_t reserved[2];
	struct probe_step steps[PROBE_STEPS];
};

enum place_flag {
	PLACE_COLLECTOR = 1, /* goes to the ring of collections, else to that of samples */
	PLACE_STACK = 2,
	PLACE_PAUSES = 4,   /* a pause of the process's heap begins; argument 0 is the heap */
	PLACE_RESUMES = 8,  /* that pause ends */
	PLACE_JUMP = 16,    /* at a jbe (jump if below or equal); counts if the jump is not taken */
	PLACE_FOLLOWS = 32, /* the sampled object may be followed from here on: fates.h */
	PLACE_FATES = 64,   /* here the outcomes of such objects are read: `fates` */
	PLACE_COLLECTS = 128, /* a collection begins, or a part of it */
	PLACE_COLLECTED = 256 /* it has ended, or a part of it */
};

#define PLACE_NO_TEXT 255

/* A text in the program's memory. The fields are argument numbers. */
struct place_text {
	uint8_t address; /* PLACE_NO_TEXT: none; an address of 0 means no text either */
	uint8_t length;  /* bytes; PLACE_NO_TEXT: ends with a zero */
	uint8_t once;    /* report only for new values of this argument, per process; PLACE_NO_TEXT:
			    always */
	uint8_t reserved;
};

/* A probe location, in the map `probe_places`; the attachment's cookie is the key. */
struct probe_place {
	uint32_t probe; /* row of probes.def, from 0; PROBE_PLACE: in a runtime without probes */
	uint32_t count; /* arguments used */
	uint16_t runtime, place; /* if in a runtime: as in struct event_place */
	uint16_t flags;          /* enum place_flag */
	uint16_t provider;       /* of a probe: number of its file, 1 to PROVIDERS_MAX */
	uint16_t first;          /* place of its file, see links_of */
	uint8_t object, class;   /* arguments, with PLACE_FOLLOWS */
	uint32_t reserved;
	struct place_text texts[2];
	struct fate_rule fates;
	struct probe_argument arguments[PROBE_ARGUMENTS];
};

#define PROBE_PLACE   255
#define PROVIDERS_MAX 255 /* files with probes; later ones share numbers with earlier ones */

/* Fibers are threads that a runtime schedules on system threads, like goroutines. */
#define FIBER_STEPS 4 /* pointers to follow to a fiber's id */

/* How to find the id of the current fiber, by process, in the map `fiber_paths`. */
struct fiber_path {
	uint64_t since; /* ns: not valid for a program executed later */
	int64_t base;   /* offset of the first pointer from thread-local storage */
	/*
	 * Offset of the next pointer, finally of the id, in what the previous pointer leads to. A
	 * null pointer means that there is no fiber.
	 */
	int32_t steps[FIBER_STEPS];
	uint32_t count; /* of steps; 0: no path */
	uint32_t reserved;
};

/*
 * A process that existed before the recording, in the map `targets`, by its pid in the recorder's
 * namespace. The kernel side fills in what it finds.
 */
struct target_entry {
	uint32_t flags;   /* enum task_flag for its threads */
	uint32_t process; /* index; 0: not found */
	uint32_t pid;     /* in the initial pid namespace */
	uint32_t threads;
};

#define TARGETS_MAX 1024 /* that a user can name */

#define USER_NONE 0xffffffffU /* no user; the kernel gives nobody this number */

#define PROCESSES_CHOSEN 32768     /* entries of the tables by process */
#define PROCESSES_WHOLE  (1 << 18) /* the same for whole machines and cgroups */

#define FIRST_PROCESS 1 /* index of the first process of a recording */

#endif
