/* SPDX-License-Identifier: BSD-2-Clause */
/* region.c: separate memory for sampled blocks, which an address alone identifies. */
/*
 * A class is [struct block of each slot][slots]. Slots are first used in order, then reused from a
 * list. Freed blocks go to a second list, by one compare-and-swap; an allocation that finds the
 * first list empty takes over the whole second one. So a free needs no lock, which a thread that it
 * interrupted, or one lost in a fork, could hold. Allocation needs a lock, and gives up if it is
 * held for long.
 *
 * Pages are made writable in steps, when slots are first used. Freed memory is kept for the next
 * block, up to a limit. Beyond it, and where the C library would unmap the block, memory returns to
 * the system at once and is zero when it is reused.
 */
#include "region.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define SPAN_MAX   ((uintptr_t)1 << 44)
#define SPAN_MIN   ((uintptr_t)1 << 26)
#define SHARE      16 /* part (1 / SHARE) of a process's address space limit */
#define SLOTS_MAX  ((uintptr_t)1 << 22)
#define STEP       ((uintptr_t)1 << 16) /* bytes made writable at a time */
#define UNMAP_SIZE ((size_t)32 << 20)   /* the C library never keeps larger blocks */

enum {
	SLOT_SHIFT = 6, /* slot size of the first class */
	CLASSES = 32,
	TRIES = 100, /* attempts to take the lock, with a yield in between */
	NONE = 0,    /* lists hold slot numbers from 1 on */
};

enum block_state { STATE_FRESH, STATE_LIVE, STATE_KEPT, STATE_ZERO };

struct class
{
	struct block *blocks;
	char *slots;
	uint32_t count;      /* number of slots */
	uint32_t used;       /* slots that were ever used */
	uint32_t list;       /* slots for reuse; guarded by the lock */
	uint32_t freed;      /* freed slots, not in `list` yet; atomic */
	uintptr_t writable;  /* bytes of slots that are writable */
	uintptr_t described; /* bytes of blocks that are writable */
};

/* No address is near this `start`: a thread that reads it together with the later `size` finds no
 * address in the region. */
struct region_span region_span = {.start = (uintptr_t)1 << 63};
static struct class classes[CLASSES];
static unsigned class_shift; /* a class has 1 << class_shift bytes */
static size_t kept;          /* bytes of free slots that keep their pages, atomic */
static uint32_t lock;

static uintptr_t round_up(uintptr_t value, uintptr_t multiple)
{
	return (value + multiple - 1) & ~(multiple - 1);
}

/* --- addresses --------------------------------------------------------------- */

/* Divides a class's addresses between blocks and slots. */
static void lay_out(struct class *class, uintptr_t start, unsigned shift)
{
	uintptr_t room = (uintptr_t)1 << class_shift, slot = (uintptr_t)1 << shift;
	uintptr_t count = room / (slot + sizeof(struct block)), described;

	if (count > SLOTS_MAX)
		count = SLOTS_MAX;
	described = round_up(count * sizeof(struct block), slot > STEP ? slot : STEP);
	if (described >= room)
		return;
	if (count > (room - described) / slot)
		count = (room - described) / slot;
	class->blocks = (struct block *)start;
	class->slots = (char *)start + described;
	class->count = (uint32_t)count;
}

/* Takes a small part of an address space limit, since the program needs the rest. */
static uintptr_t span_wanted(void)
{
	struct rlimit limit;
	uintptr_t span = SPAN_MAX;

	if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return span;
	while (span > limit.rlim_cur / SHARE)
		span /= 2;
	return span;
}

/* Reserves one class more, so that an aligned span fits, and unmaps the rest. */
static char *reserve(uintptr_t span)
{
	uintptr_t part = span / CLASSES, start;
	char *all = mmap(NULL, span + part, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			 -1, 0);

	if (all == MAP_FAILED)
		return NULL;
	start = round_up((uintptr_t)all, part);
	if (start > (uintptr_t)all)
		munmap(all, start - (uintptr_t)all);
	munmap((char *)start + span, (uintptr_t)all + part - start);
	return (char *)start;
}

int region_create(void)
{
	uintptr_t span = span_wanted();
	char *start = NULL;

	for (; span >= SPAN_MIN && !start; span /= 2) {
		start = reserve(span);
		if (start)
			break;
	}
	if (!start)
		return -ENOMEM;
	class_shift = (unsigned)__builtin_ctzl(span / CLASSES);
	for (unsigned i = 0; i < CLASSES && SLOT_SHIFT + i < class_shift; i++)
		lay_out(&classes[i], (uintptr_t)start + ((uintptr_t)i << class_shift),
			SLOT_SHIFT + i);
	region_span.start = (uintptr_t)start;
	__atomic_store_n(&region_span.size, span, __ATOMIC_RELEASE);
	return 0;
}

static unsigned class_number(const void *address)
{
	return (unsigned)(((uintptr_t)address - region_span.start) >> class_shift);
}

static unsigned shift_of(const struct class *class)
{
	return SLOT_SHIFT + (unsigned)(class - classes);
}

