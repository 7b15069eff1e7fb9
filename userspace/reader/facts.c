/* SPDX-License-Identifier: BSD-2-Clause */
/* facts.c: answers READ_FACTS: what the recorder must know as soon as a file is mapped. */
#include "facts.h"

#include <errno.h>
#include <gelf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../gc/provider/frame.h"
#include "../symbols/elf_file.h"

#define DATA_READ_MAX (UINT64_C(1) << 26) /* per file */
#define BLOCK_START   (offsetof(struct gcprof_control, version) + sizeof(uint32_t))

/* Offset of a control block in `size` bytes of data, or `size`. */
static size_t find_block(const unsigned char *data, size_t size)
{
	struct gcprof_control block;

	for (size_t i = 0; i + BLOCK_START <= size; i += sizeof(block.magic)) {
		memcpy(&block, data + i, BLOCK_START);
		if (block.magic == GCPROF_CONTROL_MAGIC && block.version == GCPROF_CONTROL_VERSION)
			return i;
	}
	return size;
}

/* A control block is recognised by its first bytes, which the file initialises. This works in
 * programs without symbols, too. */
static uint64_t find_control(int fd, const GElf_Phdr *header, uint64_t *left)
{
	uint64_t size = header->p_filesz < *left ? header->p_filesz : *left;
	uint64_t at = -header->p_vaddr % sizeof(uint64_t);
	unsigned char room[16384];

	*left -= size;
	/* The last words of a part are the first of the next one. */
	for (; at + BLOCK_START <= size; at += sizeof(room) - sizeof(uint64_t)) {
		size_t wanted = size - at < sizeof(room) ? size - at : sizeof(room), found;

		if (pread(fd, room, wanted, (off_t)(header->p_offset + at)) != (ssize_t)wanted)
			return 0;
		found = find_block(room, wanted);
		if (found < wanted)
			return header->p_vaddr + at + found;
	}
	return 0;
}

static void read_interpreter(int fd, const GElf_Phdr *header, struct file_facts *facts)
{
	char *text = facts->interpreter;
	size_t size = header->p_filesz;

	if (size < 2 || size > sizeof(facts->interpreter) ||
	    pread(fd, text, size, (off_t)header->p_offset) != (ssize_t)size || text[size - 1] ||
	    text[0] != '/')
		text[0] = '\0';
}

static void read_segments(int fd, Elf *elf, struct file_facts *facts)
{
	uint64_t left = DATA_READ_MAX;
	GElf_Phdr header;

	for (size_t i = 0; elf_segment(elf, i, &header); i++) {
		if (header.p_type == PT_INTERP)
			read_interpreter(fd, &header, facts);
		/* Only programs with probes have a control block. */
		if (header.p_type == PT_LOAD && header.p_flags & PF_W && facts->n_sites &&
		    !facts->control)
			facts->control = find_control(fd, &header, &left);
	}
	facts->n_segments = (uint32_t)elf_code_segments(elf, facts->segments, UNWIND_SEGMENTS_MAX);
}

/* What the file claims is only compared with offsets, so any claim is harmless. */
static void read_own(Elf *elf, struct file_facts *facts)
{
	GElf_Shdr header;

	if (!elf_section_find(elf, OWN_SECTION, &header) || !(header.sh_flags & SHF_EXECINSTR))
		return;
	facts->own = header.sh_offset;
	facts->own_size = header.sh_size;
}

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

/* The allocator of a file that defines malloc(), by its exported symbols. */
static enum allocator allocator_find(Elf *elf)
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

static void read_elf(int fd, struct file_facts *facts)
{
	Elf *elf = elf_open(fd);

	if (elf && elf_kind(elf) == ELF_K_ELF) {
		read_segments(fd, elf, facts);
		facts->allocator = allocator_find(elf);
		read_own(elf, facts);
	}
	elf_end(elf);
}

int facts_read(int fd, struct file_facts *out, struct probe_site **sites)
{
	struct problem problem = {""};
	struct probes_found found;
	int err;

	memset(out, 0, sizeof(*out));
	*sites = NULL;
	out->build_id_size = build_id_read(fd, out->build_id);
	if (out->build_id_size < 0)
		return 0;
	err = probes_find(fd, &found, &problem);
	if (err)
		return err;
	out->n_sites = (uint32_t)found.n_sites;
	out->refused = found.refused;
	out->runtime = found.runtime;
	memcpy(out->problem, problem.text, sizeof(out->problem) - 1);
	*sites = found.sites;
	read_elf(fd, out);
	return 0;
}

static bool is_operand(const struct probe_argument *argument)
{
	return argument->size && argument->size <= 8 && !(argument->size & (argument->size - 1)) &&
	       argument->is_signed <= 1;
}

/* Is this a probe site of the file's own runtime? */
static bool is_place(const struct file_facts *facts, const struct probe_place *place)
{
	const struct runtime *runtime = runtime_get(facts->runtime.runtime);
	const struct runtime_place *row;

	if (place->probe != PROBE_PLACE || !runtime || place->runtime != facts->runtime.runtime ||
	    place->place >= runtime->n_places)
		return false;
	row = &runtime->places[place->place];
	if (memcmp(&place->fates, &row->fates, sizeof(row->fates)) != 0)
		return false;
	return place->flags == row->flags ||
	       (row->where == PLACE_BEHIND_CHECK && place->flags == (row->flags | PLACE_JUMP));
}

static bool is_site(const struct file_facts *facts, const struct probe_site *site)
{
	if ((site->place.probe >= PROBES && !is_place(facts, &site->place)) ||
	    site->place.count > PROBE_ARGUMENTS)
		return false;
	for (uint32_t i = 0; i < site->place.count; i++)
		if (!is_operand(&site->place.arguments[i]))
			return false;
	return true;
}

int facts_take(const void *data, size_t size, struct file_facts *out,
	       const struct probe_site **sites)
{
	if (size < sizeof(*out))
		return -EBADMSG;
	memcpy(out, data, sizeof(*out));
	*sites = (const void *)((const char *)data + sizeof(*out));
	if (out->build_id_size > BUILD_ID_MAX || out->n_segments > UNWIND_SEGMENTS_MAX ||
	    out->n_sites > PROBE_SITES_MAX ||
	    size != sizeof(*out) + out->n_sites * sizeof(struct probe_site))
		return -EBADMSG;
	for (uint32_t i = 0; i < out->n_sites; i++)
		if (!is_site(out, &(*sites)[i]))
			return -EBADMSG;
	out->problem[sizeof(out->problem) - 1] = '\0';
	out->runtime.version[sizeof(out->runtime.version) - 1] = '\0';
	out->runtime.missing[sizeof(out->runtime.missing) - 1] = '\0';
	if (out->runtime.n_own > RUNTIME_OWN_MAX ||
	    (out->runtime.runtime && !runtime_get(out->runtime.runtime)))
		return -EBADMSG;
	if (!out->n_sites)
		out->control = 0;
	for (size_t i = 0; i < RUNTIME_REASONS_MAX; i++)
		out->runtime.reasons[i][RUNTIME_REASON_BYTES - 1] = '\0';
	out->interpreter[sizeof(out->interpreter) - 1] = '\0';
	return 0;
}

bool facts_locate(const struct file_facts *facts, uint64_t start, uint64_t offset, uint64_t address,
		  uint64_t *out)
{
	return unwind_locate(facts->segments, facts->n_segments, start, offset, address, out);
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
