/* SPDX-License-Identifier: BSD-2-Clause */
/* notes.c: parses the SystemTap notes of an ELF file, and the locations of their arguments. */
/*
 * A SystemTap note (version 3) has owner "stapsdt" and type 3. Its content is three addresses (the
 * nop, the address of section .stapsdt.base when the note was written, the semaphore or 0) and
 * three strings (provider, name, arguments). Tools that move code after linking move .stapsdt.base
 * but do not update the note, so all addresses are corrected by the difference.
 */
#include "notes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
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

/*
 * An argument (x86-64) is a size in bytes, negative if signed, an @, and an operand in assembler
 * syntax. Anything not understood completely is refused.
 */
enum { OPERAND_TEXT_MAX = 63 };

/* The words of struct pt_regs in order, with all names of each register. */
static const struct {
	const char *names[4]; /* 8, 4, 2 and 1 byte */
	uint8_t word;
} registers[] = {
	{{"r15", "r15d", "r15w", "r15b"}, 0}, {{"r14", "r14d", "r14w", "r14b"}, 1},
	{{"r13", "r13d", "r13w", "r13b"}, 2}, {{"r12", "r12d", "r12w", "r12b"}, 3},
	{{"rbp", "ebp", "bp", "bpl"}, 4},     {{"rbx", "ebx", "bx", "bl"}, 5},
	{{"r11", "r11d", "r11w", "r11b"}, 6}, {{"r10", "r10d", "r10w", "r10b"}, 7},
	{{"r9", "r9d", "r9w", "r9b"}, 8},     {{"r8", "r8d", "r8w", "r8b"}, 9},
	{{"rax", "eax", "ax", "al"}, 10},     {{"rcx", "ecx", "cx", "cl"}, 11},
	{{"rdx", "edx", "dx", "dl"}, 12},     {{"rsi", "esi", "si", "sil"}, 13},
	{{"rdi", "edi", "di", "dil"}, 14},    {{"rsp", "esp", "sp", "spl"}, 19},
};

/* Takes %NAME; `whole` allows only 8-byte registers. */
static bool take_register(const char **at, bool whole, uint8_t *word)
{
	size_t length;

	if (**at != '%')
		return false;
	length = strspn(*at + 1, "abcdefghijklmnopqrstuvwxyz0123456789");
	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
		for (int name = 0; name < (whole ? 1 : 4); name++) {
			const char *candidate = registers[i].names[name];
			if (strlen(candidate) != length || memcmp(candidate, *at + 1, length) != 0)
				continue;
			*word = registers[i].word;
			*at += 1 + length;
			return true;
		}
	}
	return false;
}

/* Takes a decimal or hexadecimal number. */
static bool take_number(const char **at, int64_t *value)
{
	const char *digits = *at + (**at == '-');
	int base = digits[0] == '0' && digits[1] == 'x' ? 16 : 10;
	char *end;

	if (*digits < '0' || *digits > '9')
		return false;
	errno = 0;
	*value = (int64_t)strtoll(*at, &end, base);
	if (errno == ERANGE && **at != '-') {
		errno = 0;
		*value = (int64_t)strtoull(*at, &end, base);
	}
	*at = end;
	return errno == 0;
}

static bool take_character(const char **at, char wanted)
{
	if (**at != wanted)
		return false;
	++*at;
	return true;
}

/* The part in parentheses: (%base), (%base,%index), (%base,%index,scale). */
static bool take_memory(const char **at, struct probe_argument *out)
{
	int64_t scale = 1;

	out->operand = OPERAND_MEMORY;
	if (!take_character(at, '(') || !take_register(at, true, &out->base))
		return false;
	if (take_character(at, ',')) {
		if (!take_register(at, true, &out->index))
			return false;
		if (take_character(at, ',') && !take_number(at, &scale))
			return false;
	}
	if (scale != 1 && scale != 2 && scale != 4 && scale != 8)
		return false;
	out->scale = (uint8_t)scale;
	return take_character(at, ')');
}

static bool take_operand(const char **at, struct probe_argument *out)
{
	out->index = OPERAND_NO_INDEX;
	if (take_character(at, '$')) {
		out->operand = OPERAND_CONSTANT;
		return take_number(at, &out->value);
	}
	if (**at == '%') {
		out->operand = OPERAND_REGISTER;
		return take_register(at, false, &out->base);
	}
	if (**at != '(' && !take_number(at, &out->value))
		return false;
	return take_memory(at, out);
}

int operand_next(const char **text, struct probe_argument *out)
{
	char word[OPERAND_TEXT_MAX + 1];
	const char *at = word;
	size_t length;
	int64_t size;

	*text += strspn(*text, " ");
	length = strcspn(*text, " ");
	if (!length)
		return 0;
	if (length > OPERAND_TEXT_MAX)
		return -EINVAL;
	memcpy(word, *text, length);
	word[length] = '\0';
	*text += length;
	*out = (struct probe_argument){0};
	if (!take_number(&at, &size) || !take_character(&at, '@'))
		return -EINVAL;
	out->is_signed = size < 0;
	size = size < 0 ? -size : size;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return -EINVAL;
	out->size = (uint8_t)size;
	return take_operand(&at, out) && !*at ? 1 : -EINVAL;
}
