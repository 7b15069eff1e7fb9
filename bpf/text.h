/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* text.h: where processes have breakpoints, and which of them replace that code by a copy. */
#ifndef GCPROF_BPF_TEXT_H
#define GCPROF_BPF_TEXT_H

#ifdef __bpf__
#include "kernel.h"
#include "process_table.h"
#include "config.h"
#else
#include <stdint.h>
#endif

#define PROBED_RANGES 8

/* Code of a process that has breakpoints, in the map `probed_text`; the recorder writes it. */
struct probed_text {
	uint32_t count; /* of ranges; 0: unknown, it may be anywhere; above PROBED_RANGES: there are
			   more */
	uint32_t reserved;
	uint64_t latest; /* of the mappings that these are */
	uint64_t known;  /* a stop for which they are complete, ns: see struct stopped_text */
	struct probed_range {
		uint64_t start, end;
		uint64_t shift; /* from an offset in the file to an address */
		uint64_t inode; /* of the file */
	} ranges[PROBED_RANGES];
};

#define STOPPED_BYTES 4096 /* of the ring that wakes the attacher */

/* A process that has mapped memory over probed code, in the map `stopped_texts`. */
struct stopped_text {
	uint32_t pid, tid;   /* in the recorder's namespace */
	uint64_t since;      /* ns */
	uint64_t start, end; /* what it replaced */
	uint32_t stopped;    /* bool: its copy is complete; until then it fills the memory */
	uint32_t user;       /* who started it */
};

#ifdef __bpf__

/* 1 once any process has breakpoints; until then there is no lookup. */
volatile uint32_t texts_known = 0;

/* By process; the recorder writes and removes it. */
PROCESS_TABLE(probed_text, struct probed_text);

/* By process; the attacher removes it and lets the program go on, whatever has become of the
 * recorder. */
PROCESS_TABLE(stopped_texts, struct stopped_text);

/* Wakes the attacher, with processes that were stopped. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, STOPPED_BYTES);
} ring_stopped SEC(".maps");

#endif

#endif
