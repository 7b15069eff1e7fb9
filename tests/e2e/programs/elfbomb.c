/* SPDX-License-Identifier: BSD-2-Clause */
/* elfbomb.c: makes files that cost who reads them far more than they are: elfbomb MODE OUT [N
 * [BASE]]. */
/*
 * All are small on disk (holes count for nothing), and any user can make them and map
 * them executable. With BASE, a program or library, the file runs as BASE does.
 */
#include <dwarf.h>
#include <zlib.h>

#include "elfbomb.h"
#include "../../../gc/provider/frame.h"

#define MIB ((uint64_t)1 << 20)

struct note {
	Elf64_Nhdr header;
	char owner[8];
	uint64_t address, base, semaphore;
	char names[28]; /* provider, probe, arguments */
} __attribute__((packed));

/* A table of `count` symbols, and that of their names. */
static void put_symbol_table(struct bomb *bomb, const Elf64_Sym *symbols, uint64_t count,
			     const char *names, uint64_t names_size)
{
	uint64_t size = count * sizeof(*symbols);
	uint32_t strings;

	strings = bomb_section(bomb, ".strtab",
			       (Elf64_Shdr){.sh_type = SHT_STRTAB,
					    .sh_offset = bomb_put(bomb, names, names_size),
					    .sh_size = names_size});
	bomb_align(bomb);
	bomb_section(bomb, ".symtab",
		     (Elf64_Shdr){.sh_type = SHT_SYMTAB,
				  .sh_offset = bomb_put(bomb, symbols, size),
				  .sh_size = size,
				  .sh_link = strings,
				  .sh_info = 1,
				  .sh_entsize = sizeof(*symbols)});
}

/* A build-id that no other number makes. */
static void put_build_id(struct bomb *bomb, uint64_t number)
{
	struct {
		Elf64_Nhdr header;
		char owner[4];
		uint64_t id[2];
	} id = {{4, 16, NT_GNU_BUILD_ID}, "GNU", {number, ~number}};

	bomb_section(bomb, ".note.gnu.build-id",
		     (Elf64_Shdr){.sh_type = SHT_NOTE,
				  .sh_offset = bomb_put(bomb, &id, sizeof(id)),
				  .sh_size = sizeof(id),
				  .sh_addralign = 4});
}

/* An ordinary file: its function has a name. */
static void put_plain(struct bomb *bomb, uint64_t number)
{
	static const char strings[] = "\0bomb_spin";
	Elf64_Sym symbols[2] = {{0},
				{.st_name = 1,
				 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				 .st_shndx = 1,
				 .st_value = TEXT_OFFSET,
				 .st_size = 16}};

	put_build_id(bomb, number);
	put_symbol_table(bomb, symbols, 2, strings, sizeof(strings));
}

/* A table of N section headers, nearly all of them a hole. */
static void put_sections(struct bomb *bomb, uint64_t count)
{
	bomb->claimed = count;
}

/* Names of sections that take N MiB. */
static void put_strings(struct bomb *bomb, uint64_t mib)
{
	bomb->names_claimed = mib * MIB;
}

/* A zlib stream of zeros: a piece that stands for one MiB, again and again. */
static uint64_t put_zeros(struct bomb *bomb, uint64_t mib, uint64_t *size)
{
	static const uint8_t begin[] = {0x78, 0xda}, end[] = {0x03, 0x00};
	uint8_t *zeros = calloc(1, MIB), piece[4096], sum_bytes[4];
	uint64_t at = bomb_put(bomb, begin, sizeof(begin)), piece_size;
	uLong one, sum = adler32(0, NULL, 0);
	z_stream stream = {.next_in = zeros, .avail_in = MIB};

	must(zeros && deflateInit2(&stream, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) == Z_OK,
	     "zlib");
	stream.next_out = piece;
	stream.avail_out = sizeof(piece);
	must(deflate(&stream, Z_FULL_FLUSH) == Z_OK && !stream.avail_in, "zlib");
	piece_size = sizeof(piece) - stream.avail_out;
	deflateEnd(&stream);
	one = adler32(sum, zeros, MIB);
	for (uint64_t i = 0; i < mib; i++) {
		bomb_put(bomb, piece, piece_size);
		sum = adler32_combine(sum, one, (z_off_t)MIB);
	}
	bomb_put(bomb, end, sizeof(end));
	for (int i = 0; i < 4; i++)
		sum_bytes[i] = (uint8_t)(sum >> (24 - 8 * i));
	bomb_put(bomb, sum_bytes, sizeof(sum_bytes));
	free(zeros);
	*size = bomb->at - at;
	return at;
}

