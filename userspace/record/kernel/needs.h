/* SPDX-License-Identifier: BSD-2-Clause */
/* needs.h: what the BPF programs need from a kernel, and the functions and types in its BTF. */
#ifndef GCPROF_NEEDS_H
#define GCPROF_NEEDS_H

#include <stdbool.h>
#include <stddef.h>

enum need_kind {
	NEED_PROGRAM, /* a type of BPF programs */
	NEED_MAP,     /* a type of maps */
	NEED_HELPER,  /* a function that programs call */
	NEED_ATOMIC,  /* an atomic instruction */
};

struct need {
	enum need_kind kind;
	int number; /* as in <linux/bpf.h> */
	const char *name;
	const char *since; /* version of Linux; others may have it earlier */
	const char *use;   /* "lacks NAME, which USE" */
};

extern const struct need need_table[];
extern const size_t need_count;

/*
 * Lists which of the needs the kernel lacks, and what for; returns their number. Loads tiny
 * programs, which takes the rights to do so.
 */
size_t needs_missing(const struct need *needs, size_t n, char *out, size_t size);

/*
 * May programs call global functions between these two functions of the kernel, by their BTF ids?
 * From Linux 6.10, which has them, to 6.14 they may not.
 */
bool needs_calls_allowed(int disable, int enable);

/*
 * May programs of a tracepoint sleep (`btf_trace_NAME`, by its BTF id; about Linux 7.2)? If so, the
 * kernel does not disable preemption for those that do not sleep either.
 */
bool needs_sleep_allowed(int tracepoint);

/*
 * Stores the id of each function or typedef in `names`, which ends with NULL, in *numbers[i];
 * leaves those of missing ones alone. Finds nothing before Linux 6.16, whose BTF cannot be mapped:
 * libbpf would copy all of it twice, which takes longer than loading some of the programs.
 */
void kernel_btf_find(const char *const *names, int *const *numbers);

/* Does the tracepoint hand over a task first? Takes a tenth of a second. */
bool kernel_btf_has_task(const char *tracepoint);

#endif
