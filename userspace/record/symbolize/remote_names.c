// SPDX-License-Identifier: BSD-2-Clause
/* remote_names.c: requests names that are in the memory of processes as soon as they are met, and
 * keeps them. */
#include "frame_names.h"
#include "frame_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../bpf/frame_place.h"
#include "../../util/buffer.h"
#include "../../util/map.h"
#include "../../util/path_base.h"
#include "../../util/quota.h"
#include "../machine/clock.h"
#include "../../runtimes/name_reader.h"
#include "../../runtimes/runtime.h"

#define PROCESSES_MAX 256                /* whose memory is kept open */
#define NAMES_MAX     ((size_t)64 << 20) /* bytes of all names; beyond that none are requested */
#define KNOWN_BYTES   ((size_t)256) /* of a frame's names, until they are known: most are shorter */

/* A process whose functions have their names in its memory. */
struct program {
	struct remote_names *remote;
	uint64_t process;
	uint32_t owner; /* user for whom it counts */
	int memory;     /* socket; -1: not opened, or handed over */
	uid_t user;     /* who started it */
	bool is_opening;
	bool is_opened; /* opening `memory` was tried */
	bool is_asked;  /* the symbolizer has it */
	const struct name_reader *reader;
	uint32_t requests;
	uint64_t asked,
		spent; /* time of the last request, and what readers had taken until then, ns */
	struct event_mmap mapping;
	struct buffer frames; /* struct symbol_frame[] to be requested */
};

/* The names of a frame. */
struct known {
	size_t size; /* bytes that count for the user */
	size_t n;
	struct symbol symbols[];
};

struct remote_names {
	struct files *files;
	struct map *programs; /* process to struct program * */
	struct map *known;    /* process and place to struct known *; 0: requested */
	struct quota room;    /* of programs */
	struct quota bytes;
	bool ended; /* a process ended since `known` was last cleaned up */
};

int remote_names_create(struct files *files, struct remote_names **out)
{
	struct remote_names *remote = calloc(1, sizeof(*remote));

	if (!remote)
		return -ENOMEM;
	remote->files = files;
	remote->room.most = PROCESSES_MAX;
	remote->bytes.most = NAMES_MAX;
	remote->programs = map_create(sizeof(uint64_t));
	remote->known = map_create(2 * sizeof(uint64_t));
	if (!remote->programs || !remote->known) {
		remote_names_free(remote);
		return -ENOMEM;
	}
	*out = remote;
	return 0;
}

static void program_free(void *value)
{
	struct program *program = value;

	opener_cancel(files_opener(program->remote->files), program);
	if (program->memory >= 0)
		close(program->memory);
	buffer_free(&program->frames);
	free(program);
}

void remote_names_free(struct remote_names *remote)
{
	if (!remote)
		return;
	map_free_all(remote->programs, program_free);
	map_free_all(remote->known, free);
	quota_free(&remote->room);
	quota_free(&remote->bytes);
	free(remote);
}

const struct name_reader *remote_names_reader(const char *path)
{
	const char *base = path_base(path);

	for (uint32_t i = 0; i < RUNTIMES; i++) {
		const struct runtime *runtime = runtime_get(i);
		const struct name_reader *reader = runtime ? runtime->name_reader : NULL;

		if (reader && !strncmp(base, reader->library, strlen(reader->library)))
			return reader;
	}
	return NULL;
}

/* --- processes ------------------------------------------------------------------------------ */

static struct program *find(const struct remote_names *remote, uint64_t process)
{
	const uint64_t *slot = map_get(remote->programs, &process);

	return slot ? (struct program *)(uintptr_t)*slot : NULL;
}

static void remote_names_forget(struct remote_names *remote, uint64_t process)
{
	struct program *program = find(remote, process);

	if (!program)
		return;
	map_remove(remote->programs, &process);
	quota_return(&remote->room, program->owner, 1);
	program_free(program);
	remote->ended = true;
}

static void space_opened(void *context, const struct opener_result *result)
{
	struct program *program = context;

	program->memory = result->fd;
	program->user = result->file.uid;
	program->is_opened = true;
}

static void open_memory(struct program *program)
{
	const struct event_mmap *event = &program->mapping;
	const struct opener_space space = {.pid = event->header.tid,
					   .mapping = opener_mapping_of(event)};

	program->is_opening = true;
	(void)opener_space(files_opener(program->remote->files), &space, space_opened, program);
}

