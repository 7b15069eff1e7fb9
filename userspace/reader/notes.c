/* SPDX-License-Identifier: BSD-2-Clause */
/* notes.c: parses the SystemTap notes of an ELF file. */
/*
 * A SystemTap note (version 3) has owner "stapsdt" and type 3. Its content is three addresses (the
 * nop, the address of section .stapsdt.base when the note was written, the semaphore or 0) and
 * three strings (provider, name, arguments). Tools that move code after linking move .stapsdt.base
 * but do not update the note, so all addresses are corrected by the difference.
 */
#include "notes.h"

#include <string.h>
#include <unistd.h>

#include "../symbols/elf_file.h"

#define NOTE_SECTION ".note.stapsdt"
#define BASE_SECTION ".stapsdt.base"
#define NOTE_OWNER   "stapsdt"
#define NOTE_TYPE    3
#define NOTES_MAX    (4u << 20) /* limit for bytes of notes */

#define SEMAPHORE_BYTES 2

struct base {
	bool known;
	uint64_t address; /* current address of .stapsdt.base */
};

/* Takes a string from *rest; NULL if it is not terminated. */
static const char *take_string(const char **rest, size_t *left)
{
	const char *start = *rest;
	const char *end = memchr(start, '\0', *left);

	if (!end)
		return NULL;
	*left -= (size_t)(end + 1 - start);
	*rest = end + 1;
	return start;
}

/* Parses the content of a note; false if it is incomplete. */
static bool note_parse(const char *content, size_t size, const struct base *base,
		       struct probe_note *out)
{
	uint64_t words[3], moved;

	if (size < sizeof(words))
		return false;
	memcpy(words, content, sizeof(words));
	moved = base->known && words[1] ? base->address - words[1] : 0;
	out->address = words[0] + moved;
	out->semaphore = words[2] ? words[2] + moved : 0;
	content += sizeof(words);
	size -= sizeof(words);
	out->provider = take_string(&content, &size);
	out->name = out->provider ? take_string(&content, &size) : NULL;
	out->arguments = out->name ? take_string(&content, &size) : NULL;
	return out->arguments != NULL;
}

static void read_data(Elf_Data *data, const struct base *base, notes_visitor *visit, void *context)
{
	size_t at = 0, next, name_at, content_at;
	GElf_Nhdr header;
	struct probe_note note;

	while (at < data->d_size &&
	       (next = gelf_getnote(data, at, &header, &name_at, &content_at)) > 0) {
		const char *owner = (const char *)data->d_buf + name_at;
		const char *content = (const char *)data->d_buf + content_at;

		at = next;
		if (header.n_type != NOTE_TYPE || header.n_namesz != sizeof(NOTE_OWNER) ||
		    memcmp(owner, NOTE_OWNER, sizeof(NOTE_OWNER)) != 0)
			continue;
		if (note_parse(content, header.n_descsz, base, &note))
			visit(context, &note);
	}
}

void notes_visit(Elf *elf, notes_visitor *visit, void *context)
{
	struct base base = {0};
	GElf_Shdr header;
	Elf_Scn *notes;
	Elf_Data *data;

	if (elf_section_find(elf, BASE_SECTION, &header))
		base = (struct base){true, header.sh_addr};
	notes = elf_section_find(elf, NOTE_SECTION, &header);
	if (!notes || header.sh_type != SHT_NOTE || header.sh_size > NOTES_MAX)
		return;
	data = elf_section_data(notes);
	if (data && data->d_buf)
		read_data(data, &base, visit, context);
}

/* A segment may claim more than the file holds. */
bool note_semaphore(Elf *elf, int fd, const struct probe_note *note, uint64_t *offset)
{
	unsigned char bytes[SEMAPHORE_BYTES];

	*offset = 0;
	return !note->semaphore ||
	       (elf_offset(elf, note->semaphore, sizeof(bytes), PF_W, offset) &&
		pread(fd, bytes, sizeof(bytes), (off_t)*offset) == sizeof(bytes));
}
