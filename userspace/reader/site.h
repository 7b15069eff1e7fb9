/* SPDX-License-Identifier: BSD-2-Clause */
/* site.h: an address in a file's code to which the recorder attaches. */
#ifndef GCPROF_READER_SITE_H
#define GCPROF_READER_SITE_H

#include <stdint.h>

#include "../../bpf/config.h"

#define PROBE_SITES_MAX  256 /* per file */
#define PROBE_CODE_BYTES 8

/* The site of a gcprof probe, or of an event in a runtime. */
struct probe_site {
	uint64_t offset;                      /* file offset of the instruction */
	uint64_t semaphore;                   /* file offset; 0: none */
	unsigned char code[PROBE_CODE_BYTES]; /* expected code, for a site in a runtime */
	struct probe_place place;
};

#endif