/* NULL: no memory, or too many processes of that user. */
static struct program *add(struct remote_names *remote, uint64_t process,
			   const struct event_mmap *event, uint32_t user)
{
	struct program *program;
	uint64_t *slot;

	if (!quota_take(&remote->room, user, 1))
		return NULL;
	program = calloc(1, sizeof(*program));
	slot = program ? map_put(remote->programs, &process, NULL) : NULL;
	if (!slot) {
		quota_return(&remote->room, user, 1);
		free(program);
		return NULL;
	}
	*slot = (uintptr_t)program;
	program->remote = remote;
	program->owner = user;
	program->process = process;
	program->memory = -1;
	program->mapping = *event;
	return program;
}

void remote_names_map(struct remote_names *remote, uint64_t process, const struct event_mmap *event,
		      const struct name_reader *reader, uint32_t user)
{
	struct program *program;

	/* The mapping belongs to a program that the process executed later. */
	remote_names_forget(remote, process);
	program = add(remote, process, event, user);
	if (!program)
		return;
	program->reader = reader;
	open_memory(program);
}

void remote_names_fork(struct remote_names *remote, uint64_t parent, uint64_t child,
		       const struct remote_process *ids)
{
	const struct program *of = find(remote, parent);
	struct event_mmap event;
	struct program *program;

	if (!of || find(remote, child))
		return;
	event = of->mapping;
	event.header.pid = ids->pid;
	event.header.tid = ids->proc_pid;
	program = add(remote, child, &event, ids->user);
	if (program)
		program->reader = of->reader;
}

void remote_names_end(struct remote_names *remote, struct symbolizer *symbolizer, uint64_t process)
{
	remote_names_forget(remote, process);
	if (symbolizer)
		symbolizer_end(symbolizer, SYMBOL_REMOTE, process);
}

/* A map_keep: drops the names of ended processes. */
static bool is_kept(void *context, const void *key, uint64_t *value)
{
	const struct known *known = (const struct known *)(uintptr_t)*value;
	struct remote_names *remote = context;
	const struct program *program;
	uint64_t process;

	memcpy(&process, key, sizeof(process));
	program = find(remote, process);
	if (program &&
	    !quota_add(&remote->bytes, program->owner, known ? known->size : KNOWN_BYTES))
		return true;
	free((void *)(uintptr_t)*value);
	return false;
}

/* Is there room for so many bytes more of names of this user's programs? */
static bool has_room(struct remote_names *remote, uint32_t user, size_t size)
{
	if (!quota_allow(&remote->bytes, user, size) && remote->ended) {
		remote->ended = false;
		quota_clear(&remote->bytes);
		map_filter(remote->known, is_kept, remote);
	}
	return quota_allow(&remote->bytes, user, size);
}

/* --- frames --------------------------------------------------------------------------------- */

int remote_names_meet(struct remote_names *remote, uint64_t process, uint64_t place)
{
	struct program *program = find(remote, process);
	struct symbol_frame frame = {.space = SYMBOL_REMOTE, .owner = process, .place = place};
	const uint64_t key[2] = {process, place};
	bool added = false;

	if (!program || !has_room(remote, program->owner, KNOWN_BYTES))
		return 0;
	frame.user = program->owner;
	if (!map_put(remote->known, key, &added) ||
	    (added && buffer_append(&program->frames, &frame, sizeof(frame))))
		return -ENOMEM;
	if (added)
		(void)quota_add(&remote->bytes, program->owner, KNOWN_BYTES);
	/* Most forked processes soon execute another program. */
	if (!program->is_opening)
		open_memory(program);
	return 0;
}

/* Hands the process over to the symbolizer, once everything is there; false: not yet. */
static bool hand_over(struct program *program, struct symbolizer *symbolizer, int *err)
{
	const struct event_mmap *mapping = &program->mapping;
	const struct file *file =
		files_find(program->remote->files, mapping->major, mapping->minor, mapping->inode);
	struct symbol_remote space = {.process = program->process,
				      .pid = program->mapping.header.pid,
				      .memory = program->memory,
				      .user = program->user,
				      .start = mapping->address,
				      .offset = mapping->offset};

	if (program->is_asked)
		return true;
	if (!program->is_opened || !file || file->fd < 0)
		return false;
	space.library = dup(file->fd);
	program->memory = -1;
	program->is_asked = true;
	*err = symbolizer_add_remote(symbolizer, &space);
	return true;
}

