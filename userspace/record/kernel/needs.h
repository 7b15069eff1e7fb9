/* SPDX-License-Identifier: BSD-2-Clause */
/* needs.h: what the BPF programs need from a kernel, whatever it calls its version. */
#ifndef GCPROF_NEEDS_H
#define GCPROF_NEEDS_H

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

#endif
