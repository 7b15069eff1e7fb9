/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_inline.h: fast paths inlined into callers: allocation, write barrier, frames, safepoint. */
/*
 * Sampling adds no instruction here: the only comparison is with the allocation
 * limit, which limit.c sets. A test disassembles these functions built with and
 * without sampling and compares them.
 */
#ifndef GCPROF_GC_INLINE_H
#define GCPROF_GC_INLINE_H

#ifndef GCPROF_GC_H
#error "include gc.h instead"
#endif

#include <string.h>

#define GC_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define GC_ALIGN(size) (((size) + 7) & ~(size_t)7)

/* The start of struct gc_thread, for inlined code. Only the collector writes `limit`. */
struct gc_thread_head {
	char *free;              /* next free byte of the thread's nursery buffer */
	char *limit;             /* an allocation that would end beyond it takes the slow path */
	struct gc_anchor anchor; /* the innermost shadow-stack frame */
	size_t large_size;       /* objects of this size or more are never in the nursery */
};

enum gc_flag {
	GC_FLAG_TRACK_YOUNG = 1, /* old object, not remembered: stores into it take the slow path */
	GC_FLAG_CARDS = 2,       /* large array: every store must dirty a card */
	GC_FLAG_REMEMBERED = 4,  /* large array that is remembered, with its dirty cards */
	GC_FLAG_KEY = 8,         /* ephemerons wait for this object to be marked */
};

/* Slow paths; call the functions below instead. */
void *gc_alloc_slow(struct gc_thread *thread, gc_type type, size_t size);
void *gc_alloc_array_slow(struct gc_thread *thread, gc_type type, uint64_t length);
void gc_barrier_slow(struct gc_thread *thread, struct gc_header *object, void *start, size_t size);
void gc_write_slow(struct gc_thread *thread, struct gc_header *object, void *slot,
		   const void *value);
void gc_safepoint_slow(struct gc_thread *thread);

/*
 * Allocates an object of `size` bytes (sizeof its struct), zeroed except for its
 * header. May collect: see gc.h. NULL only if an out-of-memory function asked for it.
 */
static inline void *gc_alloc(struct gc_thread *thread, gc_type type, size_t size)
{
	struct gc_thread_head *head = (struct gc_thread_head *)thread;
	char *object = head->free;
	char *end = object + GC_ALIGN(size);
	if (GC_UNLIKELY(end > __atomic_load_n(&head->limit, __ATOMIC_RELAXED)))
		return gc_alloc_slow(thread, type, size);
	head->free = end;
	((struct gc_header *)object)->type = type;
	return object;
}

#define GC_NEW(thread, type, struct_type) \
	((struct_type *)gc_alloc(thread, type, sizeof(struct_type)))

/* Allocates an array of `length` zeroed items and stores its length. May collect. */
static inline void *gc_alloc_array(struct gc_thread *thread, gc_type type, uint64_t length)
{
	return gc_alloc_array_slow(thread, type, length);
}

/* Lets a pending collection run; call it in loops that allocate nothing. May collect. */
static inline void gc_safepoint(struct gc_thread *thread)
{
	struct gc_thread_head *head = (struct gc_thread_head *)thread;
	if (GC_UNLIKELY(head->free > __atomic_load_n(&head->limit, __ATOMIC_RELAXED)))
		gc_safepoint_slow(thread);
}

/* Stores `value` (or NULL) into the reference at `slot`, inside `object`. */
static inline void gc_write(struct gc_thread *thread, void *object, void *slot, const void *value)
{
	struct gc_header *header = (struct gc_header *)object;
	if (GC_UNLIKELY(__atomic_load_n(&header->flags, __ATOMIC_RELAXED) & GC_FLAG_TRACK_YOUNG))
		gc_write_slow(thread, header, slot, value);
	else
		memcpy(slot, &value, sizeof(value)); /* memcpy: the slot has its own pointer type */
}

