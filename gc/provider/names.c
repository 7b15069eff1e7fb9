/* SPDX-License-Identifier: BSD-2-Clause */
/* names.c: the table of names of types, functions, collections and providers, which recorders read.
 */
/*
 * Names belong to the process, like their ids, and stay in the table. So a recorder may attach at
 * any time and finds the names of all samples that it will see.
 */
#include "names.h"
#include "data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TYPE_SHIFT = 20, TYPES_MAX = (1 << TYPE_SHIFT) - 1, CHUNK_ENTRIES = 2047 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gcprof_names *newest; /* newest chunk; NULL: none so far */
static uint32_t n_codes;
static struct gcprof_name **codes;                   /* of functions, by hash; NULL: a free slot */
static uint32_t n_slots;                             /* a power of two; 0: none so far */
static const char *provider_name, *provider_version; /* last reported, as is the next */
static uint32_t provider_refused;

static uint64_t address_of(const void *at)
{
	return (uint64_t)(uintptr_t)at;
}

/* Makes room for a name, with a new chunk if necessary; false: no memory. */
static bool make_room(void)
{
	struct gcprof_names *chunk;

	if (newest && newest->count < CHUNK_ENTRIES)
		return true;
	chunk = calloc(1, sizeof(*chunk) + CHUNK_ENTRIES * sizeof(struct gcprof_name));
	if (!chunk)
		return false;
	__atomic_store_n(newest ? &newest->next : &gcprof_control.names, address_of(chunk),
			 __ATOMIC_RELEASE);
	newest = chunk;
	return true;
}

/* Adds a name and takes over its strings. Recorders may read concurrently. NULL: no memory. */
static struct gcprof_name *add(const struct gcprof_name *name)
{
	struct gcprof_name *entry;

	if (!name->name || !make_room())
		return NULL;
	entry = (struct gcprof_name *)(newest + 1) + newest->count;
	*entry = *name;
	__atomic_store_n(&newest->count, newest->count + 1, __ATOMIC_RELEASE);
	return entry;
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* --- functions ---------------------------------------------------------------------------- */

static const char *text_at(uint64_t address)
{
	return (const char *)(uintptr_t)address;
}

/* The slot of a function, or the free one for it. There is one. */
static struct gcprof_name **find_code(const char *name, const char *file, uint32_t line)
{
	uint32_t hash = line;

	for (const char *at = name; *at; at++)
		hash = (hash ^ (unsigned char)*at) * UINT32_C(16777619);
	for (hash ^= hash >> 15;; hash++) {
		struct gcprof_name **slot = &codes[hash & (n_slots - 1)];

		if (!*slot || ((*slot)->line == line && is_same(text_at((*slot)->name), name) &&
			       is_same(text_at((*slot)->file), file)))
			return slot;
	}
}

/* Keeps half of the slots free. */
static bool make_slots(void)
{
	struct gcprof_name **old = codes;
	uint32_t n_old = n_slots, n_new = n_slots ? 2 * n_slots : 64;

	if (2 * n_codes < n_slots)
		return true;
	codes = calloc(n_new, sizeof(struct gcprof_name *));
	if (!codes) {
		codes = old;
		return false;
	}
	n_slots = n_new;
	for (uint32_t i = 0; i < n_old; i++)
		if (old[i])
			*find_code(text_at(old[i]->name), text_at(old[i]->file), old[i]->line) =
				old[i];
	free(old);
	return true;
}

static struct gcprof_name *add_code(const char *name, const char *file, uint32_t line)
{
	char *text = strdup(name), *source = file ? strdup(file) : NULL;
	const struct gcprof_name code = {n_codes + 1, address_of(text), address_of(source), line,
					 GCPROF_NAME_CODE};
	struct gcprof_name *entry = text && (source || !file) ? add(&code) : NULL;

