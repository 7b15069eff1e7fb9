// SPDX-License-Identifier: BSD-2-Clause
/* source_lines.c: source files, lines and inlined functions from an ELF file's DWARF. */
/*
 * The ranges of all compilation units, read at the start, lead from an address to its unit. A unit
 * is read at the first lookup in it, a name when it is first needed.
 *
 * debug_shared_open() finds the file to which dwz moved shared parts; libdw gets it from there.
 * DWARF in other files (.dwo) is not supported: libdw would open any path that the file names.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../util/buffer.h"
#include "../util/map.h"
#include "debug_files.h"
#include "elf_file.h"
#include "source_lines.h"

#define DWARF_BYTES_MAX   (UINT64_C(384) << 20) /* of all sections, unpacked by libdw */
#define UNITS_MAX         (1u << 20)
#define UNIT_RANGES_MAX   (1u << 16) /* per unit */
#define ENTRIES_MAX       (UINT64_C(1) << 25)
#define TIME_MAX          UINT64_C(3000000000) /* ns */
#define PROGRAM_BYTES_MAX (UINT64_C(8) << 20)  /* per unit's line program */
#define LINE_BYTES_MAX    (UINT64_C(64) << 20) /* total read */
#define SHARED_LINK       ".gnu_debugaltlink"

struct unit {
	Dwarf_Off entry;
	struct source_unit *functions; /* NULL: not read yet */
};

/* A line program. */
struct program {
	uint64_t offset; /* in .debug_line */
	uint64_t shared; /* 1: in .debug_line of the shared file */
};

struct source_lines {
	Dwarf *dwarf;
	Elf *shared_elf; /* parts moved away by dwz; NULL: none */
	Dwarf *shared;
	Elf_Data *programs[2];     /* .debug_line, own and shared */
	struct buffer units;       /* struct unit[] */
	struct buffer ranges;      /* struct source_range[], sorted by address */
	struct map *program_state; /* struct program to 1: may be read, or 2 */
	uint64_t program_bytes;    /* left of the total */
	struct source_budget budget;
};

/* --- opening ---------------------------------------------------------------------------- */

/* Size of a section in memory. */
static uint64_t unpacked_size(Elf_Scn *section, const GElf_Shdr *header)
{
	GElf_Chdr packed;

	if (header->sh_type == SHT_NOBITS)
		return 0;
	if ((header->sh_flags & SHF_COMPRESSED) && gelf_getchdr(section, &packed))
		return packed.ch_size;
	return header->sh_size;
}

/* Files that are not linked have overlapping addresses. */
static bool is_linked(Elf *elf)
{
	GElf_Ehdr file;

	return gelf_getehdr(elf, &file) && (file.e_type == ET_EXEC || file.e_type == ET_DYN);
}

/* libdw unpacks each section of DWARF at once: those that are not read look empty to it. */
static void leave_out(Elf *elf)
{
	static const char *const names[] = {".debug_loclists", ".debug_loc", ".debug_aranges",
					    ".debug_macro"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		GElf_Shdr header;
		Elf_Scn *section = elf_section_find(elf, names[i], &header);

		header.sh_type = SHT_NOBITS;
		if (section)
			gelf_update_shdr(section, &header);
	}
}

/* Does the file have usable DWARF within the limits? */
static bool is_readable(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	uint64_t total = 0;

	leave_out(elf);
	if (elf_section_find(elf, ".zdebug_info", &header))
		return false;
	section = elf_section_find(elf, ".debug_info", &header);
	if (!section || header.sh_type == SHT_NOBITS)
		return false;
	for (section = NULL; (section = elf_nextscn(elf, section));) {
		uint64_t size = gelf_getshdr(section, &header) ? unpacked_size(section, &header)
							       : 0;

		if (!(header.sh_flags & SHF_ALLOC))
			total += size < DWARF_BYTES_MAX ? size : DWARF_BYTES_MAX;
	}
	return total < DWARF_BYTES_MAX;
}

static int add_unit(struct source_lines *lines, Dwarf_Die *entry)
{
	size_t number = lines->units.size / sizeof(struct unit);
	struct unit unit = {.entry = dwarf_dieoffset(entry)};
	int err;

	if (number >= UNITS_MAX)
		return -E2BIG;
	err = source_ranges_add(&lines->ranges, entry, (uint32_t)number, UNIT_RANGES_MAX);
	return err ? err : buffer_append(&lines->units, &unit, sizeof(unit));
}

