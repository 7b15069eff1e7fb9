/* SPDX-License-Identifier: BSD-2-Clause */
/* elfbomb.h: writes ELF files piece by piece: sections that are as large as they say, or sparse. */
#ifndef ELFBOMB_H
#define ELFBOMB_H

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_OFFSET 0x1000 /* of the code, in the file and in memory */
#define TEXT_BYTES  0x1000
#define SECTIONS    64

struct bomb {
	int fd;
	uint64_t at; /* where the next piece goes */
	Elf64_Ehdr header;
	Elf64_Shdr sections[SECTIONS];
	uint64_t n_sections;
	uint64_t claimed; /* sections that the file says it has; 0: those that it has */
	uint64_t n_phdrs; /* program headers, if there are more than the header can say */
	char names[1024];
	uint64_t names_size;
	uint64_t names_claimed; /* size of their table; 0: as it is */
};

static inline void must(int holds, const char *what)
{
	if (holds)
		return;
	perror(what);
	exit(1);
}

/* Writes at a place; beyond the end of the file a hole is left. */
static inline void bomb_write_at(const struct bomb *bomb, const void *data, uint64_t size,
				 uint64_t at)
{
	must(pwrite(bomb->fd, data, size, (off_t)at) == (ssize_t)size, "write");
}

/* Adds a piece; where it is. */
static inline uint64_t bomb_put(struct bomb *bomb, const void *data, uint64_t size)
{
	uint64_t at = bomb->at;

	bomb_write_at(bomb, data, size, at);
	bomb->at += size;
	return at;
}

/* What is added next begins at a multiple of 8. */
static inline uint64_t bomb_align(struct bomb *bomb)
{
	return bomb->at = (bomb->at + 7) & ~UINT64_C(7);
}

/* Adds a hole, aligned. */
static inline uint64_t bomb_hole(struct bomb *bomb, uint64_t size)
{
	uint64_t at = (bomb->at + 0xfff) & ~UINT64_C(0xfff);

	bomb->at = at + size;
	must(ftruncate(bomb->fd, (off_t)bomb->at) == 0, "ftruncate");
	return at;
}

/* Adds a section; its index. */
static inline uint32_t bomb_section(struct bomb *bomb, const char *name, Elf64_Shdr section)
{
	size_t length = strlen(name) + 1;

	must(bomb->n_sections < SECTIONS && bomb->names_size + length <= sizeof(bomb->names),
	     "too many sections");
	section.sh_name = (uint32_t)bomb->names_size;
	if (!section.sh_addralign)
		section.sh_addralign = 1;
	memcpy(bomb->names + bomb->names_size, name, length);
	bomb->names_size += length;
	bomb->sections[bomb->n_sections] = section;
	bomb_align(bomb);
	return (uint32_t)bomb->n_sections++;
}

/* A page of code: a function that takes a fraction of a millisecond, then instructions that do
 * nothing. */
static inline void bomb_text(struct bomb *bomb)
{
	static const uint8_t spin[] = {0xb9, 0x00, 0x00, 0x08, 0x00, /* mov $0x80000, %ecx */
				       0xff, 0xc9,                   /* dec %ecx */
				       0x75, 0xfc,                   /* jnz back */
				       0xc3};
	uint8_t text[TEXT_BYTES];

	memset(text, 0x90, sizeof(text));
	memcpy(text, spin, sizeof(spin));
	bomb_write_at(bomb, text, sizeof(text), TEXT_OFFSET);
}

static inline void bomb_open(struct bomb *bomb, const char *path)
{
	*bomb = (struct bomb){.names_size = 1, .n_sections = 1};
	bomb->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	must(bomb->fd >= 0, path);
}

/* Adds a program header to those of bomb_begin(). */
static inline void bomb_segment(struct bomb *bomb, Elf64_Phdr segment)
{
	bomb_write_at(bomb, &segment, sizeof(segment),
		      bomb->header.e_phoff + bomb->header.e_phnum++ * sizeof(segment));
}

/* Begins a file that has one segment of code, and the section for it. */
static inline void bomb_begin(struct bomb *bomb, const char *path)
{
	Elf64_Phdr segment = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_filesz = TEXT_OFFSET + TEXT_BYTES,
		.p_memsz = TEXT_OFFSET + TEXT_BYTES,
		.p_align = 0x1000,
	};

	bomb_open(bomb, path);
	bomb->header = (Elf64_Ehdr){
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
	};
	bomb_write_at(bomb, &segment, sizeof(segment), sizeof(Elf64_Ehdr));
	bomb_text(bomb);
	bomb->at = TEXT_OFFSET + TEXT_BYTES;
	bomb_section(bomb, ".text",
		     (Elf64_Shdr){.sh_type = SHT_PROGBITS,
				  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				  .sh_addr = TEXT_OFFSET,
				  .sh_offset = TEXT_OFFSET,
				  .sh_size = TEXT_BYTES});
}

/* Begins with a copy of a program or library: it runs as before, and has other sections. */
static inline void bomb_begin_with(struct bomb *bomb, const char *path, const char *base)
{
	int from = open(base, O_RDONLY | O_CLOEXEC);
	char block[65536];
	ssize_t n;

	must(from >= 0, base);
	bomb_open(bomb, path);
	while ((n = read(from, block, sizeof(block))) > 0)
		bomb_put(bomb, block, (uint64_t)n);
	must(n == 0 && pread(from, &bomb->header, sizeof(bomb->header), 0) ==
			       (ssize_t)sizeof(bomb->header),
	     base);
	close(from);
	bomb_align(bomb);
	bomb_section(bomb, ".text",
		     (Elf64_Shdr){.sh_type = SHT_PROGBITS,
				  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				  .sh_addr = TEXT_OFFSET,
				  .sh_offset = TEXT_OFFSET,
				  .sh_size = TEXT_BYTES});
}

/* The names of sections, the table of sections and the header. */
static inline void bomb_end(struct bomb *bomb)
{
	uint64_t table, count;
	uint32_t names;

	names = bomb_section(bomb, ".shstrtab", (Elf64_Shdr){.sh_type = SHT_STRTAB});
	bomb->sections[names].sh_size = bomb->names_claimed ? bomb->names_claimed
							    : bomb->names_size;
	bomb->sections[names].sh_offset = bomb->names_claimed ? bomb_hole(bomb, bomb->names_claimed)
							      : bomb->at;
	bomb_write_at(bomb, bomb->names, bomb->names_size, bomb->sections[names].sh_offset);
	if (!bomb->names_claimed)
		bomb->at += bomb->names_size;
	count = bomb->claimed ? bomb->claimed : bomb->n_sections;
	table = bomb_hole(bomb, count * sizeof(Elf64_Shdr));
	bomb->header.e_shoff = table;
	bomb->header.e_shstrndx = (uint16_t)names;
	bomb->header.e_shnum = count < SHN_LORESERVE ? (uint16_t)count : 0;
	if (!bomb->header.e_shnum)
		bomb->sections[0].sh_size = count;
	if (bomb->n_phdrs) {
		bomb->header.e_phnum = PN_XNUM;
		bomb->sections[0].sh_info = (uint32_t)bomb->n_phdrs;
	}
	bomb_write_at(bomb, bomb->sections, bomb->n_sections * sizeof(Elf64_Shdr), table);
	bomb_write_at(bomb, &bomb->header, sizeof(bomb->header), 0);
	close(bomb->fd);
}

#endif
