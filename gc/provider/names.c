/* SPDX-License-Identifier: BSD-2-Clause */
/* names.c: names of types, and of the managed functions of the process. */
#include "internal.h"

#include <stdlib.h>

struct code {
	char *name;
	char *file; /* or NULL */
	uint32_t line;
};

/* Like their ids, codes belong to the process and are never taken back. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct code *codes;
static uint32_t count, capacity;

static void announce(uint32_t index)
{
	probe_code(&(struct probe_code){
		.code = index + 1,
		.name = codes[index].name,
		.file = codes[index].file,
		.line = codes[index].line,
	});
}

static bool grow(void)
{
	uint32_t more = capacity ? capacity * 2 : 64;
	struct code *larger;

	if (count < capacity)
		return true;
	larger = more > capacity ? realloc(codes, more * sizeof(*codes)) : NULL;
	if (!larger)
		return false;
	codes = larger;
	capacity = more;
	return true;
}

uint32_t gcprof_code(const char *name, const char *file, uint32_t line)
{
	struct code code = {strdup(name), file ? strdup(file) : NULL, line};
	uint32_t id = 0;

	pthread_mutex_lock(&lock);
	if (code.name && (!file || code.file) && grow()) {
		codes[count++] = code;
		id = count;
		announce(count - 1);
	}
	pthread_mutex_unlock(&lock);
	if (!id) {
		free(code.name);
		free(code.file);
	}
	return id;
}

/* All of them, to a profiler that came later. */
void names_announce_codes(void)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < count; i++)
		announce(i);
	pthread_mutex_unlock(&lock);
}

/* Around a fork: the child finds no name half made known. */
void names_lock(void)
{
	pthread_mutex_lock(&lock);
}

void names_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

static struct type_name *find(struct types *types, uint32_t index)
{
	struct type_name *block =
		__atomic_load_n(&types->blocks[index / TYPE_BLOCK], __ATOMIC_ACQUIRE);

	return block ? &block[index % TYPE_BLOCK] : NULL;
}

/* Makes the block with this number if it is not there; false: no memory. */
static bool make_block(struct types *types, uint32_t number)
{
	struct type_name *block;

	if (types->blocks[number])
		return true;
	block = system_map(TYPE_BLOCK * sizeof(*block));
	__atomic_store_n(&types->blocks[number], block, __ATOMIC_RELEASE);
	return block;
}

/* Adds a name that is the table's from now on; its number, from 1, or 0. */
static uint32_t add(struct types *types, const char *name)
{
	uint32_t index = types->count;

	if (index == TYPE_BLOCK * TYPE_BLOCKS - 1 || !make_block(types, index / TYPE_BLOCK))
		return 0;
	find(types, index)->name = name;
	return ++types->count;
}

uint64_t gcprof_type(struct gcprof_provider *provider, const char *name)
{
	char *copy = strdup(name);
	uint32_t number;

	if (!copy)
		return 0;
	pthread_mutex_lock(&provider->types.lock);
	number = add(&provider->types, copy);
	pthread_mutex_unlock(&provider->types.lock);
	if (!number) {
		free(copy);
		return 0;
	}
	return (provider->id - 1) << TYPE_SHIFT | number;
}

/* NULL: it is none of the provider's types. */
struct type_name *names_type(struct gcprof_provider *provider, uint64_t type)
{
	uint64_t number = type - ((provider->id - 1) << TYPE_SHIFT);
	struct type_name *found;

	if (!number || number >= TYPE_BLOCK * TYPE_BLOCKS)
		return NULL;
	found = find(&provider->types, (uint32_t)number - 1);
	return found && found->name ? found : NULL;
}

void names_free(struct types *types)
{
	for (uint32_t i = 0; i < types->count; i++)
		free((void *)(uintptr_t)find(types, i)->name);
	for (uint32_t i = 0; i < TYPE_BLOCKS; i++)
		system_unmap(types->blocks[i], TYPE_BLOCK * sizeof(struct type_name));
	pthread_mutex_destroy(&types->lock);
}
