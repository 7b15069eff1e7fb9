/* SPDX-License-Identifier: BSD-2-Clause */
/* find.c: recognises a runtime in an ELF file and finds its probe sites; in the confined reader. */
#include "find.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../reader/notes.h"
#include "../symbols/elf_file.h"
#include "../symbols/frame_info.h"

#define SYMBOLS_READ_MAX (1 << 20) /* per file */
#define TEXT_PART_BYTES  32
#define RETURNS_MAX      16 /* per function */
#define NAMES_BYTES      160

/* --- the file ----------------------------------------------------------------------------- */

bool runtime_offset(struct runtime_file *file, uint64_t address, size_t size, uint32_t flags,
		    uint64_t *offset)
{
	return elf_offset(file->elf, address, size, flags, offset);
}

/* The block at this offset, filled with zeroes behind the end of the file; NULL: no memory. */
static const struct runtime_block *block_at(struct runtime_file *file, uint64_t offset)
{
	uint64_t number = offset / RUNTIME_BLOCK_BYTES + 1;
	struct runtime_block *block;
	ssize_t got;

	if (!file->blocks)
		file->blocks = calloc(RUNTIME_BLOCKS, sizeof(*file->blocks));
	if (!file->blocks)
		return NULL;
	block = &file->blocks[number % RUNTIME_BLOCKS];
	if (block->number == number)
		return block;
	got = pread(file->fd, block->data, sizeof(block->data),
		    (off_t)((number - 1) * RUNTIME_BLOCK_BYTES));
	if (got < 0)
		got = 0;
	memset(block->data + got, 0, sizeof(block->data) - (size_t)got);
	block->number = number;
	return block;
}

bool runtime_read(struct runtime_file *file, uint64_t address, void *out, size_t size)
{
	uint64_t offset;

	if (!runtime_offset(file, address, size, 0, &offset))
		return false;
	for (size_t done = 0, part; done < size; done += part, offset += part) {
		const struct runtime_block *block = block_at(file, offset);
		size_t at = offset % RUNTIME_BLOCK_BYTES;

		if (!block)
			return false;
		part = RUNTIME_BLOCK_BYTES - at < size - done ? RUNTIME_BLOCK_BYTES - at
							      : size - done;
		memcpy((char *)out + done, block->data + at, part);
	}
	return true;
}

bool runtime_text(struct runtime_file *file, uint64_t address, char *out, size_t room)
{
	size_t part;

	for (size_t used = 0; used < room; used += part) {
		part = room - used < TEXT_PART_BYTES ? room - used : TEXT_PART_BYTES;
		if (!runtime_read(file, address + used, out + used, part) &&
		    !runtime_read(file, address + used, out + used, part = 1))
			break;
		if (memchr(out + used, '\0', part))
			return true;
	}
	out[0] = '\0';
	return false;
}

struct runtime_symbol {
	const char *name; /* borrowed from the file */
	uint64_t address, size;
	uint64_t hash; /* of the name */
};

static uint64_t hash_of(const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	while (*name)
		hash = (hash ^ (unsigned char)*name++) * UINT64_C(0x100000001b3);
	return hash;
}

static void read_table(struct runtime_file *file, Elf_Scn *section, const GElf_Shdr *header,
		       struct buffer *out)
{
	Elf_Data *data = elf_section_data(section);
	Elf_Data *strings = elf_section_data(elf_getscn(file->elf, header->sh_link));
	GElf_Sym symbol;

	for (int i = 0; data && i < SYMBOLS_READ_MAX && gelf_getsym(data, i, &symbol); i++) {
		struct runtime_symbol found = {.address = symbol.st_value, .size = symbol.st_size};

		found.name = symbol.st_value ? elf_string(strings, symbol.st_name) : NULL;
		if (!found.name || !*found.name)
			continue;
		found.hash = hash_of(found.name);
		if (buffer_append(out, &found, sizeof(found)))
			return;
	}
}

