/* SPDX-License-Identifier: BSD-2-Clause */
/* stacks.c: functions, frames and stacks, defined before their first use. */
/*
 * The id of each is its row number plus 1. Functions are rows of world->functions.rows,
 * frames (one for each inlined function) of .of_frames. A stack has the number of its node.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../model/world/allocating.h"
#include "../path.h"
#include "perfetto.h"

typedef Perfetto__Protos__InternedData Interned;

static void put(struct perfetto *perfetto, Interned *data)
{
	PerfettoPacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	packet.interned_data = data;
	perfetto_put(perfetto, &packet, SEQUENCE_SAMPLES, 0);
}

static Perfetto__Protos__InternedString string(uint64_t iid, const void *data, size_t size)
{
	Perfetto__Protos__InternedString string = PERFETTO__PROTOS__INTERNED_STRING__INIT;

	string.has_iid = string.has_str = true;
	string.iid = iid;
	string.str.data = (uint8_t *)(uintptr_t)data;
	string.str.len = size;
	return string;
}

static void put_functions(struct perfetto *perfetto)
{
	const struct functions *functions = &perfetto->world->functions;

	for (size_t i = 0; i < functions->n_rows; i++) {
		Perfetto__Protos__InternedString name = string(i + 1, functions->rows[i].name,
							       strlen(functions->rows[i].name)),
						 *list[] = {&name};
		Interned data = PERFETTO__PROTOS__INTERNED_DATA__INIT;

		data.function_names = list;
		data.n_function_names = 1;
		put(perfetto, &data);
	}
}

static void put_mapping(struct perfetto *perfetto, uint64_t id, const char *path,
			const void *id_data, size_t id_size)
{
	Perfetto__Protos__InternedString name = string(id, path, strlen(path)),
					 build_id = string(id, id_data, id_size),
					 *names[] = {&name}, *build_ids[] = {&build_id};
	Perfetto__Protos__Mapping mapping = PERFETTO__PROTOS__MAPPING__INIT,
				  *mappings[] = {&mapping};
	Interned data = PERFETTO__PROTOS__INTERNED_DATA__INIT;

	mapping.has_iid = mapping.has_build_id = true;
	mapping.iid = mapping.build_id = id;
	mapping.path_string_ids = &id;
	mapping.n_path_string_ids = 1;
	data.mapping_paths = names;
	data.build_ids = build_ids;
	data.mappings = mappings;
	data.n_mapping_paths = data.n_build_ids = data.n_mappings = 1;
	put(perfetto, &data);
}

/* Perfetto drops every stack that has a frame without a file. */
static const char *const no_files[] = {[RUNTIME_NATIVE] = "[no file]",
				       [RUNTIME_MANAGED] = "[managed]",
				       [RUNTIME_KERNEL] = "[kernel]"};

static uint64_t mapping_of(const struct perfetto *perfetto, const struct frame *frame)
{
	if (frame->runtime == RUNTIME_NATIVE && frame->module)
		return frame->module;
	return perfetto->world->tree.modules.limit + (uint64_t)frame->runtime;
}

static void put_mappings(struct perfetto *perfetto)
{
	const struct dense *modules = &perfetto->world->tree.modules;

	for (uint64_t id = 1; id < modules->limit; id++) {
		const struct module *module = dense_get(modules, id);

		put_mapping(perfetto, id, module->path ? module->path : "", module->build_id,
			    module->build_id_size);
	}
	for (uint64_t i = RUNTIME_NATIVE; i <= RUNTIME_KERNEL; i++)
		put_mapping(perfetto, modules->limit + i, no_files[i], NULL, 0);
}

static void put_frame(struct perfetto *perfetto, const struct frame *frame, uint32_t index)
{
	Perfetto__Protos__Frame row = PERFETTO__PROTOS__FRAME__INIT, *list[] = {&row};
	Interned data = PERFETTO__PROTOS__INTERNED_DATA__INIT;

	row.has_iid = row.has_function_name_id = row.has_mapping_id = row.has_rel_pc = true;
	row.iid = index + UINT64_C(1);
	row.function_name_id = perfetto->world->functions.of_frames[index] + UINT64_C(1);
	row.mapping_id = mapping_of(perfetto, frame);
	row.rel_pc = frame->address;
	data.frames = list;
	data.n_frames = 1;
	put(perfetto, &data);
}

static void put_frames(struct perfetto *perfetto)
{
	const struct tree *tree = &perfetto->world->tree;

	for (uint64_t id = 1; id < tree->frames.limit; id++) {
		const struct frame *frame = tree_frame(tree, id);

		for (uint32_t i = 0; frame && i < frame->n_functions; i++)
			put_frame(perfetto, frame, frame->first_function + i);
	}
}

/* The frames of a stack, bounded, outermost first. */
static void put_stack(struct perfetto *perfetto, uint32_t stack, uint64_t *ids)
{
	const struct tree *tree = &perfetto->world->tree;
	Perfetto__Protos__Callstack row = PERFETTO__PROTOS__CALLSTACK__INIT, *list[] = {&row};
	Interned data = PERFETTO__PROTOS__INTERNED_DATA__INIT;
	size_t used = PATH_FUNCTIONS_MAX;

	for (const struct stack *node = tree_node(tree, stack); node;
	     node = tree_node(tree, node->parent)) {
		uint32_t first, count = frame_functions(tree_frame(tree, node->frame), &first);

		for (uint32_t i = count; i-- && used;)
			ids[--used] = first + i + UINT64_C(1);
	}
	row.has_iid = true;
	row.iid = stack;
	row.frame_ids = ids + used;
	row.n_frame_ids = PATH_FUNCTIONS_MAX - used;
	data.callstacks = list;
	data.n_callstacks = 1;
	put(perfetto, &data);
}

/* Marks stacks of events, and the same stacks without the allocator's frames. */
static int mark_used(const struct world *world, unsigned char *used)
{
	const struct tree *tree = &world->tree;

	for (size_t i = 1; i < tree->n_costs; i++) {
		uint32_t stack = tree->costs[i].stack;

		used[stack] = 1;
		used[allocating_stack(&world->tree, stack)] = 1;
	}
	return 0;
}

void perfetto_put_stacks(struct perfetto *perfetto)
{
	const struct tree *tree = &perfetto->world->tree;
	unsigned char *used = calloc(tree->nodes.limit + 1, 1);
	uint64_t *ids = calloc(PATH_FUNCTIONS_MAX, sizeof(*ids));

	if (!used || !ids) {
		perfetto->error = -ENOMEM;
		goto out;
	}
	mark_used(perfetto->world, used);
	put_functions(perfetto);
	put_mappings(perfetto);
	put_frames(perfetto);
	for (uint64_t id = 1; id < tree->nodes.limit; id++)
		if (used[id] && tree_node(tree, id))
			put_stack(perfetto, (uint32_t)id, ids);
out:
	free(used);
	free(ids);
}
