/* SPDX-License-Identifier: BSD-2-Clause */
/* named.c: runtimes that are only recognised by name. */
/*
 * So that reports can say which runtime it is, and give advice that holds for it: flags of other
 * runtimes would be of no use.
 */
#include <string.h>

#include "code.h"
#include "../symbols/elf_file.h"

/* NULL: not asked for. */
struct named {
	const char *exports, *section, *text;
	bool any; /* one of them suffices */
};

enum {
	TEXT_MAX = 32,
	ANY_BYTES = 8 << 20,      /* searched in programs that nothing else tells apart */
	EXPORTED_BYTES = 64 << 20 /* in those that export the names as well */
};

static bool exports_all(struct runtime_file *file, const char *names)
{
	char name[64];
	uint64_t address;

	for (size_t length; *names; names += length + (names[length] == ' ')) {
		length = strcspn(names, " ");
		if (length >= sizeof(name))
			return false;
		memcpy(name, names, length);
		name[length] = '\0';
		if (!runtime_exported(file, name, &address))
			return false;
	}
	return true;
}

struct wanted {
	const char *text;
	size_t length;
	bool part; /* of a longer constant: gcprof itself has all of them alone */
	bool found;
};

static void look(void *context, uint64_t address, const uint8_t *bytes, size_t size)
{
	struct wanted *wanted = context;
	const uint8_t *end = bytes + size, *at = bytes;

	(void)address;
	while (!wanted->found &&
	       (at = memmem(at, (size_t)(end - at), wanted->text, wanted->length))) {
		wanted->found = !wanted->part || (at > bytes && at[-1]);
		at++;
	}
}

static bool has_text(struct runtime_file *file, const char *text, bool part, uint64_t most)
{
	struct wanted wanted = {text, strlen(text), part, false};

	code_visit_all(file, SHF_ALLOC, TEXT_MAX, &most, look, &wanted);
	return wanted.found;
}

/* A program, not a library. */
static bool is_program(struct runtime_file *file)
{
	GElf_Ehdr header;
	GElf_Phdr segment;

	if (!gelf_getehdr(file->elf, &header))
		return false;
	for (size_t i = 0; elf_segment(file->elf, i, &segment); i++)
		if (segment.p_type == PT_INTERP)
			return true;
	return header.e_type == ET_EXEC;
}

static bool named_recognise(struct runtime_file *file, const struct named *named)
{
	GElf_Shdr header;

	/* Enough, or too little. */
	if (named->exports && exports_all(file, named->exports) == named->any)
		return named->any;
	if (named->section)
		return elf_section_find(file->elf, named->section, &header) != NULL;
	if (!named->text)
		return !named->any;
	if (!named->any)
		return has_text(file, named->text, false, EXPORTED_BYTES);
	return is_program(file) && has_text(file, named->text, true, ANY_BYTES);
}

static const char *named_note(const struct runtime_facts *facts)
{
	(void)facts;
	return "gcprof records neither its collections nor its allocations";
}

enum { ALL, ANY, FILE_ITSELF, MEMORY };

#define NAMED(number, NAME, symbol, title, exported, part, constant, how, keeps, place, sentence) \
	static bool recognise_##symbol(struct runtime_file *file, struct runtime_facts *out)      \
	{                                                                                         \
		static const struct named named = {exported, part, constant, (how) == ANY};       \
                                                                                                  \
		(void)out;                                                                        \
		return named_recognise(file, &named);                                             \
	}                                                                                         \
                                                                                                  \
	const struct runtime runtime_##symbol = {                                                 \
		.id = RUNTIME_##NAME,                                                             \
		.name = (title),                                                                  \
		.names = (sentence),                                                              \
		.names_file = (place) == FILE_ITSELF,                                             \
		.keeps_frames = (keeps),                                                          \
		.recognise = recognise_##symbol,                                                  \
		.note = named_note,                                                               \
	};
#include "recognised.def"
