// SPDX-License-Identifier: BSD-2-Clause
/* unwind_modules.c: unwind rows of files in the kernel. */
/*
 * Files with equal rows share them, such as the same library in several containers. The rows are
 * compared and build-ids ignored: any user can put a build-id into a file, and would spoil the
 * stacks of all users of the other file. Hashes of 128 bits from a random seed make collisions
 * negligible.
 *
 * The kernel has limited room for rows. Files that only processes of one user map, root's aside,
 * may take as much of it as they leave to others.
 */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../reader/reader.h"
#include "../../reader/worker.h"
#include "../../util/buffer.h"
#include "../../util/log.h"
#include "../../util/map.h"
#include "../../util/plural.h"
#include "../../util/priority.h"
#include "../../util/quota.h"
#include "../machine/clock.h"
#include "unwind_modules.h"

#define CPU_NS  UINT64_C(2000000000) /* to compile the rows of one file */
#define WALL_NS UINT64_C(6000000000)

#define FILES_MAX 4096 /* beyond that, unused ones are dropped sooner */

/* The result of reading a file. */
struct reading {
	uint32_t id;
	struct file_opened from;
	int err; /* why it has no rows */
	struct unwind_file *file;
	struct hotspot_layout hotspot;
	uint64_t cpu_ns;
};

struct unwind_modules {
	struct unwind_maps *maps; /* NULL: not connected yet */
	struct buffer expected;   /* struct reading[], until the maps are connected */
	struct files *files;
	atomic_bool abandoned;       /* set by another thread */
	struct worker *worker;       /* reads the files; only the unwinder's thread waits for it */
	pid_t hurried;               /* its first process; 0: none, or its priority was lowered */
	struct map *by_file;         /* id to struct unwind_module * */
	struct unwind_module *first; /* all of them */
	uint64_t refused;
	uint64_t seed[2];
};

int unwind_modules_create(struct unwind_maps *maps, struct files *files,
			  struct unwind_modules **out)
{
	struct unwind_modules *modules = calloc(1, sizeof(*modules));

	if (!modules)
		return -ENOMEM;
	modules->maps = maps;
	modules->files = files;
	modules->by_file = map_create(sizeof(uint32_t));
	if (!modules->by_file || worker_create(WORKER_READER, false, &modules->worker)) {
		map_free(modules->by_file);
		free(modules);
		return -ENOMEM;
	}
	modules->hurried = worker_hurry(modules->worker);
	/* If the machine has no randomness so early after boot, none is needed. */
	if (getrandom(modules->seed, sizeof(modules->seed), GRND_NONBLOCK) < 0)
		modules->seed[0] = (uintptr_t)modules;
	*out = modules;
	return 0;
}

static void reading_end(struct reading *reading)
{
	unwind_free(reading->file);
	if (reading->from.fd >= 0)
		close(reading->from.fd);
	free(reading->from.path);
}

void unwind_modules_free(struct unwind_modules *modules)
{
	struct unwind_module *module, *next;

	if (!modules)
		return;
	for (size_t i = 0; i < modules->expected.size / sizeof(struct reading); i++)
		reading_end((struct reading *)(void *)modules->expected.data + i);
	buffer_free(&modules->expected);
	for (module = modules->first; module; module = next) {
		next = module->next;
		free(module);
	}
	map_free(modules->by_file);
	worker_free(modules->worker);
	free(modules);
}

/* The share of the kernel's room that a user's files take. */
static double room_of(const struct unwind_modules *modules, uid_t user)
{
	double sum = 0;

	for (const struct unwind_module *module = modules->first; module; module = module->next)
		sum += module->user == user ? module->room : 0;
	return sum;
}

/* Puts the rows into the kernel; if there is no room, drops unused ones first. */
static int put_rows(struct unwind_modules *modules, const struct unwind_file *file,
		    struct unwind_module *module)
{
	double room, left;
	int err;

	if (unwind_maps_crowded(modules->maps, file))
		unwind_modules_sweep(modules, UINT64_MAX);
	room = unwind_maps_room(modules->maps);
	err = unwind_maps_add(modules->maps, file, &module->first);
	if (err == -ENOSPC) {
		unwind_modules_sweep(modules, UINT64_MAX);
		room = unwind_maps_room(modules->maps);
		err = unwind_maps_add(modules->maps, file, &module->first);
	}
	if (err)
		return err;
	left = unwind_maps_room(modules->maps);
	module->room = room - left;
	if (module->user && module->user != USER_SEVERAL &&
	    room_of(modules, module->user) + module->room > left) {
		unwind_maps_remove(modules->maps, module->first, file->n_pages);
		module->room = 0;
		return -EDQUOT;
	}
	module->count = (uint32_t)file->n_pages;
	module->base = file->base;
	module->n_segments = file->n_segments;
	memcpy(module->segments, file->segments, sizeof(module->segments));
	return 0;
}

