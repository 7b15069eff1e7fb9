// SPDX-License-Identifier: BSD-2-Clause
/* elf_symbols.c: the functions of one ELF file. */
/*
 * The file is read, not mapped: whoever owns it may cut it short at any moment,
 * and a mapping would then kill the reader. What libelf hands out is checked
 * again here: sizes against the data, names against the end of their table.
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

#include "elf_symbols.h"
#include "symbols.h"

#define SEGMENTS_MAX 64        /* executable ones; compilers make one */
#define SYMBOLS_MAX  (8 << 20) /* in one table */
#define LOOK_BACK    32        /* symbols that may lie before the one that holds an address */
#define DEBUG_FOLDER "/usr/lib/debug/.build-id"

struct segment {
	uint64_t offset, address, size;
};

struct function {
	uint64_t address;
	uint64_t size; /* 0: unknown */
	const char *name;
	uint8_t rank; /* of several at one address the highest counts */
};

struct elf_symbols {
	Elf *elf;   /* the file */
	Elf *debug; /* its separate debug file, or NULL */
	struct segment segments[SEGMENTS_MAX];
	size_t n_segments;
	struct function *functions; /* by address */
	size_t n_functions;
};

static void read_segments(struct elf_symbols *symbols)
{
	size_t n;

	if (elf_getphdrnum(symbols->elf, &n))
		return;
	for (size_t i = 0; i < n && i <= UINT16_MAX && symbols->n_segments < SEGMENTS_MAX; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(symbols->elf, (int)i, &header))
			return;
		if (header.p_type != PT_LOAD || !(header.p_flags & PF_X))
			continue;
		symbols->segments[symbols->n_segments++] =
			(struct segment){header.p_offset, header.p_vaddr, header.p_filesz};
	}
}

static bool is_executable(const struct elf_symbols *symbols, uint64_t address)
{
	for (size_t i = 0; i < symbols->n_segments; i++) {
		if (address - symbols->segments[i].address < symbols->segments[i].size)
			return true;
	}
	return false;
}

/* How good a name it is; 0 for a symbol that names no function. */
static uint8_t rank(const GElf_Sym *symbol, const char *name)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info), bind = GELF_ST_BIND(symbol->st_info);
	uint8_t value;

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || !*name)
		return 0;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		value = 8;
	else if (type == STT_NOTYPE && *name != '$' && *name != '.')
		value = 1; /* assembler's labels, but not mapping symbols */
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

/* The string at `index`, which must end within the table; NULL if it does not. */
static const char *string_at(const Elf_Data *strings, uint64_t index)
{
	const char *text = strings->d_buf;

	if (!text || index >= strings->d_size || !memchr(text + index, 0, strings->d_size - index))
		return NULL;
	return text + index;
}

/* Of aliases the plainest counts: malloc, not __libc_malloc. */
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

/* Leaves the best of those at each address. */
static size_t drop_aliases(struct function *functions, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (!kept || functions[kept - 1].address != functions[i].address)
			functions[kept++] = functions[i];
	}
	return kept;
}

static size_t collect(const struct elf_symbols *symbols, Elf_Data *table, const Elf_Data *strings,
		      size_t n, struct function *out)
{
	size_t count = 0;

	for (size_t i = 1; i < n; i++) {
		GElf_Sym symbol;
		const char *name;
		uint8_t value;

		if (!gelf_getsym(table, (int)i, &symbol))
			break;
		if (!is_executable(symbols, symbol.st_value))
			continue;
		name = string_at(strings, symbol.st_name);
		value = name ? rank(&symbol, name) : 0;
		if (value)
			out[count++] =
				(struct function){symbol.st_value, symbol.st_size, name, value};
	}
	return count;
}

/* Reads one symbol table; true if it has functions. */
static bool read_table(struct elf_symbols *symbols, Elf *elf, Elf_Scn *section,
		       const GElf_Shdr *header)
{
	Elf_Scn *string_section = elf_getscn(elf, header->sh_link);
	Elf_Data *table = elf_getdata(section, NULL);
	Elf_Data *strings = string_section ? elf_getdata(string_section, NULL) : NULL;
	size_t size = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT), n;

	if (!table || !strings || !size || table->d_type != ELF_T_SYM)
		return false;
	n = table->d_size / size;
	if (n > SYMBOLS_MAX)
		n = SYMBOLS_MAX;
	if (n < 2)
		return false;
	symbols->functions = malloc(n * sizeof(*symbols->functions));
	if (!symbols->functions)
		return false;
	n = collect(symbols, table, strings, n, symbols->functions);
	qsort(symbols->functions, n, sizeof(*symbols->functions), by_address);
	symbols->n_functions = drop_aliases(symbols->functions, n);
	if (!symbols->n_functions) {
		free(symbols->functions);
		symbols->functions = NULL;
	}
	return symbols->n_functions > 0;
}

