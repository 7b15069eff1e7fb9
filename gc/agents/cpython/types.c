/* SPDX-License-Identifier: BSD-2-Clause */
/* types.c: finds the type of the Python object in a block. */
/*
 * An object begins with a reference count and the address of its type. Two words of the cycle
 * collector may precede them, and two more for attributes. Many blocks contain no object, so the
 * word in the type's position may be any address. Memory is read only after the kernel has said
 * that it is readable, except for the interpreter's own file, which contains most types that
 * programs use. A type is recognised by its own type, which is PyType_Type or a class whose type is
 * PyType_Type. Addresses already known as types are tried first, because the words before an
 * object's type are addresses, too.
 *
 * These parts of a type are the same in 3.8 to 3.14, except in builds without a global lock.
 */
#include "types.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../common/sampling.h"

/* The beginning of a PyTypeObject. */
struct type {
	uint64_t references;
	const struct type *type;
	uint64_t variable_size;
	const char *name;
	int64_t basic_size, item_size;
	const void *functions[15]; /* tp_dealloc to tp_as_buffer */
	uint64_t flags;
};
_Static_assert(offsetof(struct type, flags) == 168, "as Python's headers have it");

#define FLAG_READY         (UINT64_C(1) << 12)
#define FLAG_TYPE_SUBCLASS (UINT64_C(1) << 31)
#define BASIC_SIZE_MAX     (1 << 20)

enum {
	NAME_MAX_BYTES = 255,
	NAMES = 1 << 15, /* distinct names, a power of two; further names share one type */
	MET_TYPES = 256, /* cached addresses of types, a power of two */
	SEGMENTS = 8,    /* segments of the interpreter's file */
	PAGE = 4096,
};

/* An announced name. */
struct known {
	char *name;
	uint64_t type;
};

/* Addresses from `start` to `end`. */
struct segment {
	uintptr_t start, end;
};

static const struct type *type_of_types;
static struct segment segments[SEGMENTS]; /* of the file that contains it */
static const struct type *met[MET_TYPES]; /* by the hash of the address */
static struct known *names;               /* NAMES of them, by the hash of the name */
static uint64_t buffer_type;              /* of a block without an object */
static uint64_t other_type;               /* of types beyond NAMES */
static uint32_t n_names;
static uint32_t busy; /* the tables are in use: each interpreter may have its own lock */

/* --- memory of unknown validity ----------------------------------------------------- */

/* Makes the kernel read a signal set at the address, in a call that has no other effect. Programs
 * may call this even under strict seccomp filters. */
static bool is_readable_at(uintptr_t address)
{
	int saved = errno, result;

	errno = 0;
	result = (int)syscall(SYS_rt_sigprocmask, -1, address & ~(uintptr_t)7, NULL, 8);
	result = result && errno == EFAULT;
	errno = saved;
	return !result;
}

static bool is_in_interpreter(uintptr_t first, uintptr_t last)
{
	for (size_t i = 0; i < SEGMENTS; i++)
		if (first >= segments[i].start && last < segments[i].end)
			return true;
	return false;
}

/* `size` is at most a page. */
static bool is_readable(const void *address, size_t size)
{
	uintptr_t first = (uintptr_t)address, last = first + size - 1;

	if (!first || is_in_interpreter(first, last))
		return first;
	return is_readable_at(first) && (first / PAGE == last / PAGE || is_readable_at(last));
}

/* Copies a string from an arbitrary address; false if it is not a valid one. */
static bool read_text(const char *from, char to[NAME_MAX_BYTES + 1])
{
	for (size_t i = 0; i < NAME_MAX_BYTES; i++) {
		if ((i == 0 || (uintptr_t)(from + i) % PAGE == 0) && !is_readable(from + i, 1))
			return false;
		to[i] = from[i];
		if (!to[i])
			return i > 0;
		if ((unsigned char)to[i] < ' ')
			return false;
	}
	to[NAME_MAX_BYTES] = '\0';
	return true;
}