/* The rows of an open file, compiled by the reader. */
static int read_rows(struct unwind_modules *modules, int fd, const char *path,
		     struct unwind_file **out, struct hotspot_layout *hotspot)
{
	const struct worker_order order = {
		.kind = READ_ROWS,
		.fds = &fd,
		.n_fds = 1,
		.cpu_ns = CPU_NS,
		.wall_ns = WALL_NS,
		.answer_max = ROWS_ANSWER_MAX,
	};
	struct worker_answer answer;
	enum worker_state state;
	int err = modules->abandoned ? -ECANCELED : worker_start(modules->worker, &order);

	if (err)
		return err;
	while ((state = worker_wait(modules->worker, &answer)) != WORKER_ANSWERED) {
		if (modules->abandoned)
			return -ECANCELED;
		if (state == WORKER_QUESTION) /* rows need no questions */
			worker_supply(modules->worker, "", 1, -1);
	}
	err = answer.err ? answer.err : rows_take(answer.data, answer.size, out, hotspot);
	if (err == -ETIME || err == -EPIPE || err == -EBADMSG || err == -E2BIG)
		log_warning("%s: stacks end in it early: %s", path,
			    err == -ETIME   ? "the reader took too long"
			    : err == -E2BIG ? "its frame information is too large"
					    : "the reader died of the file");
	return err;
}

/* Do both have the same rows, and a runtime's structures at the same places? A file could be
 * crafted to have another one's rows. */
static bool are_alike(const struct unwind_module *a, const struct unwind_module *b)
{
	return a->rows_hash[0] == b->rows_hash[0] && a->rows_hash[1] == b->rows_hash[1] &&
	       a->hotspot == b->hotspot;
}

/* An equal module, or NULL. */
static struct unwind_module *find_alike(const struct unwind_modules *modules,
					const struct unwind_module *wanted)
{
	struct unwind_module *module = modules->first;

	while (module && (!module->count || !are_alike(module, wanted)))
		module = module->next;
	return module;
}

/* Creates a module for a file; `err` says why it has no rows. */
static struct unwind_module *add_module(struct unwind_modules *modules, int err,
					const struct unwind_file *file,
					const struct unwind_module *wanted,
					const struct file_opened *from)
{
	struct unwind_module *module = malloc(sizeof(*module));

	if (!module)
		return NULL;
	*module = *wanted;
	module->user = from->payer;
	if (!err)
		err = put_rows(modules, file, module);
	modules->refused += err != 0;
	module->is_denied = err == -EDQUOT;
	if (module->is_denied)
		quota_refuse(module->user);
	if (err)
		log_verbose("%s: no unwind rows: %s", from->path,
			    err == -EDQUOT ? "its user's files have taken half of the room"
					   : strerror(-err));
	module->unused = clock_now();
	module->next = modules->first;
	modules->first = module;
	return module;
}

/* The module of a reading; a file without rows has one too. */
static struct unwind_module *unwind_modules_add(struct unwind_modules *modules,
						const struct reading *reading)
{
	struct unwind_module wanted = {0}, *known = NULL, *module;
	const struct unwind_file *file = reading->file;

	if (!reading->err) {
		unwind_rows_hash(file, modules->seed, wanted.rows_hash);
		wanted.hotspot =
			unwind_maps_hotspot(modules->maps, &reading->hotspot, reading->from.payer);
		known = find_alike(modules, &wanted);
	}
	module = known ? known : add_module(modules, reading->err, file, &wanted, &reading->from);
	if (module && module->count)
		log_verbose(
			"%s: %zu unwind row%s of %zu function%s (%zu KiB, %.1f ms of CPU time)%s",
			reading->from.path, file->n_rows, plural(file->n_rows, "[|s]").text,
			file->functions, plural(file->functions, "[|s]").text,
			file->n_rows * sizeof(unwind_row) / 1024, (double)reading->cpu_ns / 1e6,
			known ? ", as before" : "");
	return module;
}

/* All processes share the kernel's code page, including this one. Writes its image to a file. */
static int open_vdso(struct file_opened *out)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
	ElfW(Ehdr) header;
	size_t size;

	*out = (struct file_opened){.fd = image ? memfd_create("vdso", MFD_CLOEXEC) : -1,
				    .path = strdup("[vdso]")};
	if (out->fd < 0 || !out->path)
		return -ENOENT;
	/* The section headers are at its end. */
	memcpy(&header, image, sizeof(header));
	size = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
	return write(out->fd, image, size) == (ssize_t)size ? 0 : -EIO;
}

