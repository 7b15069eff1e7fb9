// SPDX-License-Identifier: BSD-2-Clause
/* file_table.c: the entries of files.c, found by inode or module; the least recently used are
 * evicted. */
#include "file_table.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTRIES_MAX 8192 /* including code in no file */
#define MODULES_MAX 8    /* of an entry */
#define CHECK_TURNS 16   /* of check(), until the next one */

int file_table_init(struct file_table *table, size_t files_max)
{
	table->files_max = files_max;
	table->by_key = map_create(sizeof(struct file_key));
	table->by_module = map_create(sizeof(uint64_t));
	table->by_id = map_create(sizeof(uint32_t));
	table->last_id = FILE_VDSO;
	pthread_mutex_init(&table->lock, NULL);
	return table->by_key && table->by_module && table->by_id ? 0 : -ENOMEM;
}

static struct entry *entry_at(const struct map *map, const void *key)
{
	const uint64_t *slot = map_get(map, key);

	return slot ? (struct entry *)(uintptr_t)*slot : NULL;
}

static bool is_file(const struct entry *entry)
{
	return entry->file.key.device < KEY_GENERATED;
}

static void unlink_entry(struct file_table *table, struct entry *entry)
{
	*(entry->older ? &entry->older->newer : &table->oldest) = entry->newer;
	*(entry->newer ? &entry->newer->older : &table->newest) = entry->older;
}

static void link_newest(struct file_table *table, struct entry *entry)
{
	entry->newer = NULL;
	entry->older = table->newest;
	*(table->newest ? &table->newest->newer : &table->oldest) = entry;
	table->newest = entry;
}

static struct entry *touch(struct file_table *table, struct entry *entry)
{
	if (entry && entry != table->newest) {
		unlink_entry(table, entry);
		link_newest(table, entry);
	}
	return entry;
}

struct entry *file_table_find(struct file_table *table, const struct file_key *key)
{
	struct entry *entry = entry_at(table->by_key, key);

	return touch(table, entry);
}

struct entry *file_table_by_id(struct file_table *table, uint32_t id)
{
	return touch(table, entry_at(table->by_id, &id));
}

struct entry *file_table_by_module(struct file_table *table, uint64_t module)
{
	return touch(table, entry_at(table->by_module, &module));
}

/* Debug builds, now and then: an index leads to entries of the list only. */
static void check(struct file_table *table)
{
#ifdef GC_CHECK
	size_t n = 0, modules = 0;

	if (table->checks++ % CHECK_TURNS)
		return;
	for (const struct entry *entry = table->oldest; entry; entry = entry->newer) {
		assert(++n <= table->entries);
		assert(entry_at(table->by_id, &entry->file.id) == entry);
		modules += entry->modules.size / sizeof(uint64_t);
	}
	assert(n == table->entries && map_count(table->by_id) == n);
	assert(map_count(table->by_module) == modules);
#else
	(void)table;
#endif
}

/* An entry that has this module, which leads to a twin of it; NULL: none. */
static struct entry *find_heir(const struct file_table *table, const struct entry *of, uint64_t id)
{
	struct entry *entry = of->is_twin_of_others ? table->newest : NULL;

	while (entry && (entry == of || entry->file.module != id))
		entry = entry->older;
	return entry;
}

/* This one of its modules leads to it no more, but to a twin if there is one. */
static void drop_module(struct file_table *table, struct entry *entry, size_t at)
{
	uint64_t *modules = (uint64_t *)(void *)entry->modules.data;
	size_t n = entry->modules.size / sizeof(*modules) - 1;
	struct entry *heir = find_heir(table, entry, modules[at]);

	if (heir && !buffer_append(&heir->modules, &modules[at], sizeof(*modules))) {
		*map_get(table->by_module, &modules[at]) = (uintptr_t)heir;
		heir->is_twin_of_others = true;
	} else {
		map_remove(table->by_module, &modules[at]);
	}
	memmove(modules + at, modules + at + 1, (n - at) * sizeof(*modules));
	entry->modules.size = n * sizeof(*modules);
}

static void drop_content(struct entry *entry)
{
	if (entry->file.fd >= 0)
		close(entry->file.fd);
	if (entry->file.debug_fd >= 0)
		close(entry->file.debug_fd);
	free(entry->file.path);
	free(entry->file.sites);
	buffer_free(&entry->waiting);
	quota_free(&entry->waiters);
	buffer_free(&entry->modules);
}

