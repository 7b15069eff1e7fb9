/* SPDX-License-Identifier: BSD-2-Clause */
/* old.c: arenas and pages of the old generation, and memory for promoted objects. */
#include "old.h"

/* Arenas are mapped four at a time, so that the system can back them with one huge page. */
enum { ARENA_GROUP = 4 };

#define GROUP_SIZE (ARENA_GROUP * CHUNK_SIZE)
#define ALL_PAGES  (~UINT64_C(0) << META_PAGES)

_Static_assert(META_PAGES < 4, "an arena is mostly for objects");
_Static_assert(META_PAGES *PAGE_SIZE > LARGE_OFFSET, "only a large object begins there");
_Static_assert(CHUNK_PAGES == 64, "free pages are one word");
_Static_assert(offsetof(struct gc_chunk, marks) + (LARGE_OFFSET / 8 / 64 + 1) * 8 <= LARGE_OFFSET,
	       "the mark of a large object lies before it");

/* Steps of 8 bytes at first, then a few classes whose cells nearly fill a page. */
static const uint16_t cell_sizes[N_CLASSES] = {
	8,   16,  24,  32,  40,  48,   56,   64,   72,   80,   88,   96,  104,
	112, 120, 128, 144, 160, 176,  192,  208,  224,  240,  256,  320, 384,
	448, 512, 640, 768, 896, 1024, 1360, 1632, 2048, 2728, 4096,
};

void old_init(struct gc_old *old)
{
	unsigned class = 0;

	for (size_t size = 0; size <= SMALL_MAX; size += 8) {
		if (size > cell_sizes[class])
			class ++;
		old->class_of[size / 8] = (uint8_t) class;
	}
	memcpy(old->cell_size, cell_sizes, sizeof(cell_sizes));
}

void old_free(struct gc_old *old)
{
	for (size_t i = 0; i < old->arenas.count; i += ARENA_GROUP)
		os_unmap(old->arenas.base[i], GROUP_SIZE);
	worklist_free(&old->arenas);
	worklist_free(&old->free_pages);
}

uint64_t old_arena_bytes(const struct gc_old *old)
{
	return (old->arenas.count - old->released) * CHUNK_SIZE;
}

static uint64_t free_pages(const struct gc_old *old, size_t arena)
{
	return (uint64_t)(uintptr_t)old->free_pages.base[arena];
}

static void set_free_pages(struct gc_old *old, size_t arena, uint64_t mask)
{
	old->free_pages.base[arena] = (void *)(uintptr_t)mask;
}

static void arena_init(struct gc_old *old, struct gc_chunk *arena)
{
	arena->kind = CHUNK_ARENA;
	arena->index = (uint32_t)old->arenas.count;
	for (size_t i = 0; i < META_PAGES; i++)
		arena->pages[i].kind = PAGE_META;
	worklist_push(&old->arenas, arena);
	worklist_push(&old->free_pages, (void *)(uintptr_t)ALL_PAGES);
	old->empty++;
}

static void map_arenas(struct gc_old *old)
{
	char *group = os_map_aligned(GROUP_SIZE, GROUP_SIZE);

	if (!group)
		os_out_of_memory(GROUP_SIZE, "the old generation");
	os_prefer_huge(group, GROUP_SIZE);
	for (size_t i = 0; i < ARENA_GROUP; i++)
		arena_init(old, (struct gc_chunk *)(group + i * CHUNK_SIZE));
}

/* Called when an empty arena gets an object. */
static void arena_reuse(struct gc_old *old, struct gc_chunk *arena)
{
	if (arena->released)
		old->released--;
	else
		old->empty--;
	arena->released = 0;
}

/* The lowest set bit that begins a run of n set bits, or -1. */
static int find_run(uint64_t mask, unsigned n)
{
	unsigned have = 1;

	while (have < n && mask) {
		unsigned step = n - have < have ? n - have : have;

		mask &= mask >> step;
		have += step;
	}
	return mask ? __builtin_ctzll(mask) : -1;
}

/* The first arena from index `i` on with n adjacent free pages. */
static size_t find_arena(struct gc_old *old, size_t i, unsigned n)
{
	for (;; i++) {
		if (i == old->arenas.count)
			map_arenas(old);
		if (find_run(free_pages(old, i), n) >= 0)
			return i;
	}
}

