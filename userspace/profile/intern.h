/* SPDX-License-Identifier: BSD-2-Clause */
/* intern.h: assigns ids to things that a profile defines once and uses often, stacks among them. */
#ifndef GCPROF_INTERN_H
#define GCPROF_INTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "../util/buffer.h"
#include "../util/map.h"
#include "record.h"

/* The definition of a native or kernel frame, kept until it is symbolized. */
struct intern_frame {
	uint64_t id;
	uint64_t module; /* native: 0 if none */
	uint64_t place;  /* native: offset; kernel: address */
	enum record_kind kind;
};

/* Bytes of strings, of modules, and of frames, beyond which all are forgotten; tests change it. */
extern size_t intern_budget;

struct intern {
	struct map *strings; /* not all: the oldest are forgotten */
	struct map *modules;
	struct map *natives;
	struct map *kernels;
	struct map *manageds;
	struct nodes *stacks;
	struct buffer frames; /* struct intern_frame[], native and kernel: those not visited yet */
	uint64_t last_frame;  /* id */
	uint64_t last_string; /* id */
	uint64_t last_module; /* id */
	size_t string_bytes;  /* of the remembered strings */
	size_t module_bytes;  /* of the remembered modules */
	size_t frame_bytes;   /* of the remembered frames */
};

int intern_init(struct intern *intern);
void intern_finish(struct intern *intern);

/*
 * Each returns an id and sets *added if it is new; 0: no memory. Ids count from 1 per kind; all
 * kinds of frames share one count.
 */
uint64_t intern_string(struct intern *intern, const char *text, size_t size, bool *added);
uint64_t intern_module(struct intern *intern, struct bytes path, struct bytes identity,
		       bool *added);
uint64_t intern_native(struct intern *intern, uint64_t module, uint64_t offset, bool *added);
uint64_t intern_kernel(struct intern *intern, uint64_t address, bool *added);
uint64_t intern_managed(struct intern *intern, const uint64_t key[3], bool *added);
uint64_t intern_stack(struct intern *intern, uint64_t parent, uint64_t frame, bool *added);

/*
 * A recorder looks up one node per frame of each new stack. Unlike a general map, this is a single
 * table whose entries fit in a cache line. Not thread-safe.
 */

struct nodes;

int nodes_create(struct nodes **out);
void nodes_free(struct nodes *nodes); /* NULL is allowed */

/*
 * The id of the node, counted from 1; sets *added if it is new. The number of call paths is
 * unbounded: beyond NODES_MAX all nodes are forgotten, and recurring ones get new ids. 0: no
 * memory.
 */
uint64_t nodes_put(struct nodes *nodes, uint64_t parent, uint64_t frame, bool *added);

/* Has this node not been forgotten? */
bool nodes_know(const struct nodes *nodes, uint64_t id);

#define NODES_MAX (UINT32_C(1) << 18) /* 8 MiB */

#endif