/* Did readers rest long enough since the last request? The first ones find the most, and follow
 * soon.
 */
static bool may_ask(const struct program *program, const struct symbolizer *symbolizer)
{
	uint64_t rests = program->requests < program->reader->rests ? program->requests
								    : program->reader->rests;

	return clock_now() - program->asked >=
	       rests * (symbolizer_spent(symbolizer, SYMBOL_REMOTE) - program->spent);
}

static int ask(struct program *program, struct symbolizer *symbolizer)
{
	const struct symbol_frame *frames = (const void *)program->frames.data;
	int err = 0;

	if (!program->frames.size || !hand_over(program, symbolizer, &err))
		return 0;
	program->requests++;
	program->asked = clock_now();
	program->spent = symbolizer_spent(symbolizer, SYMBOL_REMOTE);
	for (size_t i = 0; i < program->frames.size / sizeof(*frames) && !err; i++)
		err = symbolizer_ask(symbolizer, &frames[i], NULL);
	buffer_free(&program->frames);
	return err;
}

int remote_names_ask(struct remote_names *remote, struct symbolizer *symbolizer, bool last)
{
	size_t cursor = 0;
	const void *key;
	uint64_t *value;
	int err = 0;

	while (!err && map_next(remote->programs, &cursor, &key, &value)) {
		struct program *program = (struct program *)(uintptr_t)*value;

		if (last || may_ask(program, symbolizer))
			err = ask(program, symbolizer);
	}
	return err;
}

/* --- names ---------------------------------------------------------------------------------- */

static size_t text_size(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

static const char *copy_text(char **at, const char *text)
{
	const char *copy = *at;

	if (!text)
		return NULL;
	memcpy(*at, text, text_size(text));
	*at += text_size(text);
	return copy;
}

/* Shall the frame be asked for once more? Its function may have moved meanwhile. */
static bool is_tried_again(const struct program *program, const struct symbol_frame *frame)
{
	return program && frame->time < program->reader->retries;
}

static size_t size_of(const struct symbol *symbols, size_t n)
{
	size_t size = sizeof(struct known) + n * sizeof(*symbols);

	for (size_t i = 0; i < n; i++)
		size += text_size(symbols[i].name) + text_size(symbols[i].file);
	return size;
}

/* Keeps the names of a frame that was requested. */
static int keep(uint64_t *slot, size_t counted, const struct symbol *symbols, size_t n)
{
	struct known *known = malloc(size_of(symbols, n));
	char *text;

	if (!known)
		return -ENOMEM;
	known->size = counted;
	known->n = n;
	text = (char *)&known->symbols[n];
	for (size_t i = 0; i < n; i++) {
		known->symbols[i] = symbols[i];
		known->symbols[i].name = copy_text(&text, symbols[i].name);
		known->symbols[i].file = copy_text(&text, symbols[i].file);
	}
	*slot = (uintptr_t)known;
	return 0;
}

int remote_names_answer(struct remote_names *remote, const struct symbol_frame *frame,
			const struct symbol *symbols, size_t n)
{
	struct program *program = n ? NULL : find(remote, frame->owner);
	struct symbol_frame again = *frame;
	const uint64_t key[2] = {frame->owner, frame->place};
	const uint32_t user = (uint32_t)frame->user;
	size_t size = size_of(symbols, n), more = size > KNOWN_BYTES ? size - KNOWN_BYTES : 0;
	uint64_t *slot;

	again.time++;
	if (is_tried_again(program, frame))
		return buffer_append(&program->frames, &again, sizeof(again));
	(void)has_room(remote, user, more);
	slot = map_get(remote->known, key);
	if (!slot || *slot)
		return 0;
	/* Programs choose the length of their names. */
	if (more && !quota_take(&remote->bytes, user, more))
		more = n = 0;
	return keep(slot, KNOWN_BYTES + more, symbols, n);
}

enum remote_state remote_names_find(const struct remote_names *remote, uint64_t process,
				    uint64_t place, const struct symbol **symbols, size_t *n)
{
	const uint64_t key[2] = {process, place};
	const uint64_t *slot = map_get(remote->known, key);
	const struct known *known;

	if (!slot || !*slot)
		return slot ? REMOTE_WAITS : REMOTE_UNKNOWN;
	known = (const struct known *)(uintptr_t)*slot;
	*symbols = known->symbols;
	*n = known->n;
	return REMOTE_NAMED;
}
