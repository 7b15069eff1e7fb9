// SPDX-License-Identifier: BSD-2-Clause
/* elf_symbols.c: the functions in an ELF file. */
/*
 * The file is read, not mapped: its owner may truncate it at any time, and a mapping would then
 * kill the reader. Results of libelf are checked again here: sizes against the data, names against
 * the end of their table.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../util/array.h"
#include "../util/sorted.h"
#include "debug_files.h"
#include "elf_file.h"
#include "elf_symbols.h"
#include "frame_info.h"
#include "go_table.h"
#include "source_lines.h"
#include "unwind_file.h"

#define SEGMENTS_MAX 64        /* executable ones; compilers produce one */
#define TABLE_MAX    (8 << 20) /* symbols per table */
#define LOOK_BACK    32 /* symbols allowed between an address and the function that contains it */
#define STUBS_BYTES  (16 << 20) /* total for names of stubs, which are kept in memory */
#define NAMELESS_MAX (4u << 20)

struct function {
	uint64_t address;
	uint64_t size; /* 0: unknown */
	const char *name;
	uint8_t rank; /* the highest one wins among symbols at one address */
};

/* A function whose name was stripped. */
struct nameless {
	uint64_t begin, end;
};

struct elf_symbols {
	Elf *elf;            /* the file */
	Elf *debug;          /* its separate debug file, or NULL */
	Elf *mini;           /* the MiniDebugInfo packed into it, or NULL */
	struct buffer image; /* of `mini` */
	struct unwind_segment segments[SEGMENTS_MAX];
	size_t n_segments;
	ARRAY(struct function) functions; /* sorted by address */
	ARRAY(struct stub) stubs;         /* during reading */
	struct buffer texts;              /* their names */
	ARRAY(struct nameless) nameless;  /* sorted by address, or empty */
	struct source_lines *lines;       /* NULL: none known */
	struct go_table *go;              /* NULL: not a Go program */
	bool refused;                     /* a function's name exceeded the limit */
};

/* A function whose name is not yet in its final memory. */
struct stub {
	uint64_t address, size;
	size_t text; /* offset in `texts` */
};

static bool is_executable(const struct elf_symbols *symbols, uint64_t address)
{
	for (size_t i = 0; i < symbols->n_segments; i++) {
		if (address - symbols->segments[i].address < symbols->segments[i].size)
			return true;
	}
	return false;
}

/* Quality of the name; 0 for a symbol that names no function. */
static uint8_t rank(const GElf_Sym *symbol, const char *name)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info), bind = GELF_ST_BIND(symbol->st_info);
	uint8_t value;

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || !*name)
		return 0;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		value = 8;
	else if (type == STT_NOTYPE && *name != '$' && *name != '.')
		value = 1; /* assembler labels, but not mapping symbols */
	else
		return 0;
	if (bind == STB_GLOBAL)
		value += 3;
	else if (bind == STB_WEAK)
		value += 2;
	if (symbol->st_size)
		value += 4;
	return value;
}

/* Prefer the simplest alias: malloc, not __libc_malloc. */
static int by_name(const char *a, const char *b)
{
	size_t underscores_a = strspn(a, "_"), underscores_b = strspn(b, "_");

	if (underscores_a != underscores_b)
		return underscores_a < underscores_b ? -1 : 1;
	return strcmp(a, b);
}

static int by_address(const void *left, const void *right)
{
	const struct function *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank > b->rank ? -1 : 1;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	return by_name(a->name, b->name);
}

static size_t elf_symbols_count(const struct elf_symbols *symbols)
{
	return array_count(&symbols->functions);
}

/* Sorts the functions and keeps the best one at each address. */
static void sort(struct elf_symbols *symbols)
{
	struct function *all = symbols->functions.all;
	size_t kept = 0, n = elf_symbols_count(symbols);

	if (n)
		qsort(all, n, sizeof(*all), by_address);
	for (size_t i = 0; i < n; i++) {
		if (!kept || all[kept - 1].address != all[i].address)
			all[kept++] = all[i];
	}
	symbols->functions.buffer.size = kept * sizeof(*all);
}

/* Adds the functions of one symbol table. */
static int read_table(struct elf_symbols *symbols, Elf *elf, Elf_Scn *section,
		      const GElf_Shdr *header)
{
	Elf_Data *table = elf_section_data(section);
	Elf_Data *strings = elf_section_data(elf_getscn(elf, header->sh_link));
	size_t size = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT), n;

	if (!table || !strings || !size || table->d_type != ELF_T_SYM)
		return 0;
	n = table->d_size / size;
	for (size_t i = 1; i < n && i < TABLE_MAX; i++) {
		struct function function;
		GElf_Sym symbol;

		if (!gelf_getsym(table, (int)i, &symbol))
			break;
		if (!is_executable(symbols, symbol.st_value))
			continue;
		function.address = symbol.st_value;
		function.size = symbol.st_size;
		function.name = elf_string(strings, symbol.st_name);
		symbols->refused |= !function.name && symbol.st_name < strings->d_size;
		function.rank = function.name ? rank(&symbol, function.name) : 0;
		if (function.rank && array_append(&symbols->functions, &function))
			return -ENOMEM;
	}
	return 0;
}