/* --- types --------------------------------------------------------------------------- */

static bool may_be_type(const struct type *type)
{
	return (uintptr_t)type % sizeof(void *) == 0 && is_readable(type, sizeof(*type));
}

static bool is_type(const struct type *type)
{
	const struct type *of;

	if (!may_be_type(type) || !(type->flags & FLAG_READY) || type->basic_size <= 0 ||
	    type->basic_size > BASIC_SIZE_MAX)
		return false;
	of = type->type;
	return of == type_of_types ||
	       (may_be_type(of) && of->flags & FLAG_TYPE_SUBCLASS && of->type == type_of_types);
}

static uint32_t hash(const char *text)
{
	uint32_t value = 2166136261u;

	while (*text)
		value = (value ^ (unsigned char)*text++) * 16777619u;
	return value;
}

/* Registers a type's name. Guarded by `busy`. */
static uint64_t announce(const char *name)
{
	struct known *known;
	uint32_t i = hash(name) % NAMES;

	for (; names[i].name; i = (i + 1) % NAMES)
		if (!strcmp(names[i].name, name))
			return names[i].type;
	if (n_names >= NAMES / 4 * 3)
		return other_type;
	known = &names[i];
	known->type = sampling_type(name);
	known->name = known->type ? strdup(name) : NULL;
	n_names += known->name != NULL;
	return known->type ? known->type : other_type;
}

static const struct type **met_slot(const struct type *type)
{
	return &met[((uintptr_t)type * UINT64_C(0x9e3779b97f4a7c15) >> 32) % MET_TYPES];
}

/* The type whose address is `at` bytes into the block; 0: none. */
static uint64_t find_at(const void *block, size_t at, bool only_met)
{
	char name[NAME_MAX_BYTES + 1];
	const struct type *type, **slot;

	memcpy(&type, (const char *)block + at, sizeof(type));
	slot = met_slot(type);
	if (!type || (only_met && *slot != type) || !is_type(type) || !read_text(type->name, name))
		return 0;
	*slot = type;
	return announce(name);
}

/* The reference count precedes the type. */
static uint64_t find(const void *block, size_t size, bool only_met)
{
	uint64_t type = 0;

	for (size_t at = 8; !type && at + sizeof(void *) <= size && at < SAMPLING_HEAD; at += 16)
		type = find_at(block, at, only_met);
	return type;
}

uint64_t types_find(const void *block, size_t size, bool last)
{
	uint64_t type;

	if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
		return 0;
	type = find(block, size, true);
	type = type ? type : find(block, size, false);
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
	return !type && last ? buffer_type : type;
}

/* --- start ------------------------------------------------------------------------------ */

/* In the child of a fork, which has only this thread. */
static void forked(void)
{
	busy = 0;
}

static int keep_segments(struct dl_phdr_info *file, size_t size, void *context)
{
	bool found = false;

	(void)size;
	(void)context;
	memset(segments, 0, sizeof(segments));
	for (size_t i = 0, n = 0; i < file->dlpi_phnum && n < SEGMENTS; i++) {
		const ElfW(Phdr) *header = &file->dlpi_phdr[i];

		if (header->p_type != PT_LOAD || !(header->p_flags & PF_R))
			continue;
		segments[n].start = file->dlpi_addr + header->p_vaddr;
		segments[n].end = segments[n].start + header->p_memsz;
		found |= (uintptr_t)type_of_types - segments[n].start < header->p_memsz;
		n++;
	}
	return found;
}

int types_start(const void *of_types)
{
	type_of_types = of_types;
	if (!dl_iterate_phdr(keep_segments, NULL))
		memset(segments, 0, sizeof(segments));
	buffer_type = sampling_type(TYPES_BUFFER);
	other_type = sampling_type("(other types)");
	names = calloc(NAMES, sizeof(*names));
	if (!names || !buffer_type || !other_type)
		return -ENOMEM;
	return -pthread_atfork(NULL, NULL, forked);
}