/* Takes n adjacent free pages; returns the address of the first. */
static char *take_pages(struct gc_old *old, unsigned n, struct gc_page **out)
{
	uint64_t bits = (UINT64_C(1) << n) - 1;
	size_t i = find_arena(old, old->first_fit[n], n);
	struct gc_chunk *arena = old->arenas.base[i];
	int page = find_run(free_pages(old, i), n);

	if (free_pages(old, i) == ALL_PAGES)
		arena_reuse(old, arena);
	set_free_pages(old, i, free_pages(old, i) & ~(bits << page));
	old->first_fit[n] = i;
	*out = &arena->pages[page];
	(*out)->epoch = old->epoch;
	return (char *)arena + (size_t)page * PAGE_SIZE;
}

static char *page_address(const struct gc_page *page)
{
	struct gc_chunk *arena = chunk_of(page);

	return (char *)arena + (size_t)(page - arena->pages) * PAGE_SIZE;
}

static bool is_used(const struct gc_chunk *arena, const void *cell)
{
	size_t bit = chunk_bit(cell);

	return arena->used[bit / 64] >> (bit % 64) & 1;
}

/* Finds the next run of free cells in the class's page; false if there is none. */
static bool next_run(struct gc_class *c, size_t cell)
{
	size_t last = PAGE_SIZE / cell * cell;
	size_t start = c->scan, end;
	const struct gc_chunk *arena;
	char *base;

	if (!c->page)
		return false;
	arena = chunk_of(c->page);
	base = page_address(c->page);
	while (start < last && is_used(arena, base + start))
		start += cell;
	if (start >= last)
		return false;
	end = start + cell;
	while (end < last && !is_used(arena, base + end))
		end += cell;
	c->free = base + start;
	c->end = base + end;
	c->scan = end;
	return true;
}

static void use_fresh_page(struct gc_old *old, unsigned class)
{
	struct gc_class *c = &old->classes[class];
	size_t cell = old->cell_size[class];
	struct gc_page *page;
	char *base = take_pages(old, 1, &page);

	page->kind = PAGE_SMALL;
	page->class = (uint8_t) class;
	page->live = 0;
	c->page = page;
	c->free = base;
	c->end = base + PAGE_SIZE / cell * cell;
	c->scan = PAGE_SIZE;
}

/* Marks the rest of a class's run, or clears its marks: a word at a time, since single bits would
 * each wait for the previous store. */
static void mark_run(const struct gc_class *c, size_t cell, bool marked)
{
	uint64_t *marks = c->free < c->end ? chunk_of(c->free)->marks : NULL;
	size_t bit = chunk_bit(c->free), end = bit + (size_t)(c->end - c->free) / 8;

	while (bit < end) {
		uint64_t *word = &marks[bit / 64], mask = 0;
		size_t next = (bit | 63) + 1;

		for (; bit < next && bit < end; bit += cell / 8)
			mask |= UINT64_C(1) << (bit % 64);
		*word = marked ? *word | mask : *word & ~mask;
	}
}

static void mark_runs(struct gc_old *old, bool marked)
{
	for (unsigned i = 0; i < N_CLASSES; i++)
		mark_run(&old->classes[i], old->cell_size[i], marked);
}

void *old_alloc_small_slow(struct gc_old *old, unsigned class)
{
	struct gc_class *c = &old->classes[class];
	size_t cell = old->cell_size[class];
	char *result;

	while (!next_run(c, cell)) {
		c->page = c->available;
		c->scan = 0;
		if (!c->page) {
			use_fresh_page(old, class);
			break;
		}
		c->available = c->page->next;
	}
	if (old->marks)
		mark_run(c, cell, true);
	result = c->free;
	c->free += cell;
	return result;
}

void *old_alloc_span(struct gc_old *old, size_t size)
{
	unsigned n = (unsigned)((size + PAGE_SIZE - 1) / PAGE_SIZE);
	struct gc_page *page;
	char *base;

	GC_ASSERT(n <= SPAN_PAGES, "an object is larger than the large size");
	base = take_pages(old, n, &page);
	page->kind = PAGE_SPAN;
	page->pages = (uint8_t)n;
	for (unsigned i = 1; i < n; i++)
		page[i].kind = PAGE_SPAN_BODY;
	if (old->marks)
		chunk_mark(base);
	return base;
}

void old_clear_marks(struct gc_old *old)
{
	for (size_t i = 0; i < old->arenas.count; i++) {
		struct gc_chunk *arena = old->arenas.base[i];

		if (free_pages(old, i) != ALL_PAGES)
			memset(arena->marks, 0, sizeof(arena->marks));
	}
}

