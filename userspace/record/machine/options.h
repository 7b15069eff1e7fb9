/* SPDX-License-Identifier: BSD-2-Clause */
/* options.h: what the user asked `gcprof record` for. */
#ifndef GCPROF_RECORD_OPTIONS_H
#define GCPROF_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "../../../bpf/config.h"
#include "../../../bpf/events.h"
#include "../../util/options.h"

#define CEILING_DEFAULT_RATE 2000       /* the collector's own */
#define CEILING_DEFAULT      UINT64_MAX /* not given: depends on whether a period was */

enum stack_mode {
	STACK_MODE_OFF,  /* no native user stacks */
	STACK_MODE_FP,   /* walked by frame pointers */
	STACK_MODE_ROWS, /* by unwind rows, and by frame pointers where there are none */
	STACK_MODE_COPY, /* copied, and walked by the recorder */
	STACK_MODE_BOTH, /* by rows and from stack dumps: the unwinder cross-check is printed at the
			    end */
};

/* The mode of this name, -EINVAL if there is none. */
int stack_mode_parse(const char *name, enum stack_mode *out);

/* all, slow=TIME, count, off; `*slow` stays as it is but for slow=TIME. -EINVAL. */
int syscall_mode_parse(const char *text, enum syscall_mode *out, uint64_t *slow);

/* A percentage of all CPUs from 0.01 to 100, or off: 0. -EINVAL. */
int overhead_parse(const char *text, double *out);

/* A time, or a size, whose unit is one of K, M, G, T: the other one is 0. -EINVAL. */
int span_parse(const char *text, uint64_t *ns, uint64_t *bytes);

/* "alloc" ...; NULL for a code that is none. */
const char *stream_name(enum stream stream);

/* NAME=BYTES: a stream and a power of two from 4096 on. -EINVAL. */
int ring_size_parse(const char *text, uint32_t *stream, uint32_t *bytes);

/* A number from 1 on. -EINVAL. */
int rare_rate_parse(const char *text, uint32_t *out);

/* What a mode does in the kernel. */
struct stack_ways {
	const char *name;
	bool walk; /* native frames are walked */
	bool rows; /* by unwind rows */
	bool copy;
};

const struct stack_ways *stack_mode_ways(enum stack_mode mode);

struct record_options {
	const char *output;
	uint64_t frequency; /* timer samples a second and CPU; 0: none */
	uint64_t period;    /* mean bytes between allocation samples; 0: the program's own */
	uint64_t ceiling;   /* allocation samples a second; 0: none */
	uint64_t duration;  /* ns; 0: until the program ends */
	const char *rotate; /* as given: after which time or size another file begins; or NULL */
	uint64_t rotate_ns, rotate_bytes; /* 0: never */
	uint64_t rotate_limit;            /* bytes of all its files; 0: any */
	const char *keep;                 /* as given: what is kept at the end; NULL: all */
	uint64_t keep_ns, keep_bytes;     /* one of both */
	uint64_t keep_limit;              /* bytes of what is kept of a time; 0: any */
	struct option_list when;          /* conditions under which a snapshot is taken, as given */
	bool when_oom;                    /* one of them: memory is short */
	uint64_t after;                   /* ns that a snapshot waits until it is taken */
	const char *syscalls;             /* as given: all, slow=TIME, count or off */
	enum syscall_mode syscall_mode;
	uint64_t syscall_slow;                    /* ns: from here on a call is always recorded */
	int syscall_stacks;                       /* not 0: every recorded call has a stack */
	int no_args;                              /* not 0: without arguments */
	bool frequency_given, syscall_rate_given; /* not the defaults */
	uint64_t syscall_rate; /* short calls recorded one by one, a second and CPU */
	int off_cpu;           /* not 0: record time off the CPU */
	int kernel_stacks;     /* not 0: calls and waits carry the kernel stack */
	uint64_t off_cpu_min;  /* ns: from here on waits are recorded one by one */
	const char *overhead;  /* as given: a percentage or off */
	double overhead_max;   /* percent of all CPUs that may be used; 0: any */
	int faults;            /* not 0: record page faults */
	uint64_t fault_rate;   /* of them one by one, a second and CPU */
	const char *pids;      /* running processes, as given; NULL: none */
	const char *cgroup;    /* whose processes are recorded, as given; NULL: none */
	uint64_t cgroup_id;    /* its number; 0: none */
	const char *follow;    /* as given: children or none */
	bool follow_children;
	int system;        /* not 0: every process */
	const char *stack; /* as given: a name of enum stack_mode */
	enum stack_mode stack_mode;
	uint64_t stack_bytes; /* of a stack that are copied at most */
	const char *agent;    /* as given: a library that the program gets; NULL: none */
	int malloc;           /* not 0: the one for malloc() */
	const struct agent_kind *agent_kind; /* NULL: none */
	int no_writes;                       /* not 0: nothing is written to programs' memory */
	int writes;            /* not 0: they are, in programs that were not named, too */
	const char *runtimes;  /* as given: auto, none, or names */
	uint32_t runtime_mask; /* bits: enum runtime_number */
	int verbose;
	uint32_t ring_stream; /* whose ring has another size, for tests; 0: none */
	uint32_t ring_bytes;
	uint32_t rare_rate; /* another ceiling on rare events, for tests; 0: none */
};

#define SYSCALL_SLOW_NS   100000 /* from here on a call is always recorded */
#define SYSCALL_LONG_RATE 20000  /* of them a second and CPU */
#define SYSCALL_STACK_NS  10000  /* from here on it carries a stack */
#define OFF_CPU_MIN_NS    100000 /* from here on a wait is recorded one by one */
#define OFF_CPU_RATE      5000   /* of them a second and CPU */
#define RARE_RATE         50000  /* of what no program does as often in earnest */
#define FAULT_RATE        2000   /* page faults recorded one by one, a second and CPU */

#endif
