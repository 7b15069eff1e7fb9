/* SPDX-License-Identifier: BSD-2-Clause */
/* files.c: the files that traced processes have mapped, each opened and read once. */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "file_table.h"
#include "../machine/clock.h"
#include "../../reader/worker.h"
#include "../../util/log.h"

#define CPU_NS      UINT64_C(1000000000) /* to read the facts of one file */
#define WALL_NS     UINT64_C(5000000000)
#define KEPT_MAX    2048 /* files; fewer if fewer descriptors are allowed */
#define WAITING_MAX 4096 /* mappings of one file while it is read */
#define ANSWER_MAX  (sizeof(struct file_facts) + PROBE_SITES_MAX * sizeof(struct probe_site))

struct files {
	struct opener *opener;
	size_t opening;
	size_t unknown;       /* number of files being opened or read */
	files_mapped *mapped; /* NULL: none */
	void *context;
	struct worker *worker;
	struct file_table table;
	struct entry *reading; /* first file to be read */
	struct entry **reading_end;
	bool asked;        /* the worker is reading that one */
	uid_t read_user;   /* non-root user whose files its process has read; 0: none */
	bool read_users;   /* it has read files of several users */
	uint32_t runtimes; /* bits: runtimes to record */
	uint64_t lost;
};

/* --- keeping ------------------------------------------------------------------------------ */

static size_t descriptors_for_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur / 4 > KEPT_MAX)
		return KEPT_MAX;
	return limit.rlim_cur / 4 + 1;
}

int files_create(struct opener *opener, struct files **out)
{
	struct files *files = calloc(1, sizeof(*files));
	int err;

	if (!files)
		return -ENOMEM;
	files->opener = opener;
	files->reading_end = &files->reading;
	files->runtimes = UINT32_MAX;
	err = file_table_init(&files->table, descriptors_for_files());
	if (!err)
		err = worker_create(WORKER_READER, true, &files->worker);
	if (err) {
		files_free(files);
		return err;
	}
	*out = files;
	return 0;
}

void files_free(struct files *files)
{
	if (!files)
		return;
	worker_free(files->worker);
	for (const struct entry *entry = files->table.oldest; entry; entry = entry->newer)
		opener_cancel(files->opener, entry);
	file_table_free(&files->table);
	free(files);
}

void files_set_visitor(struct files *files, files_mapped *mapped, void *context)
{
	files->mapped = mapped;
	files->context = context;
}

void files_choose_runtimes(struct files *files, uint32_t mask)
{
	files->runtimes = mask;
}

void files_prepare(struct files *files)
{
	worker_prepare(files->worker);
}

/* --- opening ------------------------------------------------------------------------------ */

static struct file_key key_of(uint32_t major, uint32_t minor, uint64_t inode)
{
	return (struct file_key){(uint64_t)major << 32 | minor, inode};
}

/* Asks no file system, which might not answer. A file that is being attached counts as
 * unchanged. */
static bool has_changed(const struct entry *entry)
{
	const struct file_stamp *stamp = &entry->stamp;
	struct statx now;

	if (entry->file.fd < 0 || entry->file.attaching ||
	    statx(entry->file.fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &now))
		return false;
	return now.stx_size != stamp->size ||
	       file_stamp_time(now.stx_ctime.tv_sec, now.stx_ctime.tv_nsec) != stamp->changed;
}

/* An entry for a file that still has to be opened. */
static struct entry *add(struct files *files, const struct file_key *key, const char *path,
			 uint32_t pid)
{
	struct entry *entry = file_table_add(&files->table, key, path);

	if (!entry)
		return NULL;
	entry->files = files;
	entry->file.state = FILE_READING;
	entry->pid = pid;
	entry->met = clock_now();
	files->unknown++;
	return entry;
}

/* --- reading ------------------------------------------------------------------------------ */

static void note_failure(const struct entry *entry, int err)
{
	const char *path = entry->file.path;

	if (err == -ETIME || err == -EPIPE || err == -EBADMSG)
		log_warning("%s: probes in it are not found: the reader %s", path,
			    err == -ETIME ? "took too long" : "died of the file");
	else
		log_verbose("%s: not read: %s", path, strerror(-err));
}

