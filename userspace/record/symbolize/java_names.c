// SPDX-License-Identifier: BSD-2-Clause
/* java_names.c: requests the names of Java frames as soon as they are found, and keeps them. */
#include "frame_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../bpf/hotspot.h"
#include "../../util/buffer.h"
#include "../../util/map.h"
#include "../../util/path_base.h"
#include "../../util/quota.h"

#define PROCESSES_MAX 256                /* whose memory is kept open */
#define NAMES_MAX     ((size_t)64 << 20) /* bytes of all names; beyond that none are requested */
#define KNOWN_BYTES   ((size_t)256)      /* upper bound for the average size of a frame's names */

/* A process with a Java virtual machine. */
struct machine {
	struct java_names *java;
	uint64_t process;
	uint32_t owner; /* user for whom it counts */
	int memory;     /* socket; -1: not opened, or handed over */
	uid_t user;     /* who started it */
	bool is_opened; /* opening `memory` was tried */
	bool is_asked;  /* the symbolizer has it */
	struct event_mmap mapping;
	struct buffer frames; /* struct symbol_frame[] to be requested */
};

/* The names of a frame. */
struct known {
	size_t n;
	struct symbol symbols[];
};

struct java_names {
	struct files *files;
	struct map *machines; /* process to struct machine * */
	struct map *known;    /* process and place to struct known *; 0: requested */
	struct quota room;    /* of machines */
	struct quota bytes;
	bool ended; /* a process ended since `known` was last cleaned up */
};

int java_names_create(struct files *files, struct java_names **out)
{
	struct java_names *java = calloc(1, sizeof(*java));

	if (!java)
		return -ENOMEM;
	java->files = files;
	java->room.most = PROCESSES_MAX;
	java->bytes.most = NAMES_MAX;
	java->machines = map_create(sizeof(uint64_t));
	java->known = map_create(2 * sizeof(uint64_t));
	if (!java->machines || !java->known) {
		java_names_free(java);
		return -ENOMEM;
	}
	*out = java;
	return 0;
}

static void machine_free(void *value)
{
	struct machine *machine = value;

	opener_cancel(files_opener(machine->java->files), machine);
	if (machine->memory >= 0)
		close(machine->memory);
	buffer_free(&machine->frames);
	free(machine);
}

void java_names_free(struct java_names *java)
{
	if (!java)
		return;
	map_free_all(java->machines, machine_free);
	map_free_all(java->known, free);
	quota_free(&java->room);
	quota_free(&java->bytes);
	free(java);
}

bool java_names_is_library(const char *path)
{
	return strcmp(path_base(path), "libjvm.so") == 0;
}

/* --- processes ------------------------------------------------------------------------------ */

static struct machine *find(const struct java_names *java, uint64_t process)
{
	const uint64_t *slot = map_get(java->machines, &process);

	return slot ? (struct machine *)(uintptr_t)*slot : NULL;
}

static void java_names_forget(struct java_names *java, uint64_t process)
{
	struct machine *machine = find(java, process);

	if (!machine)
		return;
	map_remove(java->machines, &process);
	quota_return(&java->room, machine->owner, 1);
	machine_free(machine);
	java->ended = true;
}

static void space_opened(void *context, const struct opener_result *result)
{
	struct machine *machine = context;

	machine->memory = result->fd;
	machine->user = result->file.uid;
	machine->is_opened = true;
}

int java_names_map(struct java_names *java, uint64_t process, const struct event_mmap *event,
		   uint32_t user)
{
	const struct opener_space space = {.pid = event->header.tid,
					   .mapping = opener_mapping_of(event)};
	struct machine *machine;
	uint64_t *slot;

	/* The mapping belongs to a program that the process executed later. */
	java_names_forget(java, process);
	if (!quota_take(&java->room, user, 1))
		return 0;
	machine = calloc(1, sizeof(*machine));
	slot = machine ? map_put(java->machines, &process, NULL) : NULL;
	if (!slot) {
		quota_return(&java->room, user, 1);
		free(machine);
		return -ENOMEM;
	}
	*slot = (uintptr_t)machine;
	machine->java = java;
	machine->owner = user;
	machine->process = process;
	machine->memory = -1;
	machine->mapping = *event;
	(void)opener_space(files_opener(java->files), &space, space_opened, machine);
	return 0;
}

void java_names_end(struct java_names *java, struct symbolizer *symbolizer, uint64_t process)
{
	java_names_forget(java, process);
	if (symbolizer)
		symbolizer_end(symbolizer, SYMBOL_JAVA, process);
}

