// SPDX-License-Identifier: BSD-2-Clause
/* frame_names.c: writes the names of native and kernel frames into a profile. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "frame_names.h"

struct frame_names {
	struct profile_writer *writer;
	const struct modules *modules;
	struct symbols *symbols; /* made when they are first needed */
	pthread_t preparer;      /* has `symbols` for itself while it runs */
	bool preparing;
	uint64_t last;    /* frames up to this one have had their names written */
	uint64_t highest; /* of those visited in this call */
	int err;
};

int frame_names_create(struct profile_writer *writer, const struct modules *modules,
		       struct frame_names **out)
{
	struct frame_names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names->writer = writer;
	names->modules = modules;
	*out = names;
	return 0;
}

void frame_names_free(struct frame_names *names)
{
	if (!names)
		return;
	if (names->preparing)
		pthread_join(names->preparer, NULL);
	symbols_free(names->symbols);
	free(names);
}

/* How many functions of the frame are known, and these. */
static size_t find(struct frame_names *names, const struct record *definition,
		   struct symbol out[SYMBOLS_MAX])
{
	const struct module *module;

	if (definition->kind == RECORD_kernel_frame) {
		out[0] = (struct symbol){0};
		if (definition->kernel_frame.address)
			out[0] = symbols_kernel(names->symbols, definition->kernel_frame.address);
		return out[0].name != NULL;
	}
	module = modules_get(names->modules, definition->native_frame.module);
	if (!module)
		return 0;
	return symbols_native(names->symbols, module->path, module->build_id, module->build_id_size,
			      definition->native_frame.offset, out);
}

static uint64_t put_text(struct frame_names *names, const char *text)
{
	return text ? profile_writer_string(names->writer, text, strlen(text)) : 0;
}

static void name_frame(void *context, uint64_t frame, const struct record *definition)
{
	struct frame_names *names = context;
	struct symbol symbols[SYMBOLS_MAX];
	size_t n;

	if (frame > names->highest)
		names->highest = frame;
	if (frame <= names->last || names->err)
		return;
	n = find(names, definition, symbols);
	for (size_t i = 0; i < n && !names->err; i++) {
		struct record record = {.kind = RECORD_symbol};

		record.symbol.frame = frame;
		record.symbol.name = put_text(names, symbols[i].name);
		record.symbol.file = put_text(names, symbols[i].file);
		record.symbol.line = symbols[i].line;
		record.symbol.begin = symbols[i].begin;
		names->err = profile_writer_put(names->writer, &record);
	}
}

static int need_symbols(struct frame_names *names)
{
	if (names->preparing)
		pthread_join(names->preparer, NULL);
	names->preparing = false;
	return names->symbols ? 0 : symbols_create(&names->symbols);
}

static void *prepare(void *context)
{
	struct frame_names *names = context;

	symbols_kernel(names->symbols, 0);
	return NULL;
}

void frame_names_prepare(struct frame_names *names)
{
	if (!need_symbols(names))
		names->preparing = !pthread_create(&names->preparer, NULL, prepare, names);
}

int frame_names_write(struct frame_names *names)
{
	int err = need_symbols(names);

	if (err)
		return err;
	names->highest = names->last;
	names->err = 0;
	profile_writer_each_frame(names->writer, name_frame, names);
	names->last = names->highest;
	return names->err;
}