static void pass_mapping(struct files *files, struct entry *entry, const struct event_mmap *event)
{
	if (files->mapped)
		files->mapped(files->context, &entry->file, event);
}

static void pass_on(struct files *files, struct entry *entry)
{
	const struct event_mmap *events = (const void *)entry->waiting.data;

	for (size_t i = 0; i < entry->waiting.size / sizeof(*events); i++)
		pass_mapping(files, entry, &events[i]);
	buffer_free(&entry->waiting);
}

static void fail(struct files *files, struct entry *entry, int err)
{
	if (err == -EWOULDBLOCK)
		log_warning("%s: reading it was refused: a program holds a lease on it\n"
			    "Its functions have no names, and its probes are not found.",
			    entry->file.path);
	else
		log_verbose("%s: not opened: %s", entry->file.path, strerror(-err));
	entry->file.state = FILE_FAILED;
	files->unknown--;
	pass_on(files, entry);
}

/* Takes over `fd`. */
static void take_file(struct files *files, struct entry *entry, int fd,
		      const struct opener_file *opened)
{
	file_table_opened(&files->table, entry, fd, opened->uid);
	entry->file.filesystem = opened->filesystem;
	entry->file.is_shared = opened->filesystem == FUSE_SUPER_MAGIC ||
				(opened->mode & (S_IWGRP | S_IWOTH));
	entry->stamp = (struct file_stamp){opened->inode, opened->size,
					   file_stamp_time(opened->ctime_s, opened->ctime_ns)};
	*files->reading_end = entry;
	files->reading_end = &entry->next;
}

static void opened(void *context, const struct opener_result *result)
{
	struct entry *entry = context;
	struct files *files = entry->files;

	files->opening--;
	if (result->err)
		fail(files, entry, result->err);
	else
		take_file(files, entry, result->fd, &result->file);
}

static void open_file(struct files *files, struct entry *entry, const struct module_place *place)
{
	int err = opener_open(files->opener, place, opened, entry);

	if (err)
		fail(files, entry, err);
	else
		files->opening++;
}

/* A debug file that the file's process sees and we do not. */
static void debug_opened(void *context, const struct opener_result *result)
{
	struct entry *entry = context;

	entry->waits_for_debug = false;
	entry->file.debug_fd = result->err ? -1 : result->fd;
}

static void open_debug(struct files *files, struct entry *entry)
{
	const struct file_facts *facts = &entry->file.facts;
	struct debug_wanted wanted = {.kind = DEBUG_IN_ROOT,
				      .id_size = (uint32_t)facts->build_id_size};

	memcpy(wanted.id, facts->build_id, wanted.id_size);
	entry->waits_for_debug = !opener_debug(files->opener, entry->pid, entry->file.fd, &wanted,
					       debug_opened, entry);
}

static int keep_sites(struct file *file, const struct probe_site *sites)
{
	size_t size = file->facts.n_sites * sizeof(*sites);

	file->sites = malloc(size);
	if (!file->sites)
		return -ENOMEM;
	memcpy(file->sites, sites, size);
	return 0;
}

/*
 * Could a file of a user other than its owner and root have taken over the process that read this
 * one? It could then make us put breakpoints into the middle of instructions, increment what is no
 * semaphore, and write to what is no variable of a runtime.
 */
static bool is_suspect(const struct files *files, const struct file *file)
{
	return files->read_users || (files->read_user && files->read_user != file->user);
}

static void note_read(struct files *files, const struct file *file)
{
	files->read_users |= file->is_shared || (file->user && is_suspect(files, file));
	if (file->user)
		files->read_user = file->user;
}

/* Drops the places of a runtime that is not to be recorded. */
static void choose_runtime(const struct files *files, struct file_facts *facts,
			   struct probe_site *sites)
{
	uint32_t kept = 0;

	if (files->runtimes >> facts->runtime.runtime & 1)
		return;
	facts->runtime = (struct runtime_facts){0};
	for (uint32_t i = 0; i < facts->n_sites; i++)
		if (sites[i].place.probe != PROBE_PLACE)
			sites[kept++] = sites[i];
	facts->n_sites = kept;
}

