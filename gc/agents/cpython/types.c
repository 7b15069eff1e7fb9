/* SPDX-License-Identifier: BSD-2-Clause */
/* types.c: which Python object is in a block? */
/*
 * An object is a count of references and the address of its type. What the collector knows of it,
 * two words, may lie before that, and then two more for its attributes. Many blocks have no object:
 * so the word where the type should be is an address that nothing is known of. Memory is read only
 * once the kernel has said that it can be, and a type is known by its own type: that is
 * PyType_Type, or a class whose type that is.
 *
 * These parts of a type are the same in 3.8 to 3.14, but for builds without a global lock.
 */
#include "types.h"

#include <errno.h>
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
	NAMES = 1 << 15, /* that are kept apart: a power of two; the others share one */
	PAGE = 4096,
};

/* A name that was announced. */
struct known {
	char *name;
	uint64_t type;
};

static const struct type *type_of_types;
static struct known *names;  /* NAMES of them, by the hash of the name */
static uint64_t buffer_type; /* of a block without an object */
static uint64_t other_type;  /* of types beyond NAMES */
static uint32_t n_names;
static uint32_t busy; /* somebody uses the table: interpreters may have locks of their own */

/* --- memory of others -------------------------------------------------------------- */

/* The kernel reads a set of signals there before it finds that nothing is to be done with it. Every
 * program may call this, whatever system calls it has forbidden itself. */
static bool is_readable_at(uintptr_t address)
{
	int saved = errno, result;

	errno = 0;
	result = (int)syscall(SYS_rt_sigprocmask, -1, address & ~(uintptr_t)7, NULL, 8);
	result = result && errno == EFAULT;
	errno = saved;
	return !result;
}

/* Up to a page. */
static bool is_readable(const void *address, size_t size)
{
	uintptr_t first = (uintptr_t)address, last = first + size - 1;

	return first && is_readable_at(first) &&
	       (first / PAGE == last / PAGE || is_readable_at(last));
}

/* A text that may be anything: false if it is none. */
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

/* Guarded by `busy`. */
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

static uint64_t find_name(const char *name)
{
	uint64_t type;

	if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
		return 0;
	type = announce(name);
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
	return type;
}

uint64_t types_find(const void *block, size_t size, bool last)
{
	char name[NAME_MAX_BYTES + 1];
	const struct type *type;

	/* The count is before it. */
	for (size_t at = 8; at + sizeof(type) <= size && at < SAMPLING_HEAD; at += 16) {
		memcpy(&type, (const char *)block + at, sizeof(type));
		if (type && is_type(type) && read_text(type->name, name))
			return find_name(name);
	}
	return last ? buffer_type : 0;
}

/* --- begin ------------------------------------------------------------------------------ */

/* In the child, which has only this thread. */
static void forked(void)
{
	busy = 0;
}

int types_start(const void *of_types)
{
	type_of_types = of_types;
	buffer_type = sampling_type(TYPES_BUFFER);
	other_type = sampling_type("(other types)");
	names = calloc(NAMES, sizeof(*names));
	if (!names || !buffer_type || !other_type)
		return -ENOMEM;
	return -pthread_atfork(NULL, NULL, forked);
}
