// SPDX-License-Identifier: BSD-2-Clause
/* folded_lines.c: values of paths, one line a path however many stacks have it. */
/*
 * Paths are a tree: most of what they have in common is where they begin. Node 0
 * is the root, and every node comes behind the one that it hangs from.
 */
#include <errno.h>
#include <stdlib.h>

#include "../util/buffer.h"
#include "../util/map.h"
#include "folded_lines.h"

struct node {
	double value; /* of the path that ends here */
	uint32_t parent, name;
};

/* What leads from a node to one that hangs from it. */
struct step {
	uint32_t parent, name;
};

struct folded_lines {
	struct map *numbers;  /* names to their numbers */
	struct buffer texts;  /* names one behind the other, each with a zero */
	struct buffer places; /* size_t[]: where in `texts` name 1, 2, ... begins */
	struct map *steps;    /* struct step to the node's number */
	struct buffer nodes;  /* struct node[] */
};

int folded_lines_create(struct folded_lines **out)
{
	struct folded_lines *lines = calloc(1, sizeof(*lines));
	const struct node root = {0};

	if (!lines)
		return -ENOMEM;
	lines->numbers = map_create(MAP_STRING_KEYS);
	lines->steps = map_create(sizeof(struct step));
	if (!lines->numbers || !lines->steps || buffer_append(&lines->nodes, &root, sizeof(root))) {
		folded_lines_free(lines);
		return -ENOMEM;
	}
	*out = lines;
	return 0;
}

void folded_lines_free(struct folded_lines *lines)
{
	if (!lines)
		return;
	map_free(lines->numbers);
	map_free(lines->steps);
	buffer_free(&lines->texts);
	buffer_free(&lines->places);
	buffer_free(&lines->nodes);
	free(lines);
}

uint32_t folded_lines_name(struct folded_lines *lines, const char *text, size_t size)
{
	uint64_t *number = map_put_string(lines->numbers, text, size, NULL);
	size_t place = lines->texts.size;

	if (!number || *number)
		return number ? (uint32_t)*number : 0;
	if (buffer_reserve(&lines->texts, size + 1) ||
	    buffer_append(&lines->places, &place, sizeof(place)))
		return 0;
	buffer_append(&lines->texts, text, size);
	buffer_append(&lines->texts, "", 1);
	*number = lines->places.size / sizeof(place);
	return (uint32_t)*number;
}

static struct node *node_at(const struct folded_lines *lines, uint64_t number)
{
	return (struct node *)(void *)lines->nodes.data + number;
}

/* The node behind another one; 0: no memory. */
static uint32_t node_behind(struct folded_lines *lines, uint32_t parent, uint32_t name)
{
	const struct step step = {parent, name};
	const struct node node = {.parent = parent, .name = name};
	uint64_t *number = map_put(lines->steps, &step, NULL);

	if (!number || *number)
		return number ? (uint32_t)*number : 0;
	if (lines->nodes.size / sizeof(node) >= UINT32_MAX ||
	    buffer_append(&lines->nodes, &node, sizeof(node)))
		return 0;
	*number = lines->nodes.size / sizeof(node) - 1;
	return (uint32_t)*number;
}

int folded_lines_add(struct folded_lines *lines, const uint32_t *names, size_t count, double value)
{
	uint32_t node = 0;

	for (size_t i = count; i--;) {
		node = node_behind(lines, node, names[i]);
		if (!node)
			return -ENOMEM;
	}
	node_at(lines, node)->value += value;
	return 0;
}

static void put_name(const struct folded_lines *lines, struct output *output, uint32_t name)
{
	const size_t *places = (const size_t *)(const void *)lines->places.data;

	output_text(output, lines->texts.data + places[name - 1]);
}

/* From the outermost on; the way there leads up. */
static void put_path(const struct folded_lines *lines, struct output *output, uint32_t *names,
		     const struct node *node)
{
	size_t count = 0;

	for (; node->name; node = node_at(lines, node->parent))
		names[count++] = node->name;
	while (count--) {
		put_name(lines, output, names[count]);
		if (count)
			output_text(output, ";");
	}
}

void folded_lines_write(const struct folded_lines *lines, struct output *output)
{
	size_t count = lines->nodes.size / sizeof(struct node);
	/* No path has more names than there are nodes. */
	uint32_t *names = calloc(count, sizeof(*names));

	if (!names)
		output_fail(output, -ENOMEM);
	for (size_t i = 1; names && i < count; i++) {
		const struct node *node = node_at(lines, i);

		if (node->value < 0.5)
			continue;
		put_path(lines, output, names, node);
		output_format(output, " %.0f\n", node->value);
	}
	free(names);
}