	if (!entry) {
		free(text);
		free(source);
	}
	n_codes += entry != NULL;
	return entry;
}

/* The name is in the table before its probe fires: a recorder that attaches and then reads the
 * table misses none. */
uint32_t gcprof_code(const char *name, const char *file, uint32_t line)
{
	struct gcprof_name **slot, *code = NULL;
	bool is_new = false;

	pthread_mutex_lock(&lock);
	if (make_slots()) {
		slot = find_code(name, file, line);
		is_new = !*slot;
		if (is_new)
			*slot = add_code(name, file, line);
		code = *slot;
	}
	pthread_mutex_unlock(&lock);
	if (!code)
		return 0;
	if (is_new)
		probe_code(&(struct probe_code){.code = code->id,
						.name = text_at(code->name),
						.file = text_at(code->file),
						.line = line});
	return (uint32_t)code->id;
}

/* --- types, providers, collections -------------------------------------------------------- */

uint64_t gcprof_type(struct gcprof_provider *provider, const char *name)
{
	char *text = strdup(name);
	struct gcprof_name type = {.name = address_of(text), .kind = GCPROF_NAME_TYPE};
	bool added;

	pthread_mutex_lock(&lock);
	type.id = (provider->id - 1) << TYPE_SHIFT | (provider->n_types + 1);
	added = provider->n_types < TYPES_MAX && add(&type);
	provider->n_types += added;
	pthread_mutex_unlock(&lock);
	if (!added) {
		free(text);
		return 0;
	}
	probe_type(&(struct probe_type){.type = type.id, .name = text});
	return type.id;
}

void names_provider(const char *name, const char *version, uint32_t refused)
{
	struct gcprof_name entry = {.line = refused, .kind = GCPROF_NAME_PROVIDER};
	bool added = false;

	pthread_mutex_lock(&lock);
	if (name && (!is_same(name, provider_name) || !is_same(version, provider_version) ||
		     refused != provider_refused)) {
		name = strdup(name);
		version = version ? strdup(version) : NULL;
		entry.name = address_of(name);
		entry.file = address_of(version);
		added = add(&entry);
	}
	if (added) {
		provider_name = name;
		provider_version = version;
		provider_refused = refused;
	}
	pthread_mutex_unlock(&lock);
	if (added)
		probe_provider(&(struct probe_provider){
			.name = name, .version = version, .refused = refused});
}

/* The program's own kinds and reasons of collections: their last names. */
static struct {
	const char *text;
	uint32_t kind; /* atomic */
} gc_names[GCPROF_GC_NAMES_END];

static int name_gc(const struct gcprof_gc_name *name)
{
	struct gcprof_name entry = {.id = name->number, .kind = GCPROF_NAME_GC};
	char *text = NULL;
	bool known, added = false;

	pthread_mutex_lock(&lock);
	known = is_same(gc_names[name->number].text, name->text);
	__atomic_store_n(&gc_names[name->number].kind, name->kind, __ATOMIC_RELAXED);
	if (!known) {
		text = strdup(name->text);
		entry.name = address_of(text);
		added = add(&entry);
	}
	if (added)
		gc_names[name->number].text = text;
	pthread_mutex_unlock(&lock);
	if (added)
		probe_gc_name(&(struct probe_gc_name){.number = name->number, .name = text});
	else
		free(text);
	return known || added ? 0 : -ENOMEM;
}

int names_gc(const struct gcprof_gc_name *names, uint32_t n)
{
	int result = 0;

	for (uint32_t i = 0; i < n && !result; i++)
		result = name_gc(&names[i]);
	return result;
}

uint32_t names_gc_kind(uint32_t number)
{
	uint32_t kind = __atomic_load_n(&gc_names[number].kind, __ATOMIC_RELAXED);

	return kind ? kind : GCPROF_GC_STOP;
}

void names_lock(void)
{
	pthread_mutex_lock(&lock);
}

void names_unlock(void)
{
	pthread_mutex_unlock(&lock);
}