static void read_units(struct source_lines *lines)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die entry;
	uint8_t type;

	while (!dwarf_get_units(lines->dwarf, unit, &unit, NULL, &type, &entry, NULL)) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		if (add_unit(lines, &entry))
			break;
	}
	source_ranges_sort(&lines->ranges);
}

/*
 * libdw assumes that texts end within their section. They do if the last byte is a zero, as
 * compilers write it (the terminator of the last unit's tree is a zero, too).
 */
static bool texts_end(Elf *elf)
{
	static const char *const names[] = {".debug_info", ".debug_types", ".debug_str",
					    ".debug_line_str"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		GElf_Shdr header;
		Elf_Scn *section = elf_section_find(elf, names[i], &header);
		const Elf_Data *data = elf_section_data(section);

		if (!section || header.sh_type == SHT_NOBITS || !header.sh_size)
			continue;
		if (!data || !data->d_buf || !data->d_size ||
		    ((const char *)data->d_buf)[data->d_size - 1])
			return false;
	}
	return true;
}

static Elf_Data *programs_of(Elf *elf)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_section_find(elf, ".debug_line", &header);

	return elf_section_data(section);
}

/*
 * Opens the shared file of dwz, if there is one. If it cannot be opened, the file is unusable,
 * because libdw would search for the shared file itself.
 */
static int open_shared(struct source_lines *lines, Elf *elf, int file,
		       const struct debug_access *access)
{
	GElf_Shdr header;
	bool is_good;
	int fd;

	if (!elf_section_find(elf, SHARED_LINK, &header))
		return 0;
	fd = debug_shared_open(file, access, elf);
	if (fd < 0)
		return -ENODATA;
	lines->shared_elf = elf_open(fd);
	/* A shared file has no shared file of its own. */
	if (lines->shared_elf && is_readable(lines->shared_elf) &&
	    !elf_section_find(lines->shared_elf, SHARED_LINK, &header))
		lines->shared = dwarf_begin_elf(lines->shared_elf, DWARF_C_READ, NULL);
	is_good = lines->shared && texts_end(lines->shared_elf);
	/* libdw has already read its sections. */
	if (lines->shared_elf)
		elf_cntl(lines->shared_elf, ELF_C_FDDONE);
	close(fd);
	if (!is_good)
		return -ENODATA;
	lines->programs[1] = programs_of(lines->shared_elf);
	dwarf_setalt(lines->dwarf, lines->shared);
	return 0;
}

int source_lines_open(Elf *elf, int fd, const struct debug_access *access,
		      struct source_lines **out)
{
	struct source_lines *lines;

	if (!is_linked(elf) || !is_readable(elf))
		return -ENODATA;
	lines = calloc(1, sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	lines->budget = (struct source_budget){ENTRIES_MAX, TIME_MAX};
	lines->program_bytes = LINE_BYTES_MAX;
	lines->program_state = map_create(sizeof(struct program));
	lines->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (!lines->dwarf || !lines->program_state) {
		source_lines_free(lines);
		return -ENODATA;
	}
	/* libdw has already unpacked them. */
	if (!texts_end(elf) || open_shared(lines, elf, fd, access)) {
		source_lines_free(lines);
		return -ENODATA;
	}
	lines->programs[0] = programs_of(elf);
	read_units(lines);
	*out = lines;
	return 0;
}

void source_lines_free(struct source_lines *lines)
{
	const struct unit *units;

	if (!lines)
		return;
	units = (const void *)lines->units.data;
	for (size_t i = 0; i < lines->units.size / sizeof(*units); i++)
		source_unit_free(units[i].functions);
	buffer_free(&lines->units);
	buffer_free(&lines->ranges);
	map_free(lines->program_state);
	dwarf_end(lines->dwarf);
	dwarf_end(lines->shared);
	elf_end(lines->shared_elf);
	free(lines);
}

/* --- files and lines -------------------------------------------------------------------- */

/* Size of a line program; UINT64_MAX if malformed. */
static uint64_t program_size(const struct source_lines *lines, const struct program *program)
{
	const Elf_Data *data = lines->programs[program->shared];
	uint64_t offset = program->offset;
	uint32_t size;

	if (!data || !data->d_buf || offset > data->d_size || data->d_size - offset < sizeof(size))
		return UINT64_MAX;
	memcpy(&size, (const char *)data->d_buf + offset, sizeof(size));
	/* 0xfffffff0 and above announce a 64-bit size, which no compiler writes. */
	return size < 0xfffffff0u ? size : UINT64_MAX;
}

/* May the line program of this unit be read? Each of its bytes may become a row in memory. */
static bool may_read_lines(struct source_lines *lines, Dwarf_Die *unit)
{
	struct program program = {.shared = dwarf_cu_getdwarf(unit->cu) != lines->dwarf};
	Dwarf_Attribute attribute;
	uint64_t *state, size;

	if (!dwarf_attr(unit, DW_AT_stmt_list, &attribute) ||
	    dwarf_formudata(&attribute, &program.offset))
		return false;
	state = map_put(lines->program_state, &program, NULL);
	if (!state)
		return false;
	if (!*state) {
		size = program_size(lines, &program);
		*state = size <= PROGRAM_BYTES_MAX && size <= lines->program_bytes ? 1 : 2;
		if (*state == 1)
			lines->program_bytes -= size;
	}
	return *state == 1;
}

/* The file named by an attribute of an entry; NULL if unknown. */
static const char *file_of(struct source_lines *lines, Dwarf_Die *entry, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	Dwarf_Word index;
	Dwarf_Die unit;
	size_t n;

	if (!dwarf_attr_integrate(entry, name, &attribute) || dwarf_formudata(&attribute, &index) ||
	    !attribute.cu || !dwarf_cu_die(attribute.cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL))
		return NULL;
	if (!may_read_lines(lines, &unit) || dwarf_getsrcfiles(&unit, &files, &n) || index >= n)
		return NULL;
	return dwarf_filesrc(files, index, NULL, NULL);
}

static uint32_t number_of(Dwarf_Die *entry, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr_integrate(entry, name, &attribute) || dwarf_formudata(&attribute, &value))
		return 0;
	return value <= UINT32_MAX ? (uint32_t)value : 0;
}

