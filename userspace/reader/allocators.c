/* SPDX-License-Identifier: BSD-2-Clause */
/* allocators.c: finds out whether a file has its own malloc(), and which. */
#include "allocators.h"

#include <stddef.h>
#include <string.h>

#include "../symbols/elf_file.h"

enum { SYMBOLS_READ_MAX = 1 << 20 }; /* per file */

/* Earlier rows win: a sanitizer also defines names of other allocators, these define the C
 * library's own name of malloc(), and all define malloc(). */
static const struct {
	const char *symbol;
	enum allocator allocator;
} marks[] = {
	{"__asan_init", ALLOCATOR_SANITIZER},   {"__tsan_init", ALLOCATOR_SANITIZER},
	{"__msan_init", ALLOCATOR_SANITIZER},   {"__lsan_init", ALLOCATOR_SANITIZER},
	{"__hwasan_init", ALLOCATOR_SANITIZER}, {"mallctl", ALLOCATOR_JEMALLOC},
	{"tc_malloc", ALLOCATOR_TCMALLOC},      {"mi_malloc", ALLOCATOR_MIMALLOC},
	{"__libc_malloc", ALLOCATOR_LIBC},      {"malloc", ALLOCATOR_OTHER},
};

enum { MARKS = sizeof(marks) / sizeof(*marks) };

static size_t mark_of(const char *name)
{
	for (size_t i = 0; i < MARKS; i++)
		if (name[0] == marks[i].symbol[0] && !strcmp(name, marks[i].symbol))
			return i;
	return MARKS;
}

enum allocator allocator_find(Elf *elf)
{
	Elf_Scn *section = NULL;
	size_t best = MARKS;
	bool has_malloc = false;
	GElf_Shdr header;
	GElf_Sym symbol;

	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data, *strings;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM)
			continue;
		data = elf_section_data(section);
		strings = elf_section_data(elf_getscn(elf, header.sh_link));
		for (int i = 0; data && i < SYMBOLS_READ_MAX && gelf_getsym(data, i, &symbol);
		     i++) {
			const char *name = symbol.st_shndx == SHN_UNDEF
						   ? NULL
						   : elf_string(strings, symbol.st_name);
			size_t mark = name ? mark_of(name) : MARKS;

			best = mark < best ? mark : best;
			has_malloc |= mark == MARKS - 1;
		}
	}
	return has_malloc ? marks[best].allocator : ALLOCATOR_NONE;
}

const char *allocator_name(uint32_t allocator)
{
	static const char *const names[ALLOCATORS] = {
		[ALLOCATOR_NONE] = "no allocator",
		[ALLOCATOR_LIBC] = "the C library's allocator",
		[ALLOCATOR_SANITIZER] = "a sanitizer's allocator",
		[ALLOCATOR_JEMALLOC] = "jemalloc",
		[ALLOCATOR_TCMALLOC] = "tcmalloc",
		[ALLOCATOR_MIMALLOC] = "mimalloc",
		[ALLOCATOR_OTHER] = "a malloc() of its own",
	};

	return names[allocator < ALLOCATORS ? allocator : ALLOCATOR_OTHER];
}