/* True: reads it again, in a process that has read nothing before. Most files change nothing in
 * programs, whatever is reported about them. */
static bool reads_again(struct files *files, const struct file *file)
{
	if ((!file->facts.n_sites && !file->facts.runtime.runtime) || !is_suspect(files, file))
		return false;
	worker_renew(files->worker);
	files->read_user = 0;
	files->read_users = files->asked = false;
	return true;
}

static void take_facts(struct files *files, const struct worker_answer *answer)
{
	struct entry *entry = files->reading;
	struct file *file = &entry->file;
	const struct probe_site *sites = NULL;
	int err = answer->err;

	if (!err)
		err = facts_take(answer->data, answer->size, &file->facts, &sites);
	if (!err && reads_again(files, file))
		return;
	note_read(files, file);
	files->asked = false;
	files->reading = entry->next;
	if (!files->reading)
		files->reading_end = &files->reading;
	if (!err && file->facts.n_sites)
		err = keep_sites(file, sites);
	if (!err)
		choose_runtime(files, &file->facts, file->sites);
	else
		file->facts = (struct file_facts){0};
	file->state = err ? FILE_FAILED : FILE_KNOWN;
	files->unknown--;
	if (err)
		note_failure(entry, err);
	else if (entry->pid && file->facts.build_id_size > 0)
		open_debug(files, entry);
	pass_on(files, entry);
}

static void ask(struct files *files)
{
	struct worker_answer none = {.fd = -1};
	const struct worker_order order = {
		.kind = READ_FACTS,
		.fds = &files->reading->file.fd,
		.n_fds = 1,
		.cpu_ns = CPU_NS,
		.wall_ns = WALL_NS,
		.answer_max = ANSWER_MAX,
	};

	none.err = worker_start(files->worker, &order);
	files->asked = !none.err;
	if (none.err)
		take_facts(files, &none);
}

void files_turn(struct files *files)
{
	struct worker_answer answer;

	while (files->reading) {
		if (!files->asked) {
			ask(files);
			continue;
		}
		switch (worker_poll(files->worker, &answer)) {
		case WORKER_ANSWERED:
			take_facts(files, &answer);
			break;
		case WORKER_QUESTION: /* facts need no questions */
			worker_supply(files->worker, "", 1, -1);
			break;
		default:
			return;
		}
	}
}

void files_settle(struct files *files, uint64_t ns)
{
	uint64_t end = clock_now() + ns;

	opener_turn(files->opener);
	files_turn(files);
	while ((files->opening || files->reading) && clock_now() < end) {
		worker_wait_any(20);
		opener_turn(files->opener);
		files_turn(files);
	}
}

/* --- mappings ----------------------------------------------------------------------------- */

/* NULL: left out, because too many came at once, or no memory. */
static struct entry *meet(struct files *files, const struct event_mmap *event, const char *path)
{
	struct module_place place = module_place_of(event, path);
	struct file_key key = key_of(event->major, event->minor, event->inode);
	struct entry *entry = file_table_find(&files->table, &key);

	if (entry && !has_changed(entry))
		return entry;
	entry = files->unknown <= files->table.files_max / 2 ? add(files, &key, path, place.pid)
							     : NULL;
	if (entry)
		open_file(files, entry, &place);
	else
		files->lost++;
	return entry;
}

uint32_t files_map(struct files *files, const struct event_mmap *event, const char *path)
{
	struct entry *entry = meet(files, event, path);

	if (!entry)
		return 0;
	if (entry->file.state != FILE_READING)
		pass_mapping(files, entry, event);
	else if (entry->waiting.size >= WAITING_MAX * sizeof(*event) ||
		 buffer_append(&entry->waiting, event, sizeof(*event)))
		files->lost++;
	return entry->file.id;
}

/* The kernel's path, which a mapping will have too. */
static struct entry *add_open(struct files *files, const struct file_key *key,
			      const struct stat *st, int fd)
{
	const struct opener_file opened = {
		.inode = st->st_ino,
		.size = (uint64_t)st->st_size,
		.ctime_s = st->st_ctim.tv_sec,
		.ctime_ns = (uint32_t)st->st_ctim.tv_nsec,
		.uid = st->st_uid,
		.mode = st->st_mode,
	};
	char link[32], path[PATH_MAX] = "";
	struct entry *entry;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, path, sizeof(path) - 1) < 0)
		return NULL;
	entry = add(files, key, path, 0);
	fd = entry ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (fd >= 0)
		take_file(files, entry, fd, &opened);
	else if (entry)
		fail(files, entry, -EMFILE);
	return entry;
}