/* Adds the first table of a type (SHT_SYMTAB, SHT_DYNSYM); true if there are functions afterwards.
 */
static bool read_tables(struct elf_symbols *symbols, Elf *elf, uint32_t type)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != type)
			continue;
		if (read_table(symbols, elf, section, &header))
			return false;
		break;
	}
	return elf_symbols_count(symbols) > 0;
}

/* Takes lines from the separate debug file, and symbols if wanted; true if it had symbols. */
static bool read_debug_file(struct elf_symbols *symbols, int file,
			    const struct debug_access *access, bool wanted)
{
	int fd = file < 0 ? -1 : debug_file_open(file, access, symbols->elf);
	bool found = false;

	if (fd < 0)
		return false;
	symbols->debug = elf_open(fd);
	if (symbols->debug && elf_kind(symbols->debug) == ELF_K_ELF) {
		found = wanted && read_tables(symbols, symbols->debug, SHT_SYMTAB);
		if (!symbols->lines)
			source_lines_open(symbols->debug, fd, access, &symbols->lines);
	}
	if (symbols->debug)
		elf_cntl(symbols->debug, ELF_C_FDDONE);
	close(fd);
	return found;
}

/* Takes the symbols packed into the file: those that .dynsym lacks. */
static void read_packed(struct elf_symbols *symbols)
{
	if (debug_data_unpack(symbols->elf, &symbols->image))
		return;
	symbols->mini = elf_memory(symbols->image.data, symbols->image.size);
	if (symbols->mini && elf_kind(symbols->mini) == ELF_K_ELF)
		read_tables(symbols, symbols->mini, SHT_SYMTAB);
}

static const struct function *find_function(const struct elf_symbols *symbols, uint64_t address);

static const char *function_name(void *context, uint64_t address)
{
	const struct function *function = find_function(context, address);

	return function ? function->name : NULL;
}

static int add_stub(void *context, uint64_t address, uint64_t size, const char *name)
{
	struct elf_symbols *symbols = context;
	struct stub stub = {address, size, symbols->texts.size};
	size_t length = strlen(name);

	if (symbols->texts.size + length > STUBS_BYTES)
		return -E2BIG;
	if (buffer_append(&symbols->texts, name, length) ||
	    buffer_append(&symbols->texts, "@plt", sizeof("@plt")))
		return -ENOMEM;
	return array_append(&symbols->stubs, &stub);
}

/* Adds the PLT stubs for calls to other files. */
static void read_stubs(struct elf_symbols *symbols)
{
	plt_each(symbols->elf, add_stub, function_name, symbols);
	for (size_t i = 0; i < array_count(&symbols->stubs); i++) {
		const struct stub *stub = &symbols->stubs.all[i];
		struct function function = {stub->address, stub->size,
					    symbols->texts.data + stub->text, 1};

		if (array_append(&symbols->functions, &function))
			break;
	}
	buffer_free(&symbols->stubs.buffer);
	sort(symbols);
}

static int add_nameless(void *context, const struct frame_function *function)
{
	struct nameless nameless = {function->begin, function->end};
	struct buffer *all = context;

	if (all->size / sizeof(nameless) >= NAMELESS_MAX)
		return -E2BIG;
	return buffer_append(all, &nameless, sizeof(nameless));
}