/* The same for item `index` of an array whose items are references. */
static inline void gc_array_write(struct gc_thread *thread, void *array, void **items,
				  uint64_t index, const void *value)
{
	gc_write(thread, array, &items[index], value);
}

/*
 * Copies `size` bytes of references, or of items that contain references, from
 * anywhere to `to` inside `object`, with one barrier. The two may overlap.
 */
static inline void gc_array_copy(struct gc_thread *thread, void *object, void *to, const void *from,
				 size_t size)
{
	struct gc_header *header = (struct gc_header *)object;
	if (size &&
	    GC_UNLIKELY(__atomic_load_n(&header->flags, __ATOMIC_RELAXED) & GC_FLAG_TRACK_YOUNG))
		gc_barrier_slow(thread, header, to, size);
	memmove(to, from, size);
}

/*
 * Pushes a frame with `nslots` references, which directly follow the header, and
 * sets them to NULL. The function that pushes frames pops them in reverse order.
 */
static inline void gc_frame_push(struct gc_thread *thread, struct gc_frame *frame, uint32_t code,
				 uint32_t nslots)
{
	struct gc_anchor *anchor = &((struct gc_thread_head *)thread)->anchor;
	void **slots = (void **)(frame + 1);
	frame->prev = anchor->top;
	frame->code = code;
	frame->pc = 0;
	frame->nslots = nslots;
	frame->reserved = 0;
	/* A profiler may read headers between any two instructions. The collector reads slots only
	 * in calls, so the compiler may omit zeroing a slot that is set before the next call. */
	__asm__ volatile("" : : "m"(*frame));
	*(volatile uint64_t *)&anchor->top = (uint64_t)(uintptr_t)frame;
	memset(slots, 0, nslots * sizeof(*slots));
}

static inline void gc_frame_pop(struct gc_thread *thread, struct gc_frame *frame)
{
	*(volatile uint64_t *)&((struct gc_thread_head *)thread)->anchor.top = frame->prev;
}

/*
 * Declares and pushes a frame whose members are references and nothing else:
 *
 *	GC_FRAME(thread, frame, 0, struct node *left; struct node *right;);
 *	frame.root.left = GC_NEW(thread, node_type, struct node);
 *	GC_FRAME_END(thread, frame);
 */
#define GC_FRAME(thread, name, code, ...) \
	struct {                          \
		struct gc_frame header;   \
		struct {                  \
			__VA_ARGS__       \
		} root;                   \
	} name;                           \
	gc_frame_push(thread, &name.header, code, sizeof(name.root) / sizeof(void *))

#define GC_FRAME_END(thread, name) gc_frame_pop(thread, &name.header)

/*
 * gc_alloc() for a caller that holds one or two references in local variables;
 * `one` and `two` are the addresses of the variables, `two` may be NULL. Only the
 * slow path puts the references in a frame, and updates the variables afterwards.
 * The variables stay in registers if their addresses are used nowhere else.
 */
static inline void *gc_alloc_keeping(struct gc_thread *thread, gc_type type, size_t size, void *one,
				     void *two)
{
	struct gc_thread_head *head = (struct gc_thread_head *)thread;
	char *object = head->free;
	char *end = object + GC_ALIGN(size);
	if (GC_UNLIKELY(end > __atomic_load_n(&head->limit, __ATOMIC_RELAXED))) {
		GC_FRAME(thread, frame, 0, void *one; void *two;);
		memcpy(&frame.root.one, one, sizeof(void *));
		if (two)
			memcpy(&frame.root.two, two, sizeof(void *));
		object = (char *)gc_alloc_slow(thread, type, size);
		memcpy(one, &frame.root.one, sizeof(void *));
		if (two)
			memcpy(two, &frame.root.two, sizeof(void *));
		GC_FRAME_END(thread, frame);
		return object;
	}
	head->free = end;
	((struct gc_header *)object)->type = type;
	return object;
}

#define GC_NEW_KEEPING(thread, type, struct_type, one, two) \
	((struct_type *)gc_alloc_keeping(thread, type, sizeof(struct_type), one, two))

#endif
