/* SPDX-License-Identifier: BSD-2-Clause */
/* symbolize.c: names frames that a recorder could not name because it was killed. */
#include "functions.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "../symbols/symbols.h"
#include "pass.h"

static bool is_this_machine(const struct model_run *run)
{
	struct utsname system;

	return uname(&system) == 0 && run->host && strcmp(run->host, system.nodename) == 0;
}

/* How many functions of the frame are known, and these. */
static size_t look_up(const struct pass *pass, struct symbols *symbols, const struct frame *frame,
		      struct symbol out[SYMBOLS_MAX])
{
	const struct module *module = dense_get(&pass->tree.modules, frame->module);

	/* Without a build-id nobody knows whether it is still the same file. */
	if (!module || !module->path || *module->path != '/' || !module->build_id_size)
		return 0;
	return symbols_native(symbols, module->path, module->build_id, module->build_id_size,
			      frame->address, out);
}

static int add_names(struct tree *tree, struct frame *frame, const struct symbol *symbols, size_t n)
{
	int error = 0;

	for (size_t i = 0; i < n && !error; i++) {
		struct symbol_name name = {.name = symbols[i].name,
					   .file = symbols[i].file,
					   .line = symbols[i].line,
					   .begin = symbols[i].begin};

		if (name.name && *name.name)
			error = tree_add_symbol(tree, frame, &name);
	}
	return error;
}

int symbolize_missing(struct pass *pass)
{
	struct tree *tree = &pass->tree;
	struct symbols *symbols = NULL;
	int error = 0;

	/* A recorder that came to its end has named what can be named. */
	if (pass->model->state == PROFILE_COMPLETE || pass->model->state == PROFILE_LARGE ||
	    !is_this_machine(&pass->model->run))
		return 0;
	error = symbols_create(NULL, &symbols);
	for (uint64_t id = 1; id < tree->frames.limit && !error; id++) {
		struct frame *frame = tree_frame(tree, id);
		struct symbol found[SYMBOLS_MAX];
		size_t n;

		if (!frame || frame->first_symbol || frame->runtime != RUNTIME_NATIVE)
			continue;
		n = look_up(pass, symbols, frame, found);
		error = add_names(tree, frame, found, n);
	}
	symbols_free(symbols);
	return error;
}
