/* SPDX-License-Identifier: BSD-2-Clause */
/* intern.h: assigns ids to things that a profile defines once and uses often. */
#ifndef GCPROF_INTERN_H
#define GCPROF_INTERN_H

#include <stdbool.h>

#include "nodes.h"
#include "record.h"
#include "../util/buffer.h"
#include "../util/map.h"

/* The definition of a native or kernel frame, kept for symbolizing it later. */
struct intern_frame {
	uint64_t id;
	uint64_t module; /* native: 0 if none */
	uint64_t place;  /* native: offset; kernel: address */
	enum record_kind kind;
};

/* Bytes of strings, and of modules, beyond which all are forgotten; tests change it. */
extern size_t intern_budget;

struct intern {
	struct map *strings; /* not all: the oldest are forgotten */
	struct map *modules;
	struct map *natives;
	struct map *kernels;
	struct map *manageds;
	struct nodes *stacks;
	struct buffer frames; /* struct intern_frame[], native and kernel */
	uint64_t last_frame;  /* id */
	uint64_t last_string; /* id */
	uint64_t last_module; /* id */
	size_t string_bytes;  /* of the remembered strings */
	size_t module_bytes;  /* of the remembered modules */
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

#endif