/* Opens and reads a file; a negative errno if it cannot be opened (yet). To be ended in any
 * case. */
static int read_file(struct unwind_modules *modules, uint32_t id, struct reading *out)
{
	uint64_t began = worker_cpu_ns(modules->worker);
	int err;

	*out = (struct reading){.id = id, .from.fd = -1};
	err = id == FILE_VDSO ? open_vdso(&out->from) : files_open(modules->files, id, &out->from);
	if (err)
		return err;
	out->err = read_rows(modules, out->from.fd, out->from.path, &out->file, &out->hotspot);
	out->cpu_ns = worker_cpu_ns(modules->worker) - began;
	return 0;
}

static struct unwind_module *add_as(struct unwind_modules *modules, const struct reading *reading)
{
	struct unwind_module *module = unwind_modules_add(modules, reading);
	/* Only now, because other files may have been dropped to make room. */
	uint64_t *slot = module ? map_put(modules->by_file, &reading->id, NULL) : NULL;

	if (slot)
		*slot = (uintptr_t)module;
	return slot ? module : NULL;
}

/* Was there no room for its first user, and others have it now, too? */
static bool is_others_now(const struct unwind_modules *modules, const struct unwind_module *module,
			  uint32_t id)
{
	struct file_opened now = {.fd = -1};
	bool is;

	if (!module->is_denied)
		return false;
	is = !files_open(modules->files, id, &now) && now.payer != module->user;
	if (now.fd >= 0)
		close(now.fd);
	free(now.path);
	return is;
}

struct unwind_module *unwind_modules_find(struct unwind_modules *modules, uint32_t id)
{
	struct unwind_module *module = NULL;
	uint64_t *slot = map_get(modules->by_file, &id);
	struct reading reading;

	if (slot)
		module = (struct unwind_module *)(uintptr_t)*slot;
	if (modules->abandoned || (module && !is_others_now(modules, module, id)))
		return module;
	if (!read_file(modules, id, &reading))
		module = add_as(modules, &reading);
	reading_end(&reading);
	return module;
}

void unwind_modules_expect(struct unwind_modules *modules, uint32_t id)
{
	struct reading reading;

	if (modules->maps) {
		unwind_modules_find(modules, id);
		return;
	}
	if (modules->abandoned)
		return;
	if (read_file(modules, id, &reading) ||
	    buffer_append(&modules->expected, &reading, sizeof(reading)))
		reading_end(&reading);
}

void unwind_modules_calm(struct unwind_modules *modules)
{
	if (modules->hurried > 0)
		(void)setpriority(PRIO_PROCESS, (id_t)modules->hurried, priority_usual());
	modules->hurried = 0;
}

void unwind_modules_connect(struct unwind_modules *modules, struct unwind_maps *maps)
{
	struct reading *all = (struct reading *)(void *)modules->expected.data;

	modules->maps = maps;
	for (size_t i = 0; i < modules->expected.size / sizeof(*all); i++) {
		if (!map_get(modules->by_file, &all[i].id))
			add_as(modules, &all[i]);
		reading_end(&all[i]);
	}
	modules->expected.size = 0;
}

void unwind_modules_abandon(struct unwind_modules *modules)
{
	modules->abandoned = true;
}

void unwind_module_hold(struct unwind_module *module)
{
	module->references++;
}

void unwind_module_release(struct unwind_module *module, uint64_t now)
{
	if (--module->references == 0)
		module->unused = now;
}

/* A map_keep: drops files whose module is being dropped. */
static bool is_kept(void *context, const void *key, uint64_t *value)
{
	(void)context;
	(void)key;
	return !((const struct unwind_module *)(uintptr_t)*value)->goes;
}

static size_t mark(struct unwind_modules *modules, uint64_t before)
{
	size_t count = 0;

	for (struct unwind_module *module = modules->first; module; module = module->next) {
		module->goes = !module->references && module->unused < before;
		count += module->goes;
	}
	return count;
}

void unwind_modules_sweep(struct unwind_modules *modules, uint64_t before)
{
	struct unwind_module **place = &modules->first, *module;

	if (!mark(modules, before))
		return;
	map_filter(modules->by_file, is_kept, NULL);
	while ((module = *place)) {
		if (!module->goes) {
			place = &module->next;
			continue;
		}
		*place = module->next;
		unwind_maps_remove(modules->maps, module->first, module->count);
		free(module);
	}
}

bool unwind_modules_crowded(const struct unwind_modules *modules)
{
	return map_count(modules->by_file) > FILES_MAX;
}

uint64_t unwind_modules_refused(const struct unwind_modules *modules)
{
	return modules->refused;
}
