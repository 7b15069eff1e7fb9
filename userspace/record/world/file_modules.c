/* SPDX-License-Identifier: BSD-2-Clause */
/* file_modules.c: the modules of the profile that files, and code in no file, are. */
#include "files.h"

#include <linux/magic.h>
#include <string.h>

#include "file_table.h"

/* The entry of code in no file. */
static struct entry *find_special(struct file_table *table, const struct file_key *key,
				  const char *name, uint32_t user)
{
	struct entry *entry = file_table_find(table, key);

	return entry ? entry : file_table_add(table, key, name, user);
}

/* A module of code in no file. */
static uint64_t special_module(struct file_table *table, struct profile_writer *writer,
			       const char *name)
{
	const struct file_key key = {KEY_SPECIAL,
				     profile_writer_string(writer, name, strlen(name))};
	struct entry *entry = find_special(table, &key, name, 0);

	if (entry && !entry->file.module)
		entry->file.module = file_table_add_module(
			table, entry, profile_writer_module(writer, name, NULL, 0, NULL));
	return entry ? entry->file.module : 0;
}

/* Its owner; or who may be behind it, where a user can mount what names any owner. */
static uint32_t maker_of(const struct file *file)
{
	return file->filesystem == FUSE_SUPER_MAGIC || file->filesystem == OVERLAYFS_SUPER_MAGIC
		       ? file->mapper
		       : file->user;
}

/* Under this path; the same as before if that is known. */
static uint64_t file_module(struct file_table *table, struct profile_writer *writer,
			    struct entry *entry, const struct module_place *place)
{
	const struct file *file = &entry->file;
	const bool is_program = file_is_program(file) && file->facts.build_id_size;
	const struct module_file module = {
		.path = place->path,
		.build_id = {(const char *)file->facts.build_id,
			     is_program ? (size_t)file->facts.build_id_size : 0},
		.stamp = entry->stamp,
		.number = file->id,
		.user = place->user,
		.own = {file->facts.own, file->facts.own_size},
	};

	return file_table_add_module(table, entry, profile_writer_file(writer, &module));
}

/* Its module under its first path, or that of its twin. */
static uint64_t main_module(struct file_table *table, struct profile_writer *writer,
			    struct entry *entry)
{
	const struct module_place first = {.path = entry->file.path,
					   .user = maker_of(&entry->file)};
	struct entry *twin = entry->twin ? file_table_by_id(table, entry->twin) : NULL;

	if (entry->file.module)
		return entry->file.module;
	/* A mapping that waits no longer; later ones will have more. */
	if (entry->file.state == FILE_READING)
		return file_module(table, writer, entry, &first);
	if (twin && !twin->file.module)
		(void)main_module(table, writer, twin);
	if (twin)
		twin->is_twin_of_others = true;
	entry->file.module = twin ? twin->file.module : file_module(table, writer, entry, &first);
	return entry->file.module;
}

/*
 * The first path is that of all who use the file, but another user's path of it is no more than
 * that user's: it may lead there in that user's mount namespace only.
 */
uint64_t files_module(struct files *files, struct profile_writer *writer,
		      const struct module_place *place)
{
	const struct file_key key = file_key_of(place->major, place->minor, place->inode);
	struct file_table *table = files_table(files);
	struct entry *entry = place->inode ? file_table_find(table, &key) : NULL;

	if (!place->inode)
		return special_module(table, writer, place->path);
	if (!entry)
		return profile_writer_module(writer, place->path, NULL, 0, NULL);
	if (entry->file.mapper != place->user && strcmp(entry->file.path, place->path))
		return file_module(table, writer, entry, place);
	return main_module(table, writer, entry);
}

uint64_t files_generated(struct files *files, struct profile_writer *writer, uint64_t process,
			 uint32_t user)
{
	const struct file_key key = {KEY_GENERATED, process};
	struct file_table *table = files_table(files);
	struct entry *entry = find_special(table, &key, "", user);

	if (!entry)
		return 0;
	entry->file.process = process;
	if (!entry->file.module)
		entry->file.module = file_table_add_module(
			table, entry, profile_writer_generated(writer, process));
	return entry->file.module;
}

void files_forget_generated(struct files *files, uint64_t process)
{
	const struct file_key key = {KEY_GENERATED, process};
	struct entry *entry = file_table_find(files_table(files), &key);

	if (entry)
		file_table_forget(files_table(files), entry);
}