static int by_begin(const void *left, const void *right)
{
	const struct nameless *a = left, *b = right;

	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* Adds functions without names from the frame information, which stripped programs keep. */
static void read_nameless(struct elf_symbols *symbols)
{
	GElf_Shdr header;
	const Elf_Data *data = elf_section_bytes(symbols->elf, ".eh_frame", &header);
	struct frame_section section = {0};
	struct buffer *all = &symbols->nameless.buffer;
	size_t refused = 0;

	if (!data || !data->d_buf)
		return;
	section.data = data->d_buf;
	section.size = data->d_size;
	section.address = header.sh_addr;
	/* Malformed data ends the reading; earlier entries are valid. */
	frame_info_each(&section, add_nameless, all, &refused);
	if (all->size)
		qsort(all->data, all->size / sizeof(struct nameless), sizeof(struct nameless),
		      by_begin);
}

/* -ENAMETOOLONG if no name of a function was short enough. */
static int read_all(struct elf_symbols *symbols, int fd, const struct debug_access *access)
{
	struct problem problem = {""};
	bool whole, separate = false;

	symbols->n_segments = elf_code_segments(symbols->elf, symbols->segments, SEGMENTS_MAX);
	source_lines_open(symbols->elf, fd, access, &symbols->lines);
	whole = read_tables(symbols, symbols->elf, SHT_SYMTAB);
	if (!go_table_open(symbols->elf, &symbols->go, &problem))
		go_table_keep(symbols->go);
	if (!whole || !symbols->lines)
		separate = read_debug_file(symbols, fd, access, !whole);
	if (!whole && !separate) {
		read_tables(symbols, symbols->elf, SHT_DYNSYM);
		read_packed(symbols);
		read_nameless(symbols);
	}
	if (symbols->refused && !elf_symbols_count(symbols) && !symbols->lines && !symbols->go)
		return -ENAMETOOLONG;
	sort(symbols);
	read_stubs(symbols);
	return 0;
}

/* Takes over the Elf. `fd` is -1 for an image in memory. */
static int elf_symbols_create(Elf *elf, int fd, const struct debug_access *access,
			      struct elf_symbols **out)
{
	struct elf_symbols *symbols;
	int err;

	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		elf_end(elf);
		return -ENOEXEC;
	}
	symbols = calloc(1, sizeof(*symbols));
	if (!symbols) {
		elf_end(elf);
		return -ENOMEM;
	}
	symbols->elf = elf;
	err = read_all(symbols, fd, access);
	if (fd >= 0)
		elf_cntl(elf, ELF_C_FDDONE);
	if (err)
		elf_symbols_free(symbols);
	else
		*out = symbols;
	return err;
}

int elf_symbols_read(int fd, const struct debug_access *access, struct elf_symbols **out)
{
	return elf_symbols_create(elf_open(fd), fd, access, out);
}

int elf_symbols_read_memory(void *image, size_t size, const struct debug_access *access,
			    struct elf_symbols **out)
{
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOEXEC;
	return elf_symbols_create(elf_memory(image, size), -1, access, out);
}

void elf_symbols_free(struct elf_symbols *symbols)
{
	if (!symbols)
		return;
	source_lines_free(symbols->lines);
	go_table_free(symbols->go);
	elf_end(symbols->elf);
	elf_end(symbols->debug);
	elf_end(symbols->mini);
	buffer_free(&symbols->image);
	buffer_free(&symbols->functions.buffer);
	buffer_free(&symbols->texts);
	buffer_free(&symbols->nameless.buffer);
	free(symbols);
}

/*
 * A function with a size ends there; one without, as written in assembler, extends to the next
 * symbol. Labels may lie inside a function: a function with a size that contains the address wins,
 * despite labels in between.
 */
static const struct function *find_function(const struct elf_symbols *symbols, uint64_t address)
{
	size_t next = sorted_up_to(symbols->functions.all, elf_symbols_count(symbols),
				   sizeof(struct function), address);
	size_t first = next > LOOK_BACK ? next - LOOK_BACK : 0;

	for (size_t i = next; i > first; i--) {
		const struct function *function = &symbols->functions.all[i - 1];

		if (address - function->address < function->size)
			return function;
	}
	return next && !symbols->functions.all[next - 1].size ? &symbols->functions.all[next - 1]
							      : NULL;
}

static const struct nameless *find_nameless(const struct elf_symbols *symbols, uint64_t address)
{
	const struct nameless *all = symbols->nameless.all;
	size_t n = sorted_up_to(all, array_count(&symbols->nameless), sizeof(*all), address);

	return n && address < all[n - 1].end ? &all[n - 1] : NULL;
}

size_t elf_symbols_find(const struct elf_symbols *symbols, uint64_t offset,
			struct symbol out[SYMBOLS_MAX])
{
	const struct function *function;
	const struct nameless *nameless;
	uint64_t address;
	size_t n = 0;

	if (!unwind_address(symbols->segments, symbols->n_segments, offset, &address))
		return 0;
	function = find_function(symbols, address);
	if (symbols->lines)
		n = source_lines_find(symbols->lines, address, out);
	if (!n && symbols->go)
		n = go_table_find(symbols->go, address, out);
	if (function && !n)
		out[n++] = (struct symbol){0};
	if (function) {
		/* Linker names also show clones, and parts that were moved away. */
		out[0].name = function->name;
		out[0].offset = address - function->address;
	}
	if (n && out[0].name)
		return n;
	nameless = find_nameless(symbols, address);
	if (!nameless)
		return 0;
	out[0] = (struct symbol){.offset = address - nameless->begin};
	return 1;
}

size_t elf_symbols_type(const struct elf_symbols *symbols, uint64_t number, char *out, size_t size,
			bool *plain)
{
	return symbols->go ? go_table_type_name(symbols->go, number, out, size, plain) : 0;
}