/* Its linker name, else its source name. */
static const char *name_of(Dwarf_Die *entry)
{
	static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};
	Dwarf_Attribute attribute;
	const char *name = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !name; i++) {
		if (dwarf_attr_integrate(entry, names[i], &attribute))
			name = dwarf_formstring(&attribute);
	}
	return name && *name ? name : NULL;
}

/* --- finding ---------------------------------------------------------------------------- */

/* The line of the address itself. */
static void put_line(struct source_lines *lines, Dwarf_Die *unit, uint64_t address,
		     struct symbol *symbol)
{
	Dwarf_Line *line;
	int number;

	if (!may_read_lines(lines, unit))
		return;
	line = dwarf_getsrc_die(unit, address);
	if (!line || dwarf_lineno(line, &number) || number <= 0)
		return;
	symbol->file = dwarf_linesrc(line, NULL, NULL);
	symbol->line = (uint32_t)number;
}

/* A symbol has one file: keep the function's first line only if it is in the file of the current
 * line. */
static void settle_file(struct symbol *symbol, const char *home)
{
	if (!symbol->file)
		symbol->file = home;
	else if (!home || strcmp(symbol->file, home) != 0)
		symbol->begin = 0;
}

size_t source_lines_find(struct source_lines *lines, uint64_t address,
			 struct symbol out[SYMBOLS_MAX])
{
	const struct source_scope *scopes[SYMBOLS_MAX];
	const struct source_range *range = source_ranges_find(&lines->ranges, address);
	struct unit *unit = range ? (struct unit *)(void *)lines->units.data + range->number : NULL;
	const char *homes[SYMBOLS_MAX] = {NULL};
	Dwarf_Die unit_entry, entry;
	size_t n;

	if (!unit || !dwarf_offdie(lines->dwarf, unit->entry, &unit_entry))
		return 0;
	if (!unit->functions)
		unit->functions = source_unit_read(&unit_entry, &lines->budget);
	n = unit->functions ? source_unit_find(unit->functions, address, scopes, SYMBOLS_MAX) : 0;
	for (size_t i = 0; i < n; i++) {
		out[i] = (struct symbol){0};
		if (!dwarf_offdie(lines->dwarf, scopes[i]->entry, &entry))
			continue;
		out[i].name = name_of(&entry);
		out[i].begin = number_of(&entry, DW_AT_decl_line);
		homes[i] = file_of(lines, &entry, DW_AT_decl_file);
		if (!i)
			continue;
		/* The caller's line is that of the call. */
		out[i - 1].line = number_of(&entry, DW_AT_call_line);
		out[i - 1].file = file_of(lines, &entry, DW_AT_call_file);
	}
	if (!n)
		out[n++] = (struct symbol){0};
	put_line(lines, &unit_entry, address, &out[n - 1]);
	for (size_t i = 0; i < n; i++)
		settle_file(&out[i], homes[i]);
	return n;
}
