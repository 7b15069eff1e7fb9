/* SPDX-License-Identifier: BSD-2-Clause */
/* site.h: a place in a file's code that the recorder attaches to. */
#ifndef GCPROF_READER_SITE_H
#define GCPROF_READER_SITE_H

#include <stdint.h>

#include "../../bpf/config.h"

#define PROBE_SITES_MAX  256 /* of one file */
#define PROBE_CODE_BYTES 8

/* A place in the code where a probe fires, or something is reported of a runtime. */
struct probe_site {
	uint64_t offset;                      /* of the instruction in the file */
	uint64_t semaphore;                   /* offset in the file, 0: there is none */
	unsigned char code[PROBE_CODE_BYTES]; /* that must be there, of a runtime's place */
	struct probe_place place;
};

#endif