void file_table_forget(struct file_table *table, struct entry *entry)
{
	pthread_mutex_lock(&table->lock);
	map_remove(table->by_id, &entry->file.id);
	pthread_mutex_unlock(&table->lock);
	unlink_entry(table, entry);
	table->entries--;
	table->files -= is_file(entry);
	quota_return(&table->shares, entry->file.payer, 1);
	while (entry->modules.size)
		drop_module(table, entry, 0);
	if (entry_at(table->by_key, &entry->file.key) == entry)
		map_remove(table->by_key, &entry->file.key);
	drop_content(entry);
	free(entry);
	check(table);
}

void file_table_free(struct file_table *table)
{
	while (table->oldest)
		file_table_forget(table, table->oldest);
	map_free(table->by_key);
	map_free(table->by_module);
	map_free(table->by_id);
	quota_free(&table->shares);
	pthread_mutex_destroy(&table->lock);
}

/* Evicts the least recently used entry of this user that is not being read or attached. */
static bool forget_oldest(struct file_table *table, uint32_t user)
{
	struct entry *entry = table->oldest;

	while (entry &&
	       (entry->file.state == FILE_READING || entry->file.attaching ||
		entry->waits_for_debug || entry->waits_for_hash || entry->file.payer != user))
		entry = entry->newer;
	if (entry)
		file_table_forget(table, entry);
	return entry != NULL;
}

static int put_id(struct file_table *table, struct entry *entry)
{
	uint64_t *slot;

	pthread_mutex_lock(&table->lock);
	slot = map_put(table->by_id, &entry->file.id, NULL);
	if (slot)
		*slot = (uintptr_t)entry;
	pthread_mutex_unlock(&table->lock);
	return slot ? 0 : -ENOMEM;
}

/* Replaces the entry with its key. */
static int file_table_put(struct file_table *table, struct entry *entry)
{
	bool added;
	uint64_t *slot = map_put(table->by_key, &entry->file.key, &added);

	if (!slot || quota_add(&table->shares, entry->file.payer, 1) || put_id(table, entry)) {
		if (slot && added)
			map_remove(table->by_key, &entry->file.key);
		return -ENOMEM;
	}
	*slot = (uintptr_t)entry;
	link_newest(table, entry);
	table->entries++;
	table->files += is_file(entry);
	return 0;
}

void file_table_use(struct file_table *table, struct entry *entry, uint32_t user)
{
	if (entry->file.payer == user || entry->file.payer == USER_SEVERAL)
		return;
	quota_return(&table->shares, entry->file.payer, 1);
	entry->file.payer = USER_SEVERAL;
	(void)quota_add(&table->shares, entry->file.payer, 1);
}

struct entry *file_table_add(struct file_table *table, const struct file_key *key, const char *path,
			     uint32_t user)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	while ((table->files >= table->files_max || table->entries >= ENTRIES_MAX) &&
	       forget_oldest(table, quota_largest(&table->shares)))
		;
	entry->file = (struct file){
		.id = ++table->last_id,
		.key = *key,
		.state = FILE_FAILED,
		.fd = -1,
		.debug_fd = -1,
		.path = strdup(path),
		.mapper = user,
		.payer = user,
	};
	if (entry->file.path && !file_table_put(table, entry)) {
		check(table);
		return entry;
	}
	free(entry->file.path);
	free(entry);
	return NULL;
}

uint64_t file_table_add_module(struct file_table *table, struct entry *entry, uint64_t id)
{
	uint64_t *slot = id ? map_put(table->by_module, &id, NULL) : NULL;

	if (!slot || *slot)
		return slot ? id : 0;
	if (buffer_append(&entry->modules, &id, sizeof(id))) {
		map_remove(table->by_module, &id);
		return 0;
	}
	*slot = (uintptr_t)entry;
	if (entry->modules.size > MODULES_MAX * sizeof(id))
		drop_module(table, entry, 1); /* the first is its own */
	check(table);
	return id;
}

void file_table_opened(struct file_table *table, struct entry *entry, int fd, uid_t user)
{
	pthread_mutex_lock(&table->lock);
	entry->file.fd = fd;
	entry->file.user = user;
	pthread_mutex_unlock(&table->lock);
}

/* The entry stays while the lock is held, so its descriptor is open. */
int file_table_open(struct file_table *table, uint32_t id, struct file_opened *out)
{
	const struct entry *entry;

	*out = (struct file_opened){.fd = -1};
	pthread_mutex_lock(&table->lock);
	entry = entry_at(table->by_id, &id);
	if (entry && entry->file.fd >= 0) {
		out->payer = entry->file.payer;
		out->path = strdup(entry->file.path);
		out->fd = fcntl(entry->file.fd, F_DUPFD_CLOEXEC, 0);
	}
	pthread_mutex_unlock(&table->lock);
	return out->fd >= 0 && out->path ? 0 : -ENOENT;
}
