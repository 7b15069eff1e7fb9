/* SPDX-License-Identifier: BSD-2-Clause */
/* tables.c: strings, functions, locations and mappings of a pprof profile. */
#include "../../util/path_base.h"
#include "pprof.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void pprof_put(struct pprof *pprof, const PprofProfile *profile)
{
	size_t size = perftools__profiles__profile__get_packed_size(profile);

	pprof->packed.size = 0;
	if (buffer_reserve(&pprof->packed, size + 1) < 0) {
		output_fail(pprof->job.output, -ENOMEM);
		return;
	}
	size = perftools__profiles__profile__pack(profile, (uint8_t *)pprof->packed.data);
	output_bytes(pprof->job.output, pprof->packed.data, size);
}

int64_t pprof_string(struct pprof *pprof, const char *text)
{
	PprofProfile profile = PERFTOOLS__PROFILES__PROFILE__INIT;
	char *texts[] = {(char *)(uintptr_t)text};
	bool added;
	uint64_t *index = map_put_string(pprof->strings, text, strlen(text), &added);

	if (!index) {
		output_fail(pprof->job.output, -ENOMEM);
		return 0;
	}
	if (added) {
		*index = pprof->n_strings++;
		profile.string_table = texts;
		profile.n_string_table = 1;
		pprof_put(pprof, &profile);
	}
	return (int64_t)*index;
}

static void put_function(struct pprof *pprof, uint64_t id, const struct model_function *row)
{
	PprofProfile profile = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Function function = PERFTOOLS__PROFILES__FUNCTION__INIT;
	Perftools__Profiles__Function *functions[] = {&function};

	function.id = id;
	function.name = function.system_name = pprof_string(pprof, row->name);
	function.filename = pprof_string(pprof, row->file ? row->file : "");
	if (row->line <= INT64_MAX)
		function.start_line = (int64_t)row->line;
	profile.function = functions;
	profile.n_function = 1;
	pprof_put(pprof, &profile);
}

static uint64_t mapping_of(const struct world *world, const struct frame *frame)
{
	if (frame->runtime == RUNTIME_KERNEL)
		return world->tree.modules.limit + 1;
	return frame->runtime == RUNTIME_NATIVE ? frame->module : 0;
}

static void put_location(struct pprof *pprof, const struct world *world, uint64_t id)
{
	const struct frame *frame = tree_frame(&world->tree, id);
	PprofProfile profile = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Location location = PERFTOOLS__PROFILES__LOCATION__INIT;
	Perftools__Profiles__Location *locations[] = {&location};
	Perftools__Profiles__Line lines[FRAME_FUNCTIONS_MAX], *line_list[FRAME_FUNCTIONS_MAX];
	uint32_t first, count = frame_functions(frame, &first), symbol = frame->first_symbol;

	for (uint32_t skip = frame->n_functions - count; skip && symbol; skip--)
		symbol = world->tree.symbols[symbol].next;
	for (uint32_t i = 0; i < count; i++) {
		Perftools__Profiles__Line *line = &lines[i];
		uint64_t number = symbol ? world->tree.symbols[symbol].line : frame->line;

		perftools__profiles__line__init(line);
		line->function_id = world->functions.of_frames[first + i] + UINT64_C(1);
		line->line = number <= INT64_MAX ? (int64_t)number : 0;
		line_list[count - 1 - i] = line;
		symbol = symbol ? world->tree.symbols[symbol].next : 0;
	}
	location.id = id;
	location.mapping_id = mapping_of(world, frame);
	location.address = frame->runtime == RUNTIME_MANAGED ? 0 : frame->address;
	location.line = line_list;
	location.n_line = count;
	profile.location = locations;
	profile.n_location = 1;
	pprof_put(pprof, &profile);
}

static void put_mapping(struct pprof *pprof, uint64_t id, const char *path, const char *build_id)
{
	PprofProfile profile = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Mapping mapping = PERFTOOLS__PROFILES__MAPPING__INIT;
	Perftools__Profiles__Mapping *mappings[] = {&mapping};

	/* Addresses are file offsets. */
	mapping.id = id;
	mapping.memory_limit = UINT64_MAX;
	mapping.filename = pprof_string(pprof, path);
	mapping.build_id = pprof_string(pprof, build_id);
	mapping.has_functions = true;
	mapping.has_inline_frames = true;
	profile.mapping = mappings;
	profile.n_mapping = 1;
	pprof_put(pprof, &profile);
}

static void put_module(struct pprof *pprof, uint64_t id, const struct module *module)
{
	char text[2 * 64 + 1] = "";

	for (size_t i = 0; i < module->build_id_size && i < 64; i++)
		snprintf(text + 2 * i, 3, "%02x", module->build_id[i]);
	put_mapping(pprof, id, module->path ? module->path : "", text);
}

/* pprof takes the first mapping for the main program. */
static uint64_t main_module(const struct world *world)
{
	const struct model_run *run = &world->model->run;
	const char *name = run->n_command ? path_base(run->command[0]) : "";

	for (uint64_t id = 1; id < world->tree.modules.limit; id++) {
		const struct module *module = dense_get(&world->tree.modules, id);

		if (module->defined && module->base && strcmp(module->base, name) == 0)
			return id;
	}
	return 0;
}

void pprof_put_tables(struct pprof *pprof, const struct world *world)
{
	const struct dense *modules = &world->tree.modules;
	uint64_t main = main_module(world);

	if (main)
		put_module(pprof, main, dense_get(modules, main));
	for (uint64_t id = 1; id < modules->limit; id++)
		if (id != main)
			put_module(pprof, id, dense_get(modules, id));
	put_mapping(pprof, modules->limit + 1, "[kernel]", "");
	for (size_t i = 0; i < world->functions.n_rows; i++)
		put_function(pprof, i + 1, &world->functions.rows[i]);
	for (uint64_t id = 1; id < world->tree.frames.limit; id++)
		if (tree_frame(&world->tree, id))
			put_location(pprof, world, id);
}
