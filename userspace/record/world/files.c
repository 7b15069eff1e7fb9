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
	struct quota unknown; /* files being opened or read */
	files_mapped *mapped; /* NULL: none */
	void *context;
	struct worker *worker;
	struct file_table table;
	struct file_twins twins;
	struct turns reading; /* struct entry: files to be read */
	struct entry *asked;  /* the worker is reading it; NULL: none */
	uint64_t asked_at;    /* since then; ns */
	uid_t read_user;      /* non-root user whose files its process has read; 0: none */
	bool read_users;      /* it has read files of several users */
	uint32_t runtimes;    /* bits: runtimes to record */
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

static void know(void *context, struct entry *entry);

int files_create(struct opener *opener, struct files **out)
{
	struct files *files = calloc(1, sizeof(*files));
	int err;

	if (!files)
		return -ENOMEM;
	files->opener = opener;
	files->runtimes = UINT32_MAX;
	err = file_table_init(&files->table, descriptors_for_files());
	files->unknown.most = files->table.files_max / 2;
	files->twins = (struct file_twins){.table = &files->table,
					   .opener = opener,
					   .known = know,
					   .context = files,
					   .seed.seed = {map_seed(), ~map_seed()}};
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
	quota_free(&files->unknown);
	turns_free(&files->reading);
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
static struct entry *files_add(struct files *files, const struct file_key *key, const char *path,
			       uint32_t user)
{
	struct entry *entry = NULL;

	if (!quota_take(&files->unknown, user, 1))
		return NULL;
	entry = file_table_add(&files->table, key, path, user);
	if (!entry) {
		quota_return(&files->unknown, user, 1);
		return NULL;
	}
	entry->files = files;
	entry->file.state = FILE_READING;
	entry->waiters.most = WAITING_MAX;
	entry->met = clock_now();
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

	quota_return(&files->unknown, entry->file.mapper, 1);
	for (size_t i = 0; i < entry->waiting.size / sizeof(*events); i++)
		pass_mapping(files, entry, &events[i]);
	buffer_free(&entry->waiting);
	quota_free(&entry->waiters);
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
	entry->stamp = (struct file_stamp){opened->device, opened->inode, opened->size,
					   file_stamp_time(opened->ctime_s, opened->ctime_ns)};
	if (turns_put(&files->reading, &entry->turn, entry->file.payer))
		fail(files, entry, -ENOMEM);
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
	files->read_users = false;
	return true;
}

static void fail_reading(struct files *files, struct entry *entry, int err)
{
	entry->file.facts = (struct file_facts){0};
	entry->file.state = FILE_FAILED;
	note_failure(entry, err);
	pass_on(files, entry);
}

/* All about it is known. */
static void know(void *context, struct entry *entry)
{
	struct files *files = context;

	entry->file.state = FILE_KNOWN;
	file_debug_known(entry, files->opener);
	pass_on(files, entry);
}

static void files_ask(struct files *files, struct entry *entry);

static void take_facts(struct files *files, const struct worker_answer *answer)
{
	struct entry *entry = files->asked;
	struct file *file = &entry->file;
	const struct probe_site *sites = NULL;
	int err = answer->err;

	if (!err)
		err = facts_take(answer->data, answer->size, &file->facts, &sites);
	turns_charge(&files->reading, entry->turn.user, clock_now() - files->asked_at);
	if (!err && reads_again(files, file)) {
		files_ask(files, entry);
		return;
	}
	note_read(files, file);
	files->asked = NULL;
	if (!err && file->facts.n_sites)
		err = keep_sites(file, sites);
	if (!err)
		choose_runtime(files, &file->facts, file->sites);
	if (err)
		fail_reading(files, entry, err);
	else if (!file_twins_seek(&files->twins, entry))
		know(files, entry);
}

static void files_ask(struct files *files, struct entry *entry)
{
	struct worker_answer none = {.fd = -1};
	const struct worker_order order = {
		.kind = READ_FACTS,
		.fds = &entry->file.fd,
		.n_fds = 1,
		.cpu_ns = CPU_NS,
		.wall_ns = WALL_NS,
		.answer_max = ANSWER_MAX,
	};

	none.err = worker_start(files->worker, &order);
	files->asked = entry;
	files->asked_at = clock_now();
	if (none.err)
		take_facts(files, &none);
}

void files_turn(struct files *files)
{
	struct worker_answer answer;

	while (files->asked || files->reading.waiting) {
		if (!files->asked) {
			files_ask(files, (struct entry *)(void *)turns_take(&files->reading));
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
	while ((files->opening || files->twins.asked || files->asked || files->reading.waiting) &&
	       clock_now() < end) {
		worker_wait_any(20);
		opener_turn(files->opener);
		files_turn(files);
	}
}

/* --- mappings ----------------------------------------------------------------------------- */

/* NULL: left out, because too many came at once, or no memory. */
static struct entry *meet(struct files *files, const struct event_mmap *event, const char *path,
			  uint32_t user)
{
	struct module_place place = module_place_of(event, path);
	struct file_key key = file_key_of(event->major, event->minor, event->inode);
	struct entry *entry = file_table_find(&files->table, &key);

	place.user = user;
	if (entry && !has_changed(entry)) {
		file_table_use(&files->table, entry, user);
		return entry;
	}
	entry = files_add(files, &key, path, user);
	if (entry)
		open_file(files, entry, &place);
	else
		files->lost++;
	return entry;
}

uint32_t files_map(struct files *files, const struct event_mmap *event, const char *path,
		   uint32_t user)
{
	struct entry *entry = meet(files, event, path, user);

	if (!entry)
		return 0;
	file_debug_meet(entry, files->opener, &(struct opener_who){event->header.tid, user});
	if (entry->file.state != FILE_READING)
		pass_mapping(files, entry, event);
	else if (!quota_take(&entry->waiters, user, 1) ||
		 buffer_append(&entry->waiting, event, sizeof(*event)))
		files->lost++;
	return entry->file.id;
}

/* The kernel's path, which a mapping will have too. */
static struct entry *add_open(struct files *files, const struct file_key *key,
			      const struct stat *st, int fd, uint32_t user)
{
	const struct opener_file opened = {
		.device = st->st_dev,
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
	entry = files_add(files, key, path, user);
	fd = entry ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (fd >= 0)
		take_file(files, entry, fd, &opened);
	else if (entry)
		fail(files, entry, -EMFILE);
	return entry;
}

struct file *files_read(struct files *files, int fd, uint32_t user)
{
	struct entry *entry;
	struct stat st;
	struct file_key key;

	if (fstat(fd, &st))
		return NULL;
	key = file_key_of(major(st.st_dev), minor(st.st_dev), st.st_ino);
	entry = file_table_find(&files->table, &key);
	if (!entry || has_changed(entry))
		entry = add_open(files, &key, &st, fd, user);
	if (entry)
		file_table_use(&files->table, entry, user);
	if (entry)
		files_settle(files, WALL_NS);
	return entry ? &entry->file : NULL;
}

struct file *files_find(struct files *files, uint32_t major, uint32_t minor, uint64_t inode)
{
	struct file_key key = file_key_of(major, minor, inode);
	struct entry *entry = file_table_find(&files->table, &key);

	return entry ? &entry->file : NULL;
}

/* --- figures ------------------------------------------------------------------------------ */

struct file_table *files_table(struct files *files)
{
	return &files->table;
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

int files_open(struct files *files, uint32_t id, struct file_opened *out)
{
	return file_table_open(&files->table, id, out);
}

uint64_t files_pending(const struct files *files)
{
	uint64_t pending = UINT64_MAX;

	if (!files->unknown.used)
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
