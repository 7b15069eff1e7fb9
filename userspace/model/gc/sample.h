/* SPDX-License-Identifier: BSD-2-Clause */
/* sample.h: a sampled object. */
#ifndef GCPROF_SAMPLE_H
#define GCPROF_SAMPLE_H

#include <stdint.h>

/* A sampled object that is still needed. */
struct sample {
	uint64_t id;
	double bytes;    /* estimated bytes that it stands for */
	double level;    /* level of its process when it became old */
	double share;    /* likewise: share of the followed objects that were not replaced */
	uint64_t charge; /* its number, if its process's last cycle was that of this object */
	float probability;
	uint32_t cost;
	uint32_t type;     /* that is shown, and */
	uint32_t real;     /* also with a filter that leaves it out */
	uint32_t process;  /* 0: this entry is free */
	uint32_t thread;   /* allocating thread */
	uint32_t markings; /* markings of its process when it became old */
	uint32_t next;     /* next of the same cycle, or next free entry; 0: none */
	uint8_t pending;   /* its cycle has not ended */
	uint8_t fated;     /* its first outcome is known; of a tracked one: in a collection */
	uint8_t promoted;  /* moved to the old generation at the end of its cycle */
	uint8_t kept;      /* has survived a collection */
	uint8_t dead;
	uint8_t foreign;     /* outside of the collector's heap */
	uint8_t manual : 1;  /* alive until the program frees it, */
	uint8_t tracked : 1; /* or a collection does: see tracked.c */
	uint8_t walked : 1;  /* full collections look at it */
	uint8_t old;         /* counted in the live bytes of its process */
};

#endif
