/* SPDX-License-Identifier: BSD-2-Clause */
/* agent.c: wraps the allocators of a Python interpreter before it starts. */
/*
 * Of the three domains of PyMem_SetAllocator() the agent wraps objects and buffers, which are
 * called with the interpreter's lock held. Allocators set before Py_Initialize() stay in place.
 *
 * Python's own allocator, pymalloc, recognises its blocks by address. It passes other blocks, which
 * are the large ones and samples, on to the third domain, raw memory. So the agent wraps free() of
 * raw memory only, and freeing an object that is not a sample costs nothing.
 *
 * In a program without an interpreter the agent does nothing. It does not need Python's headers:
 * the functions and this struct are the same since 3.5. Like malloc/agent.c, this file is compiled
 * so that a call at the end of a function is a jump.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/definition.h"
#include "../common/kept.h"
#include "../common/live.h"
#include "../common/sampling.h"
#include "types.h"

/* PyMemAllocatorEx */
struct allocator {
	void *context;
	void *(*malloc)(void *context, size_t size);
	void *(*calloc)(void *context, size_t count, size_t size);
	void *(*realloc)(void *context, void *block, size_t size);
	void (*free)(void *context, void *block);
};

#define NAME "gcprof-python" /* in reports */

enum { DOMAIN_RAW, DOMAIN_MEM, DOMAIN_OBJECT }; /* PyMemAllocatorDomain */
enum { LARGE = 4096 };                          /* a size that pymalloc requests from raw memory */
/* Samples a second: each fires three probes, including its type and its end. */
enum { CEILING = 1000 };
enum { OLDEST = 8 }; /* 3.8: the layout of types that types.c expects */

enum type { BUFFER, OBJECT, TYPES };

static const char *const type_names[TYPES] = {[BUFFER] = TYPES_BUFFER, [OBJECT] = NULL};

/* The context of the agent's functions. */
struct wrapped {
	struct allocator others;
	struct sampling_next next;
	uint32_t type;
};

static struct wrapped buffers, objects;
static struct allocator raw;
static int (*is_initialized)(void); /* the interpreter's Py_IsInitialized() */
static bool was_initialized;        /* what it returned last */

/* Size of the sample that is this thread's next allocation of raw memory; 0: it is no sample. */
static __thread size_t page_wanted __attribute__((tls_model("initial-exec")));

typedef void allocator_function(int domain, struct allocator *allocator);

/* --- the wrapped allocator ------------------------------------------------------ */

static void *allocate_next(void *context, size_t size, size_t alignment, bool zeroed)
{
	const struct allocator *others = context;

	(void)alignment; /* always the default alignment here */
	return zeroed ? others->calloc(others->context, 1, size)
		      : others->malloc(others->context, size);
}

static void *reallocate_next(void *context, void *block, size_t size)
{
	const struct allocator *others = context;

	return others->realloc(others->context, block, size);
}

static void free_next(void *context, void *block)
{
	const struct allocator *others = context;

	others->free(others->context, block);
}

/* Makes pymalloc request the block from raw memory, so that it counts the block and frees it there.
 */
static void *allocate_page(void *context, size_t size, size_t alignment)
{
	const struct allocator *others = context;
	void *place;

	(void)alignment;
	page_wanted = size ? size : 1;
	place = others->malloc(others->context, LARGE);
	if (!page_wanted)
		return place;
	/* The allocator is not pymalloc. */
	page_wanted = 0;
	others->free(others->context, place);
	sampling_refuse(NAME, GCPROF_REFUSED_ALLOCATOR);
	return NULL;
}

static void *raw_malloc(void *context, size_t size)
{
	size_t wanted = page_wanted;
	void *block;

	if (__builtin_expect(!wanted, 1))
		return raw.malloc(context, size);
	page_wanted = 0;
	block = kept_take(wanted, 0);
	if (!block && posix_memalign(&block, LIVE_PAGE, kept_size(wanted)))
		return NULL;
	return block;
}

/* An interpreter that ends frees nearly all objects. Py_FinalizeEx() first waits for threads and
 * calls the program's exit handlers; from then on the interpreter is no longer initialized. */
static __attribute__((noinline)) void gcprof_free(void *context, void *block)
{
	bool initialized = is_initialized();

	if (was_initialized && !initialized)
		sampling_program_ends();
	was_initialized = initialized;
	if (!gcprof_sampling_freed(block))
		raw.free(context, block);
}

static void raw_free(void *context, void *block)
{
	if (__builtin_expect(live_may_have(block), 0))
		gcprof_free(context, block);
	else
		raw.free(context, block);
}

/* --- as the interpreter calls it ------------------------------------------------ */

/* Not a jump: by this function's name reports recognise the runtime, whose frames they omit. */
static __attribute__((noinline)) void *gcprof_runtime_allocate(const struct wrapped *wrapped,
							       size_t size, uint32_t flags)
{
	void *block = gcprof_sampling_allocate(&wrapped->next, size, 0, wrapped->type | flags);

	__asm__ volatile("" : : "r"(block));
	return block;
}

