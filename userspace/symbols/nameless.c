// SPDX-License-Identifier: BSD-2-Clause
/* nameless.c: where functions begin whose names were stripped off. */
#include <errno.h>
#include <stdlib.h>

#include "elf_section.h"
#include "frame_info.h"
#include "nameless.h"

#define FUNCTIONS_MAX ((size_t)4 << 20)

struct nameless {
	uint64_t begin, end;
};

static int add(void *context, const struct frame_function *function)
{
	struct nameless nameless = {function->begin, function->end};
	struct buffer *functions = context;

	if (functions->size / sizeof(nameless) >= FUNCTIONS_MAX)
		return -E2BIG;
	return buffer_append(functions, &nameless, sizeof(nameless));
}

static int by_begin(const void *left, const void *right)
{
	const struct nameless *a = left, *b = right;

	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

void nameless_read(Elf *elf, struct buffer *out)
{
	GElf_Shdr header;
	const Elf_Data *data = elf_section_bytes(elf, ".eh_frame", &header);
	struct frame_section section = {0};
	size_t refused = 0;

	if (!data || !data->d_buf)
		return;
	section.data = data->d_buf;
	section.size = data->d_size;
	section.address = header.sh_addr;
	/* What makes no sense ends the reading: what came before is right. */
	frame_info_each(&section, add, out, &refused);
	if (out->size)
		qsort(out->data, out->size / sizeof(struct nameless), sizeof(struct nameless),
		      by_begin);
}

bool nameless_find(const struct buffer *functions, uint64_t address, uint64_t *begin)
{
	const struct nameless *all = (const void *)functions->data;
	size_t low = 0, high = functions->size / sizeof(*all);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= all[low - 1].end)
		return false;
	*begin = all[low - 1].begin;
	return true;
}