/* Reads the first table of a type (SHT_SYMTAB, SHT_DYNSYM); true if it has functions. */
static bool read_tables(struct elf_symbols *symbols, Elf *elf, uint32_t type)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, &header) && header.sh_type == type)
			return read_table(symbols, elf, section, &header);
	}
	return false;
}

/* Opens the debug file that belongs to a build-id; -1 if there is none. */
static int open_debug_file(const unsigned char *id, int size)
{
	char path[sizeof(DEBUG_FOLDER) + 2 * BUILD_ID_MAX + 16];
	unsigned char other[BUILD_ID_MAX];
	size_t at;
	int fd;

	if (size < 2)
		return -1;
	at = (size_t)snprintf(path, sizeof(path), DEBUG_FOLDER "/%02x/", id[0]);
	for (int i = 1; i < size; i++)
		at += (size_t)snprintf(path + at, sizeof(path) - at, "%02x", id[i]);
	snprintf(path + at, sizeof(path) - at, ".debug");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0 && (build_id_read(fd, other) != size || memcmp(id, other, (size_t)size))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Reads the symbols that were taken out of the file; true if there are any. */
static bool read_debug_file(struct elf_symbols *symbols, int fd)
{
	unsigned char id[BUILD_ID_MAX] = {0};
	int debug_fd = open_debug_file(id, build_id_read(fd, id));
	bool found = false;

	if (debug_fd < 0)
		return false;
	symbols->debug = elf_begin(debug_fd, ELF_C_READ, NULL);
	if (symbols->debug && elf_kind(symbols->debug) == ELF_K_ELF)
		found = read_tables(symbols, symbols->debug, SHT_SYMTAB);
	if (symbols->debug)
		elf_cntl(symbols->debug, ELF_C_FDDONE);
	close(debug_fd);
	return found;
}

/* Takes over the Elf. `fd` is -1 for an image in memory. */
static int create(Elf *elf, int fd, struct elf_symbols **out)
{
	struct elf_symbols *symbols;

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
	read_segments(symbols);
	if (!read_tables(symbols, elf, SHT_SYMTAB) && (fd < 0 || !read_debug_file(symbols, fd)))
		read_tables(symbols, elf, SHT_DYNSYM);
	if (fd >= 0)
		elf_cntl(elf, ELF_C_FDDONE);
	*out = symbols;
	return 0;
}

int elf_symbols_read(int fd, struct elf_symbols **out)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || elf_version(EV_CURRENT) == EV_NONE)
		return -ENOEXEC;
	return create(elf_begin(fd, ELF_C_READ, NULL), fd, out);
}

int elf_symbols_read_memory(void *image, size_t size, struct elf_symbols **out)
{
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOEXEC;
	return create(elf_memory(image, size), -1, out);
}

void elf_symbols_free(struct elf_symbols *symbols)
{
	if (!symbols)
		return;
	elf_end(symbols->elf);
	elf_end(symbols->debug);
	free(symbols->functions);
	free(symbols);
}

/* The address that an offset of the file is loaded at, before relocation. */
static bool offset_address(const struct elf_symbols *symbols, uint64_t offset, uint64_t *address)
{
	for (size_t i = 0; i < symbols->n_segments; i++) {
		const struct segment *segment = &symbols->segments[i];

		if (offset - segment->offset < segment->size) {
			*address = offset - segment->offset + segment->address;
			return true;
		}
	}
	return false;
}

/* How many functions begin at or before the address. */
static size_t count_up_to(const struct elf_symbols *symbols, uint64_t address)
{
	size_t low = 0, high = symbols->n_functions;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->functions[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * A function with a size ends there; one without, as assembler leaves them, goes
 * on to the next symbol. Labels may lie inside of a function, so one that begins
 * earlier can still hold the address.
 */
const char *elf_symbols_find(const struct elf_symbols *symbols, uint64_t offset, uint64_t *within)
{
	uint64_t address;
	size_t i, first;

	if (!offset_address(symbols, offset, &address))
		return NULL;
	i = count_up_to(symbols, address);
	first = i > LOOK_BACK ? i - LOOK_BACK : 0;
	for (size_t next = i; i > first; i--) {
		const struct function *function = &symbols->functions[i - 1];

		*within = address - function->address;
		if (*within < function->size || (!function->size && i == next))
			return function->name;
	}
	return NULL;
}
