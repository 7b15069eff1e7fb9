/* SPDX-License-Identifier: BSD-2-Clause */
/* config.h: what the recorder puts into the BPF object: tunables before it is loaded, and the
 * state of the first thread. */
#ifndef GCPROF_CONFIG_H
#define GCPROF_CONFIG_H

#ifndef __bpf__
#include <stdint.h>
#endif

#include "wait_events.h"

struct bpf_config {
	uint32_t user_stacks;     /* 1: take user stacks */
	uint32_t syscall_rate;    /* the same as short_rate begins with; 0: none ever */
	uint32_t rows;            /* 1: walk user stacks by unwind rows, where there are any */
	uint32_t follow_children; /* 1: what a followed process forks is followed */
	uint32_t whole;           /* 1: every process is a target, or every one in `cgroup` */
	uint32_t recorder;     /* its process number, where other processes are traced: no target */
	uint32_t copy_bytes;   /* of the user stack that are copied along, 0: none */
	uint32_t waits;        /* 1: record time off the CPU */
	uint32_t syscalls;     /* enum syscall_mode */
	uint32_t syscall_args; /* 1: arguments are recorded */
	uint32_t wait_rate;    /* waits recorded one by one, a second and CPU */
	uint64_t wait_min_ns;  /* from this long on one by one */
	uint64_t cgroup;       /* id; 0: none */
	uint64_t syscall_slow_ns;  /* from this long on a call is always recorded */
	uint64_t syscall_stack_ns; /* from this long on it carries its user stack */
	uint32_t copy_always;      /* 0: copies only where rows are not there yet */
	uint32_t fault_rate;       /* page faults recorded one by one, a second and CPU */
	uint32_t kernel_stacks;    /* 1: calls and waits carry the kernel stack */
	uint32_t governed;         /* 1: our programs measure what they take */
	uint32_t long_rate;        /* long calls recorded one by one, a second and CPU */
	uint32_t rare_rate;   /* events of kinds that are rare, a second and CPU, see ceiling.h */
	uint32_t preempt_off; /* 1: programs run with preemption off, see preempt.h */
	uint32_t viewer;      /* user id of the user who gets the profile; 0: root, see viewer.h */
	uint32_t shut_out;    /* 1: /proc does not even show the viewer others' commands */
	uint32_t timers;      /* 1: there are ticks, and the CPU time of threads is reported */
};

/* Calls in the programs that the recorder replaces before they are loaded: see preempt.h. */
#define PREEMPT_DISABLE_CALL 0x70000001
#define PREEMPT_ENABLE_CALL  0x70000002

enum syscall_mode {
	SYSCALLS_OFF,
	SYSCALLS_COUNT, /* totals only */
	SYSCALLS_SLOW,  /* and those that took long, one by one */
	SYSCALLS_ALL,   /* and others, up to a ceiling */
};

enum task_flag {
	TASK_ARMED = 1,   /* the first thread before its exec: followed, nothing recorded */
	TASK_ACTIVE = 2,  /* recorded */
	TASK_MEETING = 4, /* is being filled in by the program that set this */
	TASK_ENDED = 8,   /* but for the CPU time that ending itself takes */
};

/* The waits of a thread: the present one, and all so far, exact. */
struct task_waits {
	uint64_t since; /* when it left its CPU, ns; 0: it is on one */
	uint64_t ended; /* when it came back from a wait that is still to be reported; 0: none is */
	uint64_t length; /* of that one, ns */
	uint32_t reason;
	uint32_t number; /* of the system call */
	uint32_t flags;  /* enum wait_flag */
	uint32_t held;   /* the call whose waits the next record stands for, too */
	uint64_t call_count, call_ns, call_max;         /* of those in the open system call */
	uint64_t count[WAIT_REASONS], ns[WAIT_REASONS]; /* all */
	uint64_t max[WAIT_REASONS];                     /* the longest, ns */
	uint64_t reported_count[WAIT_REASONS],
		reported_ns[WAIT_REASONS]; /* in records, or given up */
};

/* Our programs as they are paid for, in the map `costs`. */
enum cost_program {
	COST_ENTER,  /* begin of system calls */
	COST_EXIT,   /* their end */
	COST_SWITCH, /* threads leave and enter CPUs */
	COST_TICK,
	COST_FAULT,
	COST_PROBE,
	COST_PROGRAMS,
};

/* What they took on a CPU so far. */
struct cost {
	uint64_t runs;  /* counted at each that is timed, with those that follow it */
	uint64_t timed; /* of the runs */
	uint64_t ns;    /* of those that were timed */
	uint64_t left;  /* runs until the next is timed */
	uint64_t began; /* of the last that was timed, ns */
};

/* Page faults, as the kernel counts them for a thread. */
struct task_faults {
	uint64_t minor, major;
};

#define COLLECTING_MAX 8 /* collections of a process under way that are known */

/* One of them. */
struct collection {
	uint64_t heap;             /* 0: none; the rest is then of one that is over */
	uint32_t thread;           /* that began it */
	uint32_t late;             /* 1: it was reported when it was over */
	struct task_faults faults; /* of that thread when it began */
};

