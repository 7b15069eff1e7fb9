/* SPDX-License-Identifier: BSD-2-Clause */
/* options.h: the options of `gcprof record`. */
#ifndef GCPROF_RECORD_OPTIONS_H
#define GCPROF_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "../../profile/codes.h"
#include "../../../bpf/config.h"
#include "../../../bpf/events.h"
#include "../../util/options.h"

#define CEILING_DEFAULT_RATE 2000       /* the collector's default */
#define CEILING_DEFAULT      UINT64_MAX /* not given: depends on whether a period was given */

enum stack_mode {
	STACK_MODE_OFF,  /* no native user stacks */
	STACK_MODE_FP,   /* by frame pointers */
	STACK_MODE_ROWS, /* by unwind rows, or frame pointers where there are none */
	STACK_MODE_COPY, /* stack dumps, unwound by the recorder */
};

/* Parses the name of a mode. -EINVAL. */
int stack_mode_parse(const char *name, enum stack_mode *out);

/* all, slow=TIME, count or off; only slow=TIME changes `*slow`. -EINVAL. */
int syscall_mode_parse(const char *text, enum syscall_mode *out, uint64_t *slow);

/* A percentage of all CPUs from 0.01 to 100, or off: 0. -EINVAL. */
int overhead_parse(const char *text, double *out);

/* A time, or a size with unit K, M, G or T; sets the other one to 0. -EINVAL. */
int span_parse(const char *text, uint64_t *ns, uint64_t *bytes);

/* NAME=BYTES: a stream and a power of two from 4096. -EINVAL. */
int ring_size_parse(const char *text, uint32_t *stream, uint32_t *bytes);

/* A number from 1. -EINVAL. */
int rare_rate_parse(const char *text, uint32_t *out);

/* What a mode means for the kernel side. */
struct stack_ways {
	const char *name;
	bool walk; /* native frames are walked */
	bool rows; /* by unwind rows */
	bool copy;
};

const struct stack_ways *stack_mode_ways(enum stack_mode mode);

/* The server that --push names. */
struct pushing {
	const char *url, *user, *password_file, *ca_file;
	uint64_t seconds; /* for each profile that is not yet pushed at the end */
};

struct record_options {
	const char *output;
	struct pushing push;
	const char *spool;         /* where profiles wait until they are pushed; or NULL */
	struct option_list labels; /* of pushed profiles */
	uint64_t frequency;        /* timer samples per second and CPU; 0: none */
	uint64_t period;   /* mean bytes between allocation samples; 0: the program's default */
	uint64_t ceiling;  /* allocation samples per second; 0: no limit */
	uint64_t duration; /* ns; 0: until the program ends */
	uint64_t start_paused;
	const char *rotate; /* as given: the time or size after which a new file begins; or NULL */
	uint64_t rotate_ns, rotate_bytes; /* 0: never */
	uint64_t rotate_limit;            /* bytes of all its files; 0: unlimited */
	const char *keep;                 /* as given: what to keep at the end; NULL: everything */
	uint64_t keep_ns, keep_bytes;     /* one of the two is set */
	uint64_t keep_limit;              /* bytes of what is kept of a time; 0: any */
	struct option_list when;          /* conditions for a snapshot, as given */
	bool when_oom;                    /* one of them is oom */
	uint64_t after;                   /* delay before a snapshot is taken, ns */
	const char *syscalls;             /* as given: all, slow=TIME, count or off */
	enum syscall_mode syscall_mode;
	uint64_t syscall_slow;                    /* ns: longer calls always have a record */
	int syscall_stacks;                       /* not 0: every recorded call has a stack */
	int no_args;                              /* not 0: no arguments */
	bool frequency_given, syscall_rate_given; /* not the defaults */
	uint64_t syscall_rate;                    /* records of short calls, per second and CPU */
	int off_cpu;                              /* not 0: record off-CPU time */
	int off_cpu_given, no_off_cpu; /* on request: always; on the other's: not at all */
	int kernel_stacks;             /* not 0: calls and waits have the kernel stack */
	uint64_t off_cpu_min;          /* ns: shortest wait with a record */
	const char *overhead;          /* as given: a percentage or off */
	double overhead_max;           /* percent of all CPUs; 0: no limit */
	int faults;                    /* not 0: record page faults */
	uint64_t fault_rate;           /* their records, per second and CPU */
	struct option_list pid_lists;  /* running processes, as given */
	char *pids;                    /* all of them, from malloc(); NULL: none */
	const char *cgroup;            /* record its processes, as given; NULL: none */
	uint64_t cgroup_id;            /* its number; 0: none */
	const char *follow;            /* as given: children or none */
	bool follow_children;
	int system;        /* not 0: record every process */
	const char *stack; /* as given: a name of enum stack_mode */
	enum stack_mode stack_mode;
	uint64_t stack_bytes;                /* largest stack dump */
	const char *agent;                   /* as given: a library for the program; NULL: none */
	int malloc;                          /* not 0: the agent for malloc() */
	const struct agent_kind *agent_kind; /* NULL: none */
	int no_writes;                       /* not 0: write nothing to programs' memory */
	int writes;                          /* not 0: write to programs that were not named, too */
	const char *runtimes;                /* as given: auto, none, or names */
	uint32_t runtime_mask;               /* bits: enum runtime_number */
	int verbose;
	uint32_t ring_stream; /* stream whose ring has another size, for tests; 0: none */
	uint32_t ring_bytes;
	uint32_t rare_rate; /* another ceiling on rare events, for tests; 0: none */
};

#define SYSCALL_SLOW_NS   100000 /* longer calls always have a record */
#define SYSCALL_LONG_RATE 20000  /* long calls with a record, per second and CPU */
#define SYSCALL_STACK_NS  10000  /* longer calls have a stack */
#define OFF_CPU_MIN_NS    100000 /* shortest wait with a record */
#define OFF_CPU_RATE      5000   /* waits with a record, per second and CPU */
#define RARE_RATE         50000 /* for kinds of events that no program causes as often in earnest */
#define FAULT_RATE        2000  /* page faults with a record, per second and CPU */

#endif