/* A section that is N MiB once it is expanded, and a thousandth of that in the file. */
static void put_compressed(struct bomb *bomb, const char *name, uint64_t mib)
{
	Elf64_Chdr head = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = mib * MIB, .ch_addralign = 1};
	uint64_t at = bomb_put(bomb, &head, sizeof(head)), size;

	put_zeros(bomb, mib, &size);
	bomb_section(bomb, name,
		     (Elf64_Shdr){.sh_type = SHT_PROGBITS,
				  .sh_flags = SHF_COMPRESSED,
				  .sh_offset = at,
				  .sh_size = sizeof(head) + size,
				  .sh_addralign = 8});
}

static void put_inflate(struct bomb *bomb, uint64_t mib)
{
	put_compressed(bomb, ".eh_frame", mib);
}

/* The same in what names and lines are found in. */
static void put_dwarf(struct bomb *bomb, uint64_t mib)
{
	static const uint8_t abbreviations[] = {1, DW_TAG_compile_unit, DW_CHILDREN_no, 0, 0, 0};

	put_plain(bomb, mib);
	bomb_section(bomb, ".debug_abbrev",
		     (Elf64_Shdr){.sh_type = SHT_PROGBITS,
				  .sh_offset = bomb_put(bomb, abbreviations, sizeof(abbreviations)),
				  .sh_size = sizeof(abbreviations)});
	put_compressed(bomb, ".debug_info", mib);
	put_compressed(bomb, ".debug_line", mib);
}

/* Notes that describe probes at these addresses, one each. */
static void put_probes(struct bomb *bomb, uint64_t count, uint64_t address, uint64_t step)
{
	static const char names[] = "gcprof\0type\0008@%rdi 8@%rsi";
	struct note note = {
		.header = {8, 24 + sizeof(note.names), 3},
		.owner = "stapsdt",
		.address = address,
	};
	uint64_t at = bomb->at;

	memcpy(note.names, names, sizeof(names));
	for (uint64_t i = 0; i < count; i++, note.address += step)
		bomb_put(bomb, &note, sizeof(note));
	bomb_section(bomb, ".note.stapsdt",
		     (Elf64_Shdr){.sh_type = SHT_NOTE,
				  .sh_offset = at,
				  .sh_size = count * sizeof(note),
				  .sh_addralign = 4});
}

/* N notes of probes that lie nowhere, and a million program headers to look for them in. */
static void put_notes(struct bomb *bomb, uint64_t count)
{
	put_probes(bomb, count, UINT64_C(1) << 40, 1);
	bomb->n_phdrs = 1000000;
	bomb->header.e_phoff = bomb_hole(bomb, bomb->n_phdrs * sizeof(Elf64_Phdr));
}

/* N probes, each with a place of its own. */
static void put_sites(struct bomb *bomb, uint64_t count)
{
	must(count <= TEXT_BYTES - 16, "as many instructions");
	put_probes(bomb, count, TEXT_OFFSET + 16, 1);
}

/* N functions, whose frames begin with the same program of one MiB. */
static void put_cfa(struct bomb *bomb, uint64_t count)
{
	static const struct {
		uint32_t length, link;
		uint8_t version, augmentation, code_align, data_align, return_register;
	} __attribute__((packed)) common = {9 + MIB, 0, 1, 0, 1, 0x78, 16};
	uint64_t at = bomb_hole(bomb, sizeof(common) + MIB);

	bomb_write_at(bomb, &common, sizeof(common), at);
	for (uint64_t i = 0; i < count; i++) {
		struct {
			uint32_t length, link;
			uint64_t begin, size;
		} __attribute__((packed))
		function = {20, (uint32_t)(bomb->at - at + 4), TEXT_OFFSET + i % TEXT_BYTES, 1};

		bomb_put(bomb, &function, sizeof(function));
	}
	bomb_section(bomb, ".eh_frame",
		     (Elf64_Shdr){.sh_type = SHT_PROGBITS,
				  .sh_flags = SHF_ALLOC,
				  .sh_addr = 0x100000,
				  .sh_offset = at,
				  .sh_size = bomb->at - at,
				  .sh_addralign = 8});
}