struct file *files_read(struct files *files, int fd)
{
	struct entry *entry;
	struct stat st;
	struct file_key key;

	if (fstat(fd, &st))
		return NULL;
	key = key_of(major(st.st_dev), minor(st.st_dev), st.st_ino);
	entry = file_table_find(&files->table, &key);
	if (!entry || has_changed(entry))
		entry = add_open(files, &key, &st, fd);
	if (entry)
		files_settle(files, WALL_NS);
	return entry ? &entry->file : NULL;
}

struct file *files_find(struct files *files, uint32_t major, uint32_t minor, uint64_t inode)
{
	struct file_key key = key_of(major, minor, inode);
	struct entry *entry = file_table_find(&files->table, &key);

	return entry ? &entry->file : NULL;
}

/* --- modules ------------------------------------------------------------------------------ */

/* The entry of code in no file. */
static struct entry *find_special(struct files *files, const struct file_key *key, const char *name)
{
	struct entry *entry = file_table_find(&files->table, key);

	return entry ? entry : file_table_add(&files->table, key, name);
}

uint64_t files_module(struct files *files, struct profile_writer *writer,
		      const struct module_place *place)
{
	struct file_key key = key_of(place->major, place->minor, place->inode);
	const char *path = place->path;
	struct code_span own = {0, 0};
	const struct file *file;
	struct entry *entry;
	uint64_t id;

	if (!place->inode)
		key = (struct file_key){KEY_SPECIAL,
					profile_writer_string(writer, path, strlen(path))};
	entry = place->inode ? file_table_find(&files->table, &key)
			     : find_special(files, &key, path);
	file = entry ? &entry->file : NULL;
	id = file ? file->module : 0;
	if (file)
		own = (struct code_span){file->facts.own, file->facts.own_size};
	if (!id && file && file_is_program(file) && !file->facts.build_id_size)
		id = profile_writer_file(writer, file->path, &entry->stamp, &own);
	else if (!id)
		id = profile_writer_module(
			writer, file ? file->path : path, file ? file->facts.build_id : NULL,
			file && file_is_program(file) ? (size_t)file->facts.build_id_size : 0,
			&own);
	return entry ? file_table_set_module(&files->table, entry, id) : id;
}

uint64_t files_generated(struct files *files, struct profile_writer *writer, uint64_t process)
{
	struct entry *entry = find_special(files, &(struct file_key){KEY_GENERATED, process}, "");

	if (!entry)
		return 0;
	entry->file.process = process;
	return file_table_set_module(&files->table, entry,
				     profile_writer_generated(writer, process));
}

void files_forget_generated(struct files *files, uint64_t process)
{
	struct entry *entry =
		file_table_find(&files->table, &(struct file_key){KEY_GENERATED, process});

	if (entry)
		file_table_forget(&files->table, entry);
}

const struct file *files_by_id(struct files *files, uint32_t id)
{
	const struct entry *entry = file_table_by_id(&files->table, id);

	return entry ? &entry->file : NULL;
}

const struct file *files_by_module(struct files *files, uint64_t module)
{
	const struct entry *entry = file_table_by_module(&files->table, module);

	return entry ? &entry->file : NULL;
}

/* --- figures ------------------------------------------------------------------------------ */

int files_open(struct files *files, uint32_t id, struct file_opened *out)
{
	return file_table_open(&files->table, id, out);
}

uint64_t files_pending(const struct files *files)
{
	uint64_t pending = UINT64_MAX;

	if (!files->unknown)
		return pending;
	for (const struct entry *entry = files->table.oldest; entry; entry = entry->newer)
		if (entry->file.state == FILE_READING && entry->met < pending)
			pending = entry->met;
	return pending;
}

struct opener *files_opener(const struct files *files)
{
	return files->opener;
}

uint64_t files_lost(const struct files *files)
{
	return files->lost;
}