static __attribute__((noinline)) void *gcprof_runtime_reallocate(const struct wrapped *wrapped,
								 void *old, size_t size)
{
	void *block = gcprof_sampling_reallocate(&wrapped->next, old, size, wrapped->type);

	__asm__ volatile("" : : "r"(block));
	return block;
}

static void *python_malloc(void *context, size_t size)
{
	const struct wrapped *wrapped = context;

	if (sampling_passes(size))
		return wrapped->others.malloc(context, size);
	return gcprof_runtime_allocate(wrapped, size, 0);
}

static void *python_calloc(void *context, size_t count, size_t size)
{
	const struct wrapped *wrapped = context;
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes) || sampling_passes(bytes))
		return wrapped->others.calloc(context, count, size);
	return gcprof_runtime_allocate(wrapped, bytes, SAMPLING_ZEROED);
}

static void *python_realloc(void *context, void *block, size_t size)
{
	const struct wrapped *wrapped = context;

	if (!block)
		return python_malloc(context, size);
	if (!live_may_have(block) && sampling_passes(size))
		return wrapped->others.realloc(context, block, size);
	return gcprof_runtime_reallocate(wrapped, block, size);
}

/* --- start ------------------------------------------------------------------------ */

static void wrap(struct wrapped *wrapped, int domain, uint32_t type, allocator_function *set)
{
	/* An allocator without a context ignores it, so it can be passed ours. */
	struct allocator ours = {wrapped, python_malloc, python_calloc, python_realloc,
				 wrapped->others.free};

	wrapped->type = type;
	wrapped->next = (struct sampling_next){
		.context = &wrapped->others,
		.allocate = allocate_next,
		.allocate_page = allocate_page,
		.reallocate = reallocate_next,
		.free = free_next,
		.find_type = type == OBJECT ? types_find : NULL,
	};
	set(domain, &ours);
}

static void wrap_all(allocator_function *get, allocator_function *set)
{
	struct allocator ours;

	get(DOMAIN_RAW, &raw);
	get(DOMAIN_MEM, &buffers.others);
	get(DOMAIN_OBJECT, &objects.others);
	if (raw.context || buffers.others.context || objects.others.context)
		return;
	ours = raw;
	ours.malloc = raw_malloc;
	ours.free = raw_free;
	set(DOMAIN_RAW, &ours);
	wrap(&buffers, DOMAIN_MEM, BUFFER, set);
	wrap(&objects, DOMAIN_OBJECT, OBJECT, set);
}

/* Whether it is a version that types.c supports, with a global lock. */
static bool is_known(const char *version)
{
	unsigned major, minor;

	return version && sscanf(version, "%u.%u", &major, &minor) == 2 && major == 3 &&
	       minor >= OLDEST && !strstr(version, "free-threading");
}

/* A function of the program, or NULL; `out` is a pointer to one. */
static bool find(const char *name, void *out)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	memcpy(out, &found, sizeof(found));
	return found != NULL;
}

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value;
}

/* Is -X dev among the options before the script? Those with a value of their own end the search. */
static bool is_development(int argc, char **argv)
{
	for (int i = 1; i < argc && argv[i][0] == '-' && !strchr("cm-", argv[i][1]); i++) {
		const char *option = strchr(argv[i], 'X');
		const char *value = option && !option[1] && i + 1 < argc ? argv[++i] : "";

		if (option && !strcmp(option[1] ? option + 1 : value, "dev"))
			return true;
	}
	return false;
}

static const void *code_of(const char *name)
{
	bool is_stub;
	const void *found = definition(name, &is_stub);

	return is_stub ? dlsym(RTLD_NEXT, name) : found;
}

/* Whether raw memory and the agent's samples come from one allocator. */
static bool has_one_malloc(void)
{
	static const char *const others[] = {"free", "posix_memalign", "malloc_usable_size"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!definition_same_file(code_of("malloc"), code_of(others[i])))
			return false;
	return true;
}

/* Why the interpreter will not call the agent's functions, or must not; 0: it will. */
static enum gcprof_refusal other_allocator(int argc, char **argv)
{
	if (!has_one_malloc())
		return GCPROF_REFUSED_PARTS;
	if (is_set("PYTHONMALLOC"))
		return GCPROF_REFUSED_PYTHONMALLOC;
	if (is_set("PYTHONDEVMODE") || is_development(argc, argv))
		return GCPROF_REFUSED_DEVELOPMENT;
	return 0;
}

/* The C library passes the arguments of main(). */
__attribute__((constructor)) static void start(int argc, char **argv)
{
	const void *type_of_types = dlsym(RTLD_DEFAULT, "PyType_Type");
	const char *(*version)(void);
	enum gcprof_refusal why;
	allocator_function *get, *set;

	if (!find("PyMem_GetAllocator", &get) || !find("PyMem_SetAllocator", &set) ||
	    !find("Py_IsInitialized", &is_initialized) || !find("Py_GetVersion", &version) ||
	    !type_of_types)
		return;
	why = is_known(version()) ? other_allocator(argc, argv) : GCPROF_REFUSED_PYTHON_VERSION;
	if (why) {
		sampling_refuse(NAME, why);
		return;
	}
	if (sampling_start(NAME, CEILING, type_names, TYPES) || types_start(type_of_types))
		return;
	wrap_all(get, set);
}