static void read_symbols(struct runtime_file *file, struct runtime_symbols *out, uint32_t type)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	out->is_read = true;
	while ((section = elf_nextscn(file->elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == type)
			read_table(file, section, &header, &out->list);
}

/* Only some dozens of names are looked up, so a pass over the hashes for each is fast enough. */
static bool find_symbol(struct runtime_file *file, struct runtime_symbols *table, uint32_t type,
			const char *name, uint64_t *address)
{
	const struct runtime_symbol *symbols;
	uint64_t hash = hash_of(name);

	if (!table->is_read)
		read_symbols(file, table, type);
	symbols = (const struct runtime_symbol *)(const void *)table->list.data;
	for (size_t i = 0; i < table->list.size / sizeof(*symbols); i++) {
		if (symbols[i].hash != hash || strcmp(symbols[i].name, name) != 0)
			continue;
		*address = symbols[i].address;
		return true;
	}
	return false;
}

bool runtime_exported(struct runtime_file *file, const char *name, uint64_t *address)
{
	return find_symbol(file, &file->exported, SHT_DYNSYM, name, address);
}

bool runtime_symbol(struct runtime_file *file, const char *name, uint64_t *address)
{
	return runtime_exported(file, name, address) ||
	       find_symbol(file, &file->symbols, SHT_SYMTAB, name, address);
}

static bool find_size(const struct runtime_symbols *table, uint64_t address, uint64_t *size)
{
	const struct runtime_symbol *symbols =
		(const struct runtime_symbol *)(const void *)table->list.data;

	for (size_t i = 0; i < table->list.size / sizeof(*symbols); i++) {
		if (symbols[i].address != address || !symbols[i].size)
			continue;
		*size = symbols[i].size;
		return true;
	}
	return false;
}

struct framed {
	uint64_t begin, size;
};

static int meet_function(void *context, const struct frame_function *function)
{
	struct framed *wanted = context;

	if (function->begin != wanted->begin)
		return 0;
	wanted->size = function->end - function->begin;
	return -EEXIST;
}

/* Stripped files keep their functions' frame information. */
static bool find_framed_size(struct runtime_file *file, uint64_t address, uint64_t *size)
{
	struct frame_section section = {0};
	struct framed wanted = {address, 0};
	GElf_Shdr header;
	const Elf_Data *data = elf_section_bytes(file->elf, ".eh_frame", &header);
	size_t refused = 0;

	if (!data || !data->d_buf)
		return false;
	section.data = data->d_buf;
	section.size = data->d_size;
	section.address = header.sh_addr;
	frame_info_each(&section, meet_function, &wanted, &refused);
	*size = wanted.size;
	return wanted.size;
}

bool runtime_symbol_size(struct runtime_file *file, uint64_t address, uint64_t *size)
{
	return find_size(&file->exported, address, size) ||
	       find_size(&file->symbols, address, size) || find_framed_size(file, address, size);
}

void runtime_own_code(struct runtime_facts *facts, uint64_t begin, uint64_t end)
{
	struct runtime_code *last = facts->n_own ? &facts->own[facts->n_own - 1] : NULL;

	if (last && begin >= last->end && begin - last->end < RUNTIME_GAP_MAX)
		last->end = end;
	else if (facts->n_own < RUNTIME_OWN_MAX)
		facts->own[facts->n_own++] = (struct runtime_code){begin, end};
}

/* --- probe sites -------------------------------------------------------------------------- */

struct search {
	struct runtime_file file;
	const struct runtime *runtime;
	struct runtime_facts *facts;
	struct probe_site *sites;
	size_t count;
};

/* Takes the next name of several from *names; false: there is none. */
static bool next_name(const char **names, char out[NAMES_BYTES])
{
	size_t length = strcspn(*names, "|");

	if (!length || length >= NAMES_BYTES)
		return false;
	snprintf(out, NAMES_BYTES, "%.*s", (int)length, *names);
	*names += length + ((*names)[length] == '|');
	return true;
}

static bool find_locate(struct search *search, const char *names, uint64_t *address)
{
	const struct runtime *runtime = search->runtime;
	char name[NAMES_BYTES];

	while (next_name(&names, name))
		if (runtime_symbol(&search->file, name, address) ||
		    (runtime->locate && runtime->locate(&search->file, name, address)))
			return true;
	return false;
}

static bool find_field(struct search *search, const char *names, int32_t *offset)
{
	const struct runtime *runtime = search->runtime;
	char name[NAMES_BYTES];

	while (runtime->field && next_name(&names, name))
		if (runtime->field(&search->file, name, offset))
			return true;
	return false;
}

static bool set_step(struct search *search, const struct argument_step *step,
		     struct probe_step *out)
{
	int32_t field = 0;

	if (step->field && !find_field(search, step->field, &field))
		return false;
	*out = (struct probe_step){.kind = step->kind,
				   .size = step->size,
				   .other = step->other,
				   .offset = field + step->offset};
	return true;
}

/* Sets an argument without its steps. `at`: address of the probe site. */
static bool set_operand(struct search *search, const struct place_argument *argument,
			const char *note, uint64_t at, struct probe_argument *out)
{
	uint64_t global;
	int found = 1;

	*out = (struct probe_argument){.operand = OPERAND_CONSTANT,
				       .index = OPERAND_NO_INDEX,
				       .size = 8,
				       .value = argument->number};
	switch (argument->from) {
	case FROM_REGISTER:
		out->operand = OPERAND_REGISTER;
		out->base = (uint8_t)argument->number;
		out->size = argument->size ? argument->size : 8;
		out->value = 0;
		return true;
	case FROM_NOTE:
		for (int64_t i = 0; note && i <= argument->number && found > 0; i++)
			found = operand_next(&note, out);
		return note && found > 0;
	case FROM_GLOBAL:
		if (!find_locate(search, argument->global, &global))
			return false;
		out->operand = OPERAND_ADDRESS;
		out->base = OPERAND_RIP;
		out->value = (int64_t)(global - at);
		return true;
	case FROM_NUMBER:
		return true;
	}
	return false;
}

static bool set_arguments(struct search *search, const struct runtime_place *place,
			  const char *note, uint64_t at, struct probe_place *out)
{
	for (out->count = 0; out->count < PROBE_ARGUMENTS; out->count++) {
		const struct place_argument *argument = &place->arguments[out->count];
		struct probe_argument *to = &out->arguments[out->count];

		if (!argument->from)
			break;
		if (!set_operand(search, argument, note, at, to))
			return false;
		for (size_t i = 0; i < PROBE_STEPS; i++)
			if (!set_step(search, &argument->steps[i], &to->steps[i]))
				return false;
	}
	return true;
}

static void set_texts(const struct runtime_place *place, struct probe_place *out)
{
	static const struct place_text none = {PLACE_NO_TEXT, PLACE_NO_TEXT, PLACE_NO_TEXT, 0};

	for (size_t i = 0; i < 2; i++) {
		bool used = place->texts[i].address || place->texts[i].length ||
			    place->texts[i].once;
		out->texts[i] = used ? place->texts[i] : none;
	}
}

/* The argument with this value, or one that there is not. */
static uint8_t argument_of(const struct runtime_place *place, enum place_value value)
{
	uint8_t i = 0;

	while (i < PROBE_ARGUMENTS && place->arguments[i].value != value)
		i++;
	return i;
}

/* A jbe, in either form. */
static bool is_jump(const uint8_t *code)
{
	return code[0] == 0x76 || (code[0] == 0x0f && code[1] == 0x86);
}

/* Adds a probe site at this address; false if it is unsuitable. `note`: its note, or NULL. */
static bool add_site(struct search *search, const struct runtime_place *place,
		     const struct probe_note *note, uint64_t at)
{
	struct probe_site site = {.place = {.probe = PROBE_PLACE,
					    .runtime = (uint16_t)search->facts->runtime,
					    .place = (uint16_t)(place - search->runtime->places),
					    .flags = place->flags}};

	if (search->count == PROBE_SITES_MAX ||
	    !runtime_offset(&search->file, at, sizeof(site.code), PF_X, &site.offset) ||
	    pread(search->file.fd, site.code, sizeof(site.code), (off_t)site.offset) !=
		    sizeof(site.code) ||
	    (note && !note_semaphore(search->file.elf, search->file.fd, note, &site.semaphore)) ||
	    !set_arguments(search, place, note ? note->arguments : NULL, at, &site.place))
		return false;
	set_texts(place, &site.place);
	site.place.object = argument_of(place, VALUE_OBJECT);
	site.place.class = argument_of(place, VALUE_TYPE);
	site.place.fates = place->fates;
	if (place->where == PLACE_BEHIND_CHECK && is_jump(site.code))
		site.place.flags |= PLACE_JUMP;
	if (place->report == PLACE_SAMPLE)
		search->facts->sampled = at;
	search->facts->follows |= place->fates.mode == FATES_COPIED;
	search->sites[search->count++] = site;
	return true;
}

struct note_search {
	struct search *search;
	const struct runtime_place *place;
	bool found, failed;
};

static void meet_note(void *context, const struct probe_note *note)
{
	struct note_search *wanted = context;
	size_t length = strlen(note->provider);

	if (strncmp(wanted->place->name, note->provider, length) ||
	    wanted->place->name[length] != ':' ||
	    strcmp(wanted->place->name + length + 1, note->name))
		return;
	wanted->found = true;
	wanted->failed |= !add_site(wanted->search, wanted->place, note, note->address);
}

static bool add_notes(struct search *search, const struct runtime_place *place)
{
	struct note_search wanted = {search, place, false, false};

	notes_visit(search->file.elf, meet_note, &wanted);
	return wanted.found && !wanted.failed;
}

static bool add_returns(struct search *search, const struct runtime_place *place, uint64_t at)
{
	const struct runtime *runtime = search->runtime;
	uint64_t returns[RETURNS_MAX];
	int n = runtime->returns ? runtime->returns(&search->file, at, returns, RETURNS_MAX) : 0;

	for (int i = 0; i < n; i++)
		if (!add_site(search, place, NULL, returns[i]))
			return false;
	return n > 0;
}

static bool add_code(struct search *search, const struct runtime_place *place)
{
	const struct runtime *runtime = search->runtime;
	uint64_t at;

	if (!find_locate(search, place->name, &at))
		return false;
	if (place->where == PLACE_BEHIND_CHECK &&
	    (!runtime->behind_check || !runtime->behind_check(&search->file, at, &at)))
		return false;
	if (place->where == PLACE_AT_RETURN)
		return add_returns(search, place, at);
	return add_site(search, place, NULL, at);
}

static void add_place(struct search *search, const struct runtime_place *place)
{
	struct runtime_facts *facts = search->facts;
	bool found;

	if (facts->number < place->since || (place->until && facts->number >= place->until))
		return;
	found = place->where == PLACE_AT_NOTE ? add_notes(search, place) : add_code(search, place);
	if (!found && !place->optional && !facts->missing[0])
		snprintf(facts->missing, sizeof(facts->missing), "%s was not found", place->name);
}

/* If a program's memory then holds another value, a recorder has written it. */
static bool begins_as_expected(struct search *search, const struct runtime_write *write,
			       uint64_t address)
{
	uint64_t value = 0;

	return write->when != WRITE_AT_START ||
	       (runtime_read(&search->file, address, &value, write->size) &&
		value == write->expected);
}

static void add_writes(struct search *search)
{
	const struct runtime *runtime = search->runtime;
	uint64_t address;

	for (size_t i = 0; i < runtime->n_writes && i < RUNTIME_WRITES_MAX; i++)
		if (find_locate(search, runtime->writes[i].global, &address) &&
		    begins_as_expected(search, &runtime->writes[i], address))
			search->facts->writes[i] = address;
}

static void search_file(struct search *search)
{
	const struct runtime *runtime = search->runtime;

	for (size_t i = 0; i < runtime->n_places; i++)
		add_place(search, &runtime->places[i]);
	add_writes(search);
	if (runtime->constants)
		runtime->constants(&search->file, search->facts);
}

void runtime_file_end(struct runtime_file *file)
{
	buffer_free(&file->exported.list);
	buffer_free(&file->symbols.list);
	free(file->blocks);
	if (file->own_free)
		file->own_free(file->own);
	else
		free(file->own);
}

size_t runtime_search(int fd, Elf *elf, struct runtime_facts *facts, struct probe_site *sites,
		      size_t count)
{
	struct search search = {
		.file = {.fd = fd, .elf = elf}, .facts = facts, .sites = sites, .count = count};

	memset(facts, 0, sizeof(*facts));
	for (uint32_t i = 1; i < RUNTIMES && !facts->runtime; i++) {
		search.runtime = runtime_get(i);
		if (!search.runtime || !search.runtime->recognise(&search.file, facts))
			continue;
		facts->runtime = i;
		search_file(&search);
	}
	if (!facts->runtime)
		memset(facts, 0, sizeof(*facts));
	runtime_file_end(&search.file);
	return search.count;
}