/* What is kept of every followed thread, in the map `tasks`; 0 is a good start. */
struct task_state {
	uint32_t process;  /* index, see events.h */
	uint32_t flags;    /* enum task_flag */
	uint64_t anchor;   /* address of its struct gc_anchor, 0: none */
	uint32_t provider; /* whose that is: struct probe_place */
	uint32_t reserved;
	uint64_t whole; /* key of the stack that it reported last, without native frames; 0: none */
	uint64_t renamed; /* when it last changed its name: begins a new image, see process.bpf.c */
	uint64_t image;   /* when the program that it runs was executed, 0: before all */
	uint64_t start;   /* of the open system call, ns; 0: none is open */
	uint64_t gc_ns;   /* collection time of the process when that call began */
	uint64_t args[3];
	uint32_t number;
	uint32_t compat;  /* 1: a 32-bit call */
	uint32_t epoch;   /* calls_epoch when it was last seen to begin or end a call */
	uint32_t gc_late; /* 1: page faults of the collection that it ended last are unknown */
	uint64_t ran;     /* CPU time until now that was reported, or came before, ns */
	uint64_t queued;  /* for how long it had waited for CPUs before, ns */
	struct task_faults faults;          /* when it began to be recorded */
	struct task_faults faults_reported; /* at its last record of one */
	struct task_faults gc_faults;       /* of that collection */
	uint64_t cpu_ns;        /* its CPU time when it was last added up, see call_cpu.h */
	uint64_t python;        /* its PyThreadState, if it still is; 0: none was found */
	uint64_t python_search; /* not before then, ns, one is searched for again */
	struct task_waits waits;
};

#define TITLE_NS       1000000000 /* a process's title is read so often at most */
#define TITLE_FIRST_NS 20000000   /* and not before it is so old: servers write theirs after fork */

/* What is kept of every followed process, in the map `processes`. */
struct process_state {
	uint32_t threads; /* alive */
	uint32_t turn;    /* whose place in `open` is taken next where none is free */
	uint64_t pauses;  /* collections under way and collection time, see pauses.h */
	struct collection open[COLLECTING_MAX];
	uint64_t mapped;  /* when code was last mapped, ns: its rows may be on their way */
	uint64_t program; /* since when it runs its program, as far as is known, ns */
	uint64_t titled;  /* when its title was read last, ns */
	uint64_t share;   /* of the ring of allocations: used up until then, ns; ceiling.h */
};

/* Where an argument of a probe is at one of its places in the code. */
enum probe_operand {
	OPERAND_CONSTANT = 0, /* `value` itself */
	OPERAND_REGISTER = 1, /* in `base` */
	OPERAND_MEMORY = 2,   /* at base + index * scale + value */
	OPERAND_ADDRESS = 3,  /* base + value */
};

#define OPERAND_REGISTERS 21 /* 8-byte words of struct pt_regs */
#define OPERAND_RIP       16 /* of these: at a place its address */
#define OPERAND_NO_INDEX  255
#define PROBE_ARGUMENTS   13 /* of the probe or place that has most */
#define PROBE_STEPS       4  /* from an operand to an argument */
#define PROBE_PLACES_MAX  4096

/* What is done with a value that was read at a place, one step after the other. */
enum probe_step_kind {
	STEP_END = 0,
	STEP_READ = 1,  /* value = the `size` bytes (1, 2, 4, 8) at value + offset, unsigned */
	STEP_ADD = 2,   /* value += argument number `other`, which comes before */
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
	PLACE_COLLECTOR = 1, /* reported in the ring of collections, else in that of samples */
	PLACE_STACK = 2,
	PLACE_PAUSES = 4,  /* a pause of the process's heap begins; argument 0 is the heap */
	PLACE_RESUMES = 8, /* it ends */
	PLACE_JUMP = 16,   /* at a jbe (jump if below or equal); is reached if that does not jump */
};

#define PLACE_NO_TEXT 255

/* A text in the memory of the program: numbers of arguments. */
struct place_text {
	uint8_t address; /* PLACE_NO_TEXT: there is none; address 0 is no text either */
	uint8_t length;  /* bytes; PLACE_NO_TEXT: up to a zero */
	uint8_t once;    /* reported when this argument has a value that the process had not had
			    before; PLACE_NO_TEXT: always */
	uint8_t reserved;
};

/* What is known of a place, in the map `probe_places`; the attachment's cookie is the key. */
struct probe_place {
	uint32_t probe;          /* row of probes.def, from 0; PROBE_PLACE: one of a runtime's */
	uint32_t count;          /* arguments used */
	uint16_t runtime, place; /* of a runtime's: as in struct event_place */
	uint16_t flags;          /* enum place_flag */
	uint16_t provider;       /* of a probe: the file that has it, 1 to PROVIDERS_MAX */
	struct place_text texts[2];
	struct probe_argument arguments[PROBE_ARGUMENTS];
};

#define PROBE_PLACE 255
#define PROVIDERS_MAX \
	255 /* files with probes; those that come later share numbers with earlier ones */

/* Fibers are what a runtime runs on the system's threads as it likes: goroutines, say. */
#define FIBER_STEPS 4 /* pointers on the way to a fiber's id */

/* How the id of the fiber is found that a thread of a process runs, in the map `fiber_paths`. */
struct fiber_path {
	uint64_t since; /* ns: it says nothing about a program that was executed later */
	int64_t base;   /* from where thread-local storage is found to the first pointer */
	/* Where in what a pointer leads to the next is, and at last the id; a pointer that is 0:
	 * there is no fiber. */
	int32_t steps[FIBER_STEPS];
	uint32_t count; /* of steps; 0: there is no such path */
	uint32_t reserved;
};

/* A process that was there before the recording, in the map `targets`, by its number as the
 * recorder sees it; the kernel side fills in what it finds. */
struct target_entry {
	uint32_t flags;   /* enum task_flag that its threads get */
	uint32_t process; /* index; 0: not found */
	uint32_t pid;     /* in the initial pid namespace */
	uint32_t threads;
};

#define TARGETS_MAX 1024 /* processes that can be named */

#define FIRST_PROCESS 1 /* index of the first process of a recording */

#endif