/* Symbols without names, of N MiB: a hole. */
static uint32_t put_table(struct bomb *bomb, uint64_t mib)
{
	uint64_t size = mib * MIB / sizeof(Elf64_Sym) * sizeof(Elf64_Sym);

	return bomb_section(bomb, ".symtab",
			    (Elf64_Shdr){.sh_type = SHT_SYMTAB,
					 .sh_offset = bomb_hole(bomb, size),
					 .sh_size = size,
					 .sh_link = 2,
					 .sh_info = 1,
					 .sh_entsize = sizeof(Elf64_Sym)});
}

static void put_symbols(struct bomb *bomb, uint64_t mib)
{
	static const char strings[] = "\0bomb_spin";

	bomb_section(bomb, ".strtab",
		     (Elf64_Shdr){.sh_type = SHT_STRTAB,
				  .sh_offset = bomb_put(bomb, strings, sizeof(strings)),
				  .sh_size = sizeof(strings)});
	put_table(bomb, mib);
}

/* N functions that begin at the same place, all with one name as long as names may be: it takes
 * minutes to put them in order. */
static void put_names(struct bomb *bomb, uint64_t count)
{
	uint64_t address = bomb->header.e_entry ? bomb->header.e_entry : TEXT_OFFSET;
	Elf64_Sym *symbols = calloc(count, sizeof(*symbols));
	const size_t bytes = 60 << 10; /* of the name */
	char *name = malloc(bytes);

	must(symbols && name, "memory");
	memset(name, 'a', bytes);
	name[0] = name[bytes - 1] = 0;
	for (uint64_t i = 1; i < count; i++)
		symbols[i] = (Elf64_Sym){.st_name = 1,
					 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					 .st_shndx = 1,
					 .st_value = address,
					 .st_size = 16};
	put_build_id(bomb, count);
	put_symbol_table(bomb, symbols, count, name, bytes);
	free(symbols);
	free(name);
}

/* A control block at address N. */
static void put_control(struct bomb *bomb, uint64_t address)
{
	const struct gcprof_control block = {.magic = GCPROF_CONTROL_MAGIC,
					     .version = GCPROF_CONTROL_VERSION};
	uint64_t at = bomb_align(bomb);

	bomb_put(bomb, &block, sizeof(block));
	bomb_segment(bomb, (Elf64_Phdr){.p_type = PT_LOAD,
					.p_flags = PF_R | PF_W,
					.p_offset = at,
					.p_vaddr = address,
					.p_filesz = sizeof(block),
					.p_memsz = sizeof(block)});
	/* A program with a control block has probes. */
	put_probes(bomb, 1, TEXT_OFFSET + 16, 1);
}

/* The same behind notes of probes that lie nowhere, in any of 4000 segments: a second or two. */
static void put_slow(struct bomb *bomb, uint64_t address)
{
	enum { EMPTY = 4000, NOTES = 50000 };
	Elf64_Phdr code;

	must(pread(bomb->fd, &code, sizeof(code), (off_t)bomb->header.e_phoff) == sizeof(code),
	     "read");
	bomb->header.e_phoff = bomb_hole(bomb, (EMPTY + 2) * sizeof(code));
	bomb->header.e_phnum = EMPTY;
	bomb_segment(bomb, code);
	put_probes(bomb, NOTES, UINT64_C(1) << 40, 1);
	put_control(bomb, address);
}

static const struct {
	const char *name;
	void (*put)(struct bomb *bomb, uint64_t number);
	uint64_t usual;
} modes[] = {
	{"plain", put_plain, 1},        {"sections", put_sections, 4000000},
	{"strings", put_strings, 1024}, {"inflate", put_inflate, 1024},
	{"dwarf", put_dwarf, 480},      {"notes", put_notes, 200000},
	{"sites", put_sites, 1024},     {"cfa", put_cfa, 43000},
	{"symbols", put_symbols, 1024}, {"control", put_control, 0},
	{"slow", put_slow, 0},          {"names", put_names, 1000000},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct bomb bomb;

		if (strcmp(argv[1], modes[i].name) != 0)
			continue;
		if (argc > 4)
			bomb_begin_with(&bomb, argv[2], argv[4]);
		else
			bomb_begin(&bomb, argv[2]);
		modes[i].put(&bomb,
			     argc > 3 && *argv[3] ? strtoull(argv[3], NULL, 0) : modes[i].usual);
		bomb_end(&bomb);
		return 0;
	}
	fprintf(stderr, "elfbomb MODE OUT [NUMBER [BASE]]\n");
	return 2;
}