/* Keeps pages in address order, so that objects promoted together are close to each other. */
static void make_available(struct gc_class *c, struct gc_page *page)
{
	page->next = NULL;
	if (c->available)
		c->last->next = page;
	else
		c->available = page;
	c->last = page;
}

/* Turns the marks into used bits, and clears them for the next marking. */
static unsigned take_marks(struct gc_chunk *arena, size_t page)
{
	enum { WORDS = PAGE_SIZE / 8 / 64 };
	uint64_t *marks = &arena->marks[page * WORDS], *used = &arena->used[page * WORDS];
	unsigned live = 0;

	for (size_t i = 0; i < WORDS; i++) {
		live += (unsigned)__builtin_popcountll(marks[i]);
		used[i] = marks[i];
		marks[i] = 0;
	}
	return live;
}

/* Returns the freed pages as bits. */
static uint64_t sweep_page(struct gc_old *old, struct gc_chunk *arena, size_t index)
{
	struct gc_page *page = &arena->pages[index];
	bool is_span = page->kind == PAGE_SPAN;
	unsigned n = is_span ? page->pages : 1;

	if ((page->kind != PAGE_SMALL && !is_span) || page->epoch == old->epoch)
		return 0;
	page->epoch = old->epoch;
	page->live = (uint16_t)take_marks(arena, index);
	if (page->live) {
		if (!is_span && page->live < PAGE_SIZE / old->cell_size[page->class])
			make_available(&old->classes[page->class], page);
		return 0;
	}
	for (unsigned i = 0; i < n; i++)
		page[i].kind = PAGE_FREE;
	return ((UINT64_C(1) << n) - 1) << index;
}

static void sweep_arena(struct gc_old *old, size_t i)
{
	struct gc_chunk *arena = old->arenas.base[i];
	uint64_t mask = free_pages(old, i), found = 0;

	if (mask == ALL_PAGES)
		return;
	for (size_t page = META_PAGES; page < CHUNK_PAGES; page++)
		found |= sweep_page(old, arena, page);
	if (!found)
		return;
	set_free_pages(old, i, mask | found);
	old->empty += (mask | found) == ALL_PAGES;
	for (size_t n = 0; n <= SPAN_PAGES; n++)
		if (i < old->first_fit[n])
			old->first_fit[n] = i;
}

/* Returns an empty arena to the system, except its header, which records that. */
static void release_arena(struct gc_old *old, size_t i)
{
	struct gc_chunk *arena = old->arenas.base[i];

	if (free_pages(old, i) != ALL_PAGES || arena->released)
		return;
	os_release((char *)arena + META_PAGES * PAGE_SIZE, CHUNK_SIZE - META_PAGES * PAGE_SIZE);
	arena->released = 1;
	old->released++;
	old->empty--;
}

void old_begin_minor(struct gc_old *old, bool marks)
{
	old->marks = marks;
	if (marks)
		mark_runs(old, true);
}

void old_end_minor(struct gc_old *old)
{
	if (old->marks)
		mark_runs(old, false);
	old->marks = false;
}

void old_begin_sweeping(struct gc_old *old, size_t keep)
{
	for (unsigned i = 0; i < N_CLASSES; i++)
		old->classes[i] = (struct gc_class){0};
	old->epoch ^= 1;
	old->sweep_next = 0;
	old->sweep_end = old->arenas.count;
	old->release_next = old->arenas.count;
	old->keep = keep / CHUNK_SIZE + ARENA_GROUP;
}

/* After sweeping, returns the arenas that the next cycle will not need, highest first. */
bool old_sweep_some(struct gc_old *old, size_t arenas)
{
	for (; arenas && old->sweep_next < old->sweep_end; arenas--)
		sweep_arena(old, old->sweep_next++);
	for (; arenas && old->empty > old->keep && old->release_next; arenas--)
		release_arena(old, --old->release_next);
	return arenas;
}

bool old_is_cell(const struct gc_old *old, const void *object, size_t size)
{
	struct gc_chunk *arena = chunk_of(object);
	size_t offset = (uintptr_t)object & (CHUNK_SIZE - 1);
	const struct gc_page *page = &arena->pages[offset / PAGE_SIZE];

	if (arena->index >= old->arenas.count || old->arenas.base[arena->index] != arena)
		return false;
	offset %= PAGE_SIZE;
	if (page->kind == PAGE_SMALL)
		return size <= old->cell_size[page->class] &&
		       offset % old->cell_size[page->class] == 0;
	return page->kind == PAGE_SPAN && offset == 0 && size <= page->pages * PAGE_SIZE;
}
