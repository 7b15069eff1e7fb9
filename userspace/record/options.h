/* SPDX-License-Identifier: BSD-2-Clause */
/* options.h: what the user asked `gcprof record` for. */
#ifndef GCPROF_RECORD_OPTIONS_H
#define GCPROF_RECORD_OPTIONS_H

#include <stdint.h>

#define CEILING_DEFAULT UINT64_MAX /* not given: depends on whether a period was */

enum stack_mode {
	STACK_MODE_OFF,  /* no native user stacks */
	STACK_MODE_FP,   /* walked by frame pointers */
	STACK_MODE_ROWS, /* by unwind rows, and by frame pointers where there are none */
};

/* The mode of this name, -EINVAL if there is none. */
int stack_mode_parse(const char *name, enum stack_mode *out);

struct record_options {
	const char *output;
	uint64_t frequency;    /* timer samples a second and CPU; 0: none */
	uint64_t period;       /* mean bytes between allocation samples; 0: the program's own */
	uint64_t ceiling;      /* allocation samples a second; 0: none */
	uint64_t duration;     /* ns; 0: until the program ends */
	uint64_t syscall_rate; /* short calls recorded one by one, a second and CPU */
	const char *stack;     /* as given: a name of enum stack_mode */
	enum stack_mode stack_mode;
	int verbose;
};

#define SYSCALL_SLOW_NS  100000 /* from here on a call is always recorded */
#define SYSCALL_STACK_NS 10000  /* from here on it carries a stack */

#endif
