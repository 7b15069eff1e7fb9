// SPDX-License-Identifier: BSD-2-Clause
/* build_id.c: the GNU build-id of an ELF file. */
/*
 * Read by hand, since it happens while a recording runs, for each file that is
 * mapped: three short reads instead of a library that looks at everything. The
 * file is hostile until shown otherwise: no size in it is believed.
 */
#include "build_id.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define HEADERS_MAX 128
#define NOTES_BYTES 4096 /* looked at in one segment: the id stands among the first */

/* Fills as much of `data` as the file has. */
static ssize_t read_at(int fd, void *data, size_t size, uint64_t offset)
{
	size_t done = 0;

	if (offset > INT64_MAX - size)
		return -EINVAL;
	while (done < size) {
		ssize_t n = pread(fd, (char *)data + done, size - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static size_t align_up(size_t size, size_t alignment)
{
	return (size + alignment - 1) & ~(alignment - 1);
}

/* Looks for the note among `size` bytes; the size of the id, or 0. */
static int find_in_notes(const unsigned char *notes, size_t size, size_t alignment,
			 unsigned char id[BUILD_ID_MAX])
{
	size_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note; /* the same in 32-bit files */
		size_t name, text;

		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		if (note.n_namesz > size - name)
			return 0;
		text = align_up(name + note.n_namesz, alignment);
		if (text > size || note.n_descsz > size - text)
			return 0;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    !memcmp(notes + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) &&
		    note.n_descsz > 0 && note.n_descsz <= BUILD_ID_MAX) {
			memcpy(id, notes + text, note.n_descsz);
			return (int)note.n_descsz;
		}
		at = align_up(text + note.n_descsz, alignment);
		if (at > size)
			return 0;
	}
	return 0;
}

static int read_notes(int fd, const Elf64_Phdr *header, unsigned char id[BUILD_ID_MAX])
{
	unsigned char notes[NOTES_BYTES];
	size_t size = header->p_filesz < sizeof(notes) ? header->p_filesz : sizeof(notes);
	ssize_t n = read_at(fd, notes, size, header->p_offset);

	return n < 0 ? 0 : find_in_notes(notes, (size_t)n, header->p_align == 8 ? 8 : 4, id);
}

/* Program header `i`, widened if the file is a 32-bit one. */
static bool read_header(int fd, const Elf64_Ehdr *file, unsigned i, Elf64_Phdr *out)
{
	uint64_t at = file->e_phoff + (uint64_t)i * file->e_phentsize;
	Elf32_Phdr narrow;

	if (at < file->e_phoff)
		return false;
	if (file->e_ident[EI_CLASS] == ELFCLASS64)
		return read_at(fd, out, sizeof(*out), at) == sizeof(*out);
	if (read_at(fd, &narrow, sizeof(narrow), at) != sizeof(narrow))
		return false;
	out->p_type = narrow.p_type;
	out->p_offset = narrow.p_offset;
	out->p_filesz = narrow.p_filesz;
	out->p_align = narrow.p_align;
	return true;
}

/* The file's header, widened if need be. */
static int read_file_header(int fd, Elf64_Ehdr *out)
{
	union {
		Elf64_Ehdr wide;
		Elf32_Ehdr narrow;
	} file = {0};
	ssize_t n = read_at(fd, &file, sizeof(file), 0);

	if (n < 0)
		return (int)n;
	if ((size_t)n < sizeof(file.narrow) || memcmp(file.wide.e_ident, ELFMAG, SELFMAG) ||
	    file.wide.e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	*out = file.wide;
	if (file.wide.e_ident[EI_CLASS] == ELFCLASS32) {
		out->e_phoff = file.narrow.e_phoff;
		out->e_phnum = file.narrow.e_phnum;
		out->e_phentsize = file.narrow.e_phentsize;
	}
	return 0;
}

int build_id_read(int fd, unsigned char id[BUILD_ID_MAX])
{
	Elf64_Ehdr file = {0};
	int err = read_file_header(fd, &file);

	if (err)
		return err;
	for (unsigned i = 0; i < file.e_phnum && i < HEADERS_MAX; i++) {
		Elf64_Phdr header = {0};
		int size;

		if (!read_header(fd, &file, i, &header))
			return 0;
		if (header.p_type != PT_NOTE)
			continue;
		size = read_notes(fd, &header, id);
		if (size)
			return size;
	}
	return 0;
}
