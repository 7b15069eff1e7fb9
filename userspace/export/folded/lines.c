// SPDX-License-Identifier: BSD-2-Clause
/* lines.c: adds up values by path: one line per path, whatever the number of stacks. */
/*
 * Paths form a tree, because they share mostly their outermost part. Node 0 is the root,
 * and every node comes after its parent.
 */
#include <errno.h>
#include <stdlib.h>

#include "../../util/buffer.h"
#include "../../util/map.h"
#include "lines.h"

struct node {
	double value; /* of the path that ends here */
	uint32_t parent, name;
};

/* An edge of the tree. */
struct step {
	uint32_t parent, name;
};

struct folded_lines {
	struct map *numbers;  /* name -> number */
	struct buffer texts;  /* all names, each zero-terminated */
	struct buffer places; /* size_t[]: the offset in `texts` of name 1, 2, ... */
	struct map *steps;    /* struct step -> number of the node */
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

/* The child of a node for a name; 0: no memory. */
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

/* Prints from the outermost name; the tree is linked from inner to outer. */
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
	/* A path has no more names than there are nodes. */
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