/* The number, from 1 on, of the slot that contains an address; NONE: no slot does. */
static uint32_t slot_of(const struct class *class, const void *address)
{
	uintptr_t offset = (uintptr_t)address - (uintptr_t) class->slots;
	uintptr_t number = offset >> shift_of(class);

	return number < __atomic_load_n(&class->used, __ATOMIC_ACQUIRE) ? (uint32_t)number + 1
									: NONE;
}

static char *slot_at(const struct class *class, uint32_t number)
{
	return class->slots + ((uintptr_t)(number - 1) << shift_of(class));
}

struct block *region_block(const void *address)
{
	const struct class *class = &classes[class_number(address)];
	uint32_t number = slot_of(class, address);

	if (number == NONE || slot_at(class, number) != address ||
	    __atomic_load_n(&class->blocks[number - 1].state, __ATOMIC_RELAXED) != STATE_LIVE)
		return NULL;
	return &class->blocks[number - 1];
}

size_t region_room(const void *address)
{
	return (size_t)1 << shift_of(&classes[class_number(address)]);
}

/* --- allocation -------------------------------------------------------------- */

static bool take_lock(void)
{
	for (int i = 0; i < TRIES; i++) {
		if (!__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
			return true;
		sched_yield();
	}
	return false;
}

static void release_lock(void)
{
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

/* The holder makes each change with one store, so nothing is inconsistent. */
void region_forked(void)
{
	release_lock();
}

/* Makes pages writable up to `end` bytes after `start`. */
static bool extend(char *start, uintptr_t *writable, uintptr_t end)
{
	uintptr_t wanted = round_up(end, STEP);

	if (end <= *writable)
		return true;
	if (mprotect(start + *writable, wanted - *writable, PROT_READ | PROT_WRITE))
		return false;
	*writable = wanted;
	return true;
}

/* Takes a slot that was never used; NONE: no room, or no memory. */
static uint32_t take_fresh(struct class *class)
{
	uintptr_t n = (uintptr_t) class->used + 1;

	if (n > class->count ||
	    !extend((char *)class->blocks, &class->described, n * sizeof(struct block)) ||
	    !extend(class->slots, &class->writable, n << shift_of(class)))
		return NONE;
	__atomic_store_n(&class->used, (uint32_t)n, __ATOMIC_RELEASE);
	return (uint32_t)n;
}

static uint32_t take_slot(struct class *class)
{
	uint32_t number = class->list;

	if (number == NONE)
		number = __atomic_exchange_n(&class->freed, NONE, __ATOMIC_ACQUIRE);
	if (number == NONE)
		return take_fresh(class);
	class->list = class->blocks[number - 1].next;
	return number;
}

/* The smallest class with large enough slots, or CLASSES. */
static unsigned class_for(size_t size, size_t alignment)
{
	size_t bytes = size > alignment ? size : alignment;

	if (bytes <= (size_t)1 << SLOT_SHIFT)
		return 0;
	if (bytes > region_span.size / CLASSES)
		return CLASSES;
	return 64 - (unsigned)__builtin_clzl(bytes - 1) - SLOT_SHIFT;
}

void *region_alloc(size_t size, size_t alignment, bool *zeroed)
{
	unsigned number = class_for(size, alignment);
	struct class *class = &classes[number];
	struct block *block;
	uint32_t slot;

	if (number >= CLASSES || !class->count || !take_lock())
		return NULL;
	slot = take_slot(class);
	release_lock();
	if (slot == NONE)
		return NULL;
	block = &class->blocks[slot - 1];
	if (block->state == STATE_KEPT)
		__atomic_fetch_sub(&kept, (size_t)1 << shift_of(class), __ATOMIC_RELAXED);
	*zeroed = block->state != STATE_KEPT;
	block->sample = block->born = 0;
	block->size = size;
	__atomic_store_n(&block->state, STATE_LIVE, __ATOMIC_RELEASE);
	return slot_at(class, slot);
}

/* --- free -------------------------------------------------------------------- */

/* Keeps a free slot's pages, or returns them to the system; returns the slot's next state. */
static enum block_state keep_pages(char *slot, size_t bytes)
{
	size_t sum = __atomic_add_fetch(&kept, bytes, __ATOMIC_RELAXED);

	if (sum <= REGION_KEPT_MAX && bytes <= UNMAP_SIZE)
		return STATE_KEPT;
	/* Smaller slots share pages with other slots. */
	if (bytes < STEP || madvise(slot, bytes, MADV_DONTNEED))
		return STATE_KEPT;
	__atomic_fetch_sub(&kept, bytes, __ATOMIC_RELAXED);
	return STATE_ZERO;
}

bool region_free(void *address)
{
	struct class *class = &classes[class_number(address)];
	uint32_t number = slot_of(class, address), expected = STATE_LIVE, freed;
	struct block *block = &class->blocks[number - 1];
	enum block_state next;

	/* A double free must not put a block into a list twice. */
	if (number == NONE ||
	    !__atomic_compare_exchange_n(&block->state, &expected, STATE_FRESH, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	next = keep_pages(address, (size_t)1 << shift_of(class));
	__atomic_store_n(&block->state, next, __ATOMIC_RELAXED);
	freed = __atomic_load_n(&class->freed, __ATOMIC_RELAXED);
	do
		block->next = freed;
	while (!__atomic_compare_exchange_n(&class->freed, &freed, number, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED));
	return true;
}
