/* SPDX-License-Identifier: BSD-2-Clause */
/* tree.h: strings, modules, frames and the tree of stacks, as a profile defines them. */
#ifndef GCPROF_TREE_H
#define GCPROF_TREE_H

#include <stdbool.h>

#include "../../profile/record.h"
#include "../../util/file_stamp.h"
#include "../model.h"
#include "arena.h"
#include "stack_life.h"

struct map;

struct module {
	bool defined;
	bool starts_threads; /* C library or loader: programs and threads begin in it */
	const char *path;    /* NULL: unknown */
	const char *base;    /* after its last slash */
	const unsigned char *build_id;
	size_t build_id_size;
	uint64_t user;           /* as in its record */
	struct file_stamp stamp; /* changed is 0: unknown */
	uint64_t own, own_size;  /* functions of a collector or provider */
	uint64_t generated_by;   /* process that made the code at run time; 0: code from a file */
};

/* A `symbol` record; those of a frame are chained, outermost first. */
struct symbol_name {
	const char *name, *file; /* file: NULL: unknown */
	uint64_t line;           /* of the instruction or inlined call, 0: unknown */
	uint64_t begin;          /* of the function, 0: unknown */
	uint32_t next;           /* index, 0: none */
};

/* Does a function belong to an allocator? */
enum allocators {
	ALLOCATORS_NONE,
	ALLOCATORS_OWN,     /* to the allocator, or to its sampler */
	ALLOCATORS_RUNTIME, /* the same, and only a runtime calls it */
};

struct frame {
	uint8_t runtime;    /* enum runtime, 0: not defined */
	uint8_t allocators; /* set by functions.c: enum allocators, of its outermost function */
	uint32_t module;    /* native */
	uint64_t address;   /* native: offset in the module; kernel: 0, or address in old profiles;
			       managed: code */
	uint32_t process;   /* managed */
	uint32_t line;      /* managed: line in the function, 0: unknown */
	uint32_t first_symbol, last_symbol;   /* indexes, 0: none */
	uint32_t first_function, n_functions; /* set by functions.c, outermost first */
	uint32_t n_own; /* set by functions.c: without a library's, inlined innermost */
};

/*
 * A node of the tree. Parents are defined before children, so there are no cycles. There may be
 * many millions, so all other data about nodes is in separate arrays.
 */
struct stack {
	uint32_t parent; /* 0: outermost */
	uint32_t frame;  /* 0: not defined */
	uint32_t cost;   /* index of its struct cost, 0: none yet */
};

#define STACK_NODES_MAX 1024 /* on one path; deeper ones are refused */

/*
 * Sums over samples with exactly this stack. Cost 0 is for samples without a stack. There may be
 * millions, so what most of them lack is stored separately.
 */
struct cost {
	uint32_t stack;
	uint32_t cpu_samples; /* saturates at UINT32_MAX */
	uint32_t life;        /* index, 0: nothing was allocated there; see tree_life_of() */
	uint32_t rest;        /* index, 0: all zero; see tree_rest_of() */
	uint64_t cpu_ns;
};

struct cost_rest {
	uint64_t syscall_ns;
	uint64_t off_cpu_ns;
	uint64_t gc_cpu_ns;         /* part of cpu_ns, in pauses */
	uint64_t faults, gc_faults; /* page faults; the part in collections of their thread */
};

struct code_name {
	const char *name, *file;
	uint64_t line;
};

struct tree {
	struct arena *arena;  /* borrowed; owns all names */
	struct dense strings; /* const char * */
	struct dense modules; /* struct module */
	struct dense frames;  /* struct frame */
	struct dense nodes;   /* struct stack */
	uint16_t *marks;      /* by node: its depth, and the result of tree_begins_properly() */
	size_t marks_capacity;
	uint32_t *shown; /* by node: 1 + itself or the next shown caller, 0: */
	/* undecided; NULL: all are shown */
	uint32_t *shortened; /* by node: its copy without a library's inlined functions; 0: none */
	size_t n_shortened;
	struct symbol_name *symbols; /* number 0 is none */
	size_t n_symbols, symbols_capacity;
	struct cost *costs; /* number 0: no stack */
	size_t n_costs, costs_capacity;
	uint32_t unselected; /* cost of unselected events; 0: none yet */
	struct stack_lives lives;
	struct cost_rest *rests; /* number 0: none, stays all zero */
	size_t n_rests, rests_capacity;
	struct code_name *codes; /* number 0 is none */
	size_t n_codes, codes_capacity;
	struct map *code_index; /* {process, code} -> number */
};

int tree_init(struct tree *tree, struct arena *arena);
void tree_free(struct tree *tree);