/* A map_keep: drops the names of ended processes. */
static bool is_kept(void *context, const void *key, uint64_t *value)
{
	struct java_names *java = context;
	const struct machine *machine;
	uint64_t process;

	memcpy(&process, key, sizeof(process));
	machine = find(java, process);
	if (machine && !quota_add(&java->bytes, machine->owner, KNOWN_BYTES))
		return true;
	free((void *)(uintptr_t)*value);
	return false;
}

/* Is there room for more names of this user's programs? */
static bool has_room(struct java_names *java, uint32_t user)
{
	if (!quota_allow(&java->bytes, user, KNOWN_BYTES) && java->ended) {
		java->ended = false;
		quota_clear(&java->bytes);
		map_filter(java->known, is_kept, java);
	}
	return quota_allow(&java->bytes, user, KNOWN_BYTES);
}

/* --- frames --------------------------------------------------------------------------------- */

/* As the frame will be stored: see add_address() in store/stacks.c. */
static uint64_t place_of(const struct event_native *frame, size_t depth)
{
	return frame->ip >= HOTSPOT_INTERPRETED || !depth ? frame->ip : frame->ip - 1;
}

int java_names_meet(struct java_names *java, uint64_t process, const struct event_native *frames,
		    size_t n)
{
	struct machine *machine = find(java, process);

	for (size_t i = 0; machine && i < n && has_room(java, machine->owner); i++) {
		struct symbol_frame frame = {
			.space = SYMBOL_JAVA, .owner = process, .user = machine->owner};
		uint64_t key[2] = {process, place_of(&frames[i], i)};
		bool added = false;

		if (!hotspot_is_frame(frames[i].ip))
			continue;
		frame.place = key[1];
		if (!map_put(java->known, key, &added) ||
		    (added && buffer_append(&machine->frames, &frame, sizeof(frame))))
			return -ENOMEM;
		if (added)
			(void)quota_add(&java->bytes, machine->owner, KNOWN_BYTES);
	}
	return 0;
}

/* Hands the process over to the symbolizer, once everything is there; false: not yet. */
static bool hand_over(struct machine *machine, struct symbolizer *symbolizer, int *err)
{
	const struct event_mmap *mapping = &machine->mapping;
	const struct file *file =
		files_find(machine->java->files, mapping->major, mapping->minor, mapping->inode);
	struct symbol_java java = {.process = machine->process,
				   .pid = machine->mapping.header.pid,
				   .memory = machine->memory,
				   .user = machine->user,
				   .start = mapping->address,
				   .offset = mapping->offset};

	if (machine->is_asked)
		return true;
	if (!machine->is_opened || !file || file->fd < 0)
		return false;
	java.library = dup(file->fd);
	machine->memory = -1;
	machine->is_asked = true;
	*err = symbolizer_add_java(symbolizer, &java);
	return true;
}

static int ask(struct machine *machine, struct symbolizer *symbolizer)
{
	const struct symbol_frame *frames = (const void *)machine->frames.data;
	int err = 0;

	if (!machine->frames.size || !hand_over(machine, symbolizer, &err))
		return 0;
	for (size_t i = 0; i < machine->frames.size / sizeof(*frames) && !err; i++)
		err = symbolizer_ask(symbolizer, &frames[i], NULL);
	buffer_free(&machine->frames);
	return err;
}

int java_names_ask(struct java_names *java, struct symbolizer *symbolizer)
{
	size_t cursor = 0;
	const void *key;
	uint64_t *value;
	int err = 0;

	while (!err && map_next(java->machines, &cursor, &key, &value))
		err = ask((struct machine *)(uintptr_t)*value, symbolizer);
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

int java_names_answer(struct java_names *java, const struct symbol_frame *frame,
		      const struct symbol *symbols, size_t n)
{
	const uint64_t key[2] = {frame->owner, frame->place};
	uint64_t *slot = map_get(java->known, key);
	size_t size = sizeof(struct known) + n * sizeof(*symbols);
	struct known *known;
	char *text;

	for (size_t i = 0; i < n; i++)
		size += text_size(symbols[i].name) + text_size(symbols[i].file);
	known = slot && !*slot ? malloc(size) : NULL;
	if (!known)
		return slot && !*slot ? -ENOMEM : 0;
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

enum java_state java_names_find(const struct java_names *java, uint64_t process, uint64_t place,
				const struct symbol **symbols, size_t *n)
{
	const uint64_t key[2] = {process, place};
	const uint64_t *slot = map_get(java->known, key);
	const struct known *known;

	if (!slot || !*slot)
		return slot ? JAVA_WAITS : JAVA_UNKNOWN;
	known = (const struct known *)(uintptr_t)*slot;
	*symbols = known->symbols;
	*n = known->n;
	return JAVA_NAMED;
}
