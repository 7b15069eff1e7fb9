/* SPDX-License-Identifier: BSD-2-Clause */
/* file_twins.c: files with the same content, which are one module. */
#include "file_table.h"

#include <linux/magic.h>
#include <string.h>

static bool is_comparable(const struct file *file)
{
	return file->state != FILE_FAILED && file->facts.build_id_size > 0 && file->fd >= 0 &&
	       file->filesystem != FUSE_SUPER_MAGIC;
}

static bool may_be_twins(const struct entry *a, const struct entry *b)
{
	const struct file_facts *facts = &a->file.facts, *other = &b->file.facts;

	return a->file.mapper == b->file.mapper && a->file.user == b->file.user &&
	       a->stamp.size == b->stamp.size && facts->build_id_size == other->build_id_size &&
	       !memcmp(facts->build_id, other->build_id, (size_t)facts->build_id_size);
}

/* The latest file that may be a twin of this one; NULL: none. */
static struct entry *file_twins_find(const struct file_table *table, const struct entry *entry)
{
	struct entry *other = table->newest;

	while (other &&
	       (other == entry || !is_comparable(&other->file) || !may_be_twins(entry, other)))
		other = other->older;
	return other;
}

static void hashed(void *context, const struct opener_result *result);

static void file_twins_ask(struct file_twins *twins, struct entry *entry)
{
	const struct opener_who who = {.user = entry->file.mapper};

	if (entry->is_hashed || entry->waits_for_hash)
		return;
	entry->twins = twins;
	entry->waits_for_hash =
		!opener_hash(twins->opener, &who, entry->file.fd, &twins->seed, hashed, entry);
	twins->asked += entry->waits_for_hash;
}

/* A twin of a twin is one of the first. */
static void decide(struct file_twins *twins, struct entry *entry)
{
	const struct entry *other = file_table_by_id(twins->table, entry->twin);

	if (!other || !other->is_hashed || !entry->is_hashed ||
	    memcmp(other->hash, entry->hash, sizeof(entry->hash)))
		entry->twin = 0;
	else if (other->twin && file_table_by_id(twins->table, other->twin))
		entry->twin = other->twin;
	twins->known(twins->context, entry);
}

/* Both hashes are asked for in this order, and by one user. */
static void hashed(void *context, const struct opener_result *result)
{
	struct entry *entry = context;
	struct file_twins *twins = entry->twins;

	twins->asked--;
	entry->waits_for_hash = false;
	entry->is_hashed = !result->err;
	entry->hash[0] = result->block.before;
	entry->hash[1] = result->block.after;
	if (entry->file.state == FILE_READING)
		decide(twins, entry);
}

bool file_twins_seek(struct file_twins *twins, struct entry *entry)
{
	struct entry *other = is_comparable(&entry->file) ? file_twins_find(twins->table, entry)
							  : NULL;

	if (!other)
		return false;
	entry->twin = other->file.id;
	file_twins_ask(twins, other);
	file_twins_ask(twins, entry);
	if (!entry->waits_for_hash)
		entry->twin = 0;
	return entry->waits_for_hash;
}