/* Each adds a record: 0, -EBADMSG if it contradicts earlier ones, -ENOMEM. */
int tree_string(struct tree *tree, const struct record_string *record);
int tree_module(struct tree *tree, const struct record_module *record);
int tree_native(struct tree *tree, const struct record_native_frame *record);
int tree_kernel(struct tree *tree, const struct record_kernel_frame *record);
int tree_managed(struct tree *tree, const struct record_managed_frame *record);
int tree_stack(struct tree *tree, const struct record_stack *record);
int tree_symbol(struct tree *tree, const struct record_symbol *record);
int tree_code(struct tree *tree, const struct record_code *record);

/* NULL: unknown. */
const char *tree_text(const struct tree *tree, uint64_t string);
const struct code_name *tree_find_code(const struct tree *tree, uint64_t process, uint64_t code);

/* Adds a name that the profile lacks to a frame. The texts are copied. */
int tree_add_symbol(struct tree *tree, struct frame *frame, const struct symbol_name *symbol);

static inline struct frame *tree_frame(const struct tree *tree, uint64_t id)
{
	struct frame *frame = dense_get(&tree->frames, id);

	return frame && frame->runtime ? frame : NULL;
}

static inline struct stack *tree_node(const struct tree *tree, uint64_t id)
{
	struct stack *node = dense_get(&tree->nodes, id);

	return node && node->frame ? node : NULL;
}

/* Number of nodes from the outermost one to this one. */
unsigned tree_depth(const struct tree *tree, uint64_t stack);

/*
 * Call when all costs are known. Keeps only frames of one kind on the stacks, and frees what only
 * records need. 0 or -ENOMEM.
 */
int tree_show(struct tree *tree, enum model_frames frames);

/*
 * Indexes of all costs of stacks, `count` of them, ordered so that stacks with common callers are
 * adjacent. The caller frees it; NULL: no memory. Only after tree_show().
 */
uint32_t *tree_order(const struct tree *tree, size_t *count);

/* The node that a stack is shown as; 0: none of its frames is shown. */
static inline uint32_t tree_shown(const struct tree *tree, uint64_t stack)
{
	if (!tree_node(tree, stack))
		return 0;
	return tree->shown && tree->shown[stack] ? tree->shown[stack] - 1 : (uint32_t)stack;
}

/* Index of the cost of a stack, 0 for unknown stacks; -ENOMEM. */
int64_t tree_cost(struct tree *tree, uint64_t stack);

/* Index of the cost for unselected events, which has no stack and is not shown; -ENOMEM. */
int64_t tree_unselected(struct tree *tree);

/* Removes what was charged to it, which no sum over costs may count. Call when all is charged. */
void tree_forget_unselected(struct tree *tree);

/* Index of the life of the cost's stack, created if needed; 0: no memory. */
uint32_t tree_life(struct tree *tree, uint32_t cost);

/*
 * A new stack like `stack` whose innermost frame has only the first `n_functions` of its
 * functions. Only after tree_show(). 0: no memory.
 */
uint32_t tree_shorten(struct tree *tree, uint32_t stack, uint32_t n_functions);

/* The same, read-only; all zero if nothing was allocated there. */
static inline const struct stack_life *tree_life_of(const struct tree *tree,
						    const struct cost *cost)
{
	return &tree->lives.items[cost->life];
}

/* For loops over tree_order(): prefetches what the next iterations need. */
static inline void tree_prefetch(const struct tree *tree, const uint32_t *order, size_t i,
				 size_t count)
{
	if (i + 24 < count)
		__builtin_prefetch(&tree->costs[order[i + 24]]);
	if (i + 16 < count)
		__builtin_prefetch(dense_get(&tree->nodes, tree->costs[order[i + 16]].stack));
	if (i + 16 < count)
		__builtin_prefetch(tree_life_of(tree, &tree->costs[order[i + 16]]));
}

/* Adds timer samples and their CPU time to a cost. */
static inline void cost_add_samples(struct cost *cost, uint32_t samples, uint64_t ns)
{
	cost->cpu_ns += ns;
	cost->cpu_samples +=
		samples < UINT32_MAX - cost->cpu_samples ? samples : UINT32_MAX - cost->cpu_samples;
}

/* The rest of a cost, created if needed; NULL: no memory. */
struct cost_rest *tree_rest(struct tree *tree, uint32_t cost);

/* The same, read-only; all zero if there is none. */
static inline const struct cost_rest *tree_rest_of(const struct tree *tree, const struct cost *cost)
{
	return &tree->rests[cost->rest];
}

/*
 * A frame-pointer chain that ends without the proper mark is still complete if it ends where
 * programs and threads begin: in the C library or the loader, which are built without frame
 * pointers.
 */
bool tree_begins_properly(struct tree *tree, uint64_t stack);

/* Has the stack a frame in native code that was made at run time? */
bool tree_has_generated(const struct tree *tree, uint64_t stack);

#endif
