/* SPDX-License-Identifier: BSD-2-Clause */
/* names.c: names PyPy's functions, from the memory of their process. */
/*
 * For its own profiler, PyPy keeps a list of all code objects, by weak references. It has no
 * symbol, so a variable of the library is searched for that leads to such a list: an array of
 * references to objects of one type, with one word that is an id in all of them, and others that
 * are texts: a name, and a file. Of the small numbers, the line differs most.
 *
 * The program runs meanwhile. A young object may move, which leaves garbage where it was; then its
 * references change. An object is therefore read again after its texts.
 */
#include "names.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../../bpf/frame_place.h"
#include "../../reader/remote_memory.h"
#include "../../symbols/elf_file.h"
#include "../../util/map.h"

#define CODE_WORDS   32 /* of a code object that are read */
#define SAMPLE       64 /* objects that must be alike */
#define SAMPLE_MIN   16 /* of which so many must be alive */
#define LIST_MAX     (1u << 18)
#define DATA_MAX     (UINT64_C(128) << 20)
#define TYPE_MAX     (1u << 24)
#define LINE_LIMIT   (1u << 20)
#define TEXT_MAX     2048
#define READ_AT_ONCE 512 /* words */
/* What a search may cost: a variable, a possible list, and one of possible code. */
#define SEARCH_MAX   (1 << 18)
#define COST_LIST    SAMPLE
#define COST_FIELDS  (SAMPLE * CODE_WORDS)
#define ADDRESS_MIN  0x10000
#define ADDRESS_BITS 47

/* Words of a code object. */
enum { FIELD_ID, FIELD_NAME, FIELD_FILE, FIELD_LINE, FIELDS };

struct pypy_library {
	uint64_t begin, end;     /* link-time addresses of the file */
	uint64_t data, data_end; /* of its variables that have a value at the start */
	uint64_t found; /* where the last search found the list: the next looks there first */
};

struct pypy_process {
	struct remote *memory;
	struct pypy_library *library;
	uint64_t bias;
	/* Of the process itself, as another one may lie. */
	uint64_t list; /* link-time address of the variable; 0: not found yet */
	uint32_t type; /* of code objects */
	uint32_t fields[FIELDS];
	struct map *codes; /* id to address */
	int left;          /* of SEARCH_MAX */
	bool sought;       /* the list was searched for */
	bool again;        /* it was read, and once more for something that was missing */
	char name[TEXT_MAX + 1], file[TEXT_MAX + 1];
};

/* Code objects, as far as they were read. */
struct sample {
	uint64_t words[SAMPLE][CODE_WORDS];
	size_t n;
};

/* --- memory --------------------------------------------------------------------------------- */

static bool read_words(const struct pypy_process *process, uint64_t at, uint64_t *out, size_t n)
{
	return remote_read_all(process->memory, at, out, n * sizeof(*out));
}

static bool may_be_object(uint64_t word)
{
	return word >= ADDRESS_MIN && !(word >> ADDRESS_BITS) && word % 8 == 0;
}

/* The first half of an object's first word. */
static uint32_t type_of(uint64_t head)
{
	return (uint32_t)head;
}

/* A string: {head, hash, length, characters}. Its type, 0: there is none. */
static uint32_t read_text(const struct pypy_process *process, uint64_t at, char out[TEXT_MAX + 1])
{
	uint64_t head[3];

	if (!may_be_object(at) || !read_words(process, at, head, 3) || !head[2] ||
	    head[2] > TEXT_MAX ||
	    !remote_read_all(process->memory, at + sizeof(head), out, (size_t)head[2]) ||
	    memchr(out, '\0', (size_t)head[2]))
		return 0;
	out[head[2]] = '\0';
	return type_of(head[0]);
}

/* --- the search ----------------------------------------------------------------------------- */

/* The objects to which the first references of a list lead; false: it is no list of code. */
static bool read_sample(struct pypy_process *process, uint64_t list, struct sample *out)
{
	uint64_t head[2], items[SAMPLE], reference[2];

	out->n = 0;
	process->left--;
	if (!read_words(process, list, head, 2) || !type_of(head[0]) ||
	    type_of(head[0]) > TYPE_MAX || head[1] < SAMPLE || head[1] > LIST_MAX ||
	    !read_words(process, list + sizeof(head), items, SAMPLE))
		return false;
	process->left -= COST_LIST;
	for (size_t i = 0; i < SAMPLE; i++) {
		uint64_t *words = out->words[out->n];

		if (!may_be_object(items[i]) || !read_words(process, items[i], reference, 2))
			return false;
		if (!reference[1])
			continue;
		if (!may_be_object(reference[1]) ||
		    !read_words(process, reference[1], words, CODE_WORDS) || !type_of(words[0]) ||
		    type_of(words[0]) != type_of(out->words[0][0]))
			return false;
		out->n++;
	}
	return out->n >= SAMPLE_MIN;
}

/* How many of the first objects have another value there than all before. */
static size_t distinct(const struct sample *sample, size_t word)
{
	size_t count = 0;

	for (size_t i = 0; i < sample->n; i++) {
		size_t j = 0;

		while (j < i && sample->words[j][word] != sample->words[i][word])
			j++;
		count += j == i;
	}
	return count;
}

static bool is_id(const struct sample *sample, size_t word)
{
	for (size_t i = 0; i < sample->n; i++) {
		uint64_t value = sample->words[i][word];

		if (!value || value % 4 || value > UINT32_MAX)
			return false;
	}
	return distinct(sample, word) == sample->n;
}

static bool is_small(const struct sample *sample, size_t word)
{
	for (size_t i = 0; i < sample->n; i++)
		if (sample->words[i][word] >= LINE_LIMIT)
			return false;
	return true;
}

static bool is_file(const char *text)
{
	size_t size = strlen(text);

	return *text == '<' || (size > 3 && !strcmp(text + size - 3, ".py"));
}

static bool is_name(const char *text)
{
	if (*text == '<')
		return true;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && *text != '_' && !(*text & 0x80))
			return false;
	return true;
}

/* Which field a word is, if it is a text in all objects; FIELDS: none. */
static uint32_t text_field(struct pypy_process *process, const struct sample *sample, size_t word)
{
	size_t files = 0, names = 0;
	uint32_t type = 0;

	for (size_t i = 0; i < sample->n; i++) {
		uint32_t found = read_text(process, sample->words[i][word], process->name);

		if (!found || (type && found != type))
			return FIELDS;
		type = found;
		files += is_file(process->name);
		names += is_name(process->name);
	}
	/* A program's own file may have any name. */
	if (files * 8 >= sample->n * 7)
		return FIELD_FILE;
	return names == sample->n ? FIELD_NAME : FIELDS;
}

static bool find_fields(struct pypy_process *process, const struct sample *sample,
			uint32_t fields[FIELDS])
{
	size_t lines = sample->n / 2;

	process->left -= COST_FIELDS;
	memset(fields, 0, FIELDS * sizeof(*fields));
	for (uint32_t word = 1; word < CODE_WORDS; word++) {
		uint32_t field = FIELD_ID;

		if (fields[FIELD_ID] || !is_id(sample, word))
			field = text_field(process, sample, word);
		if (field < FIELDS && !fields[field]) {
			fields[field] = word;
		} else if (is_small(sample, word) && distinct(sample, word) > lines) {
			lines = distinct(sample, word);
			fields[FIELD_LINE] = word;
		}
	}
	return fields[FIELD_ID] && fields[FIELD_NAME] && fields[FIELD_FILE];
}

/* Does the variable at a link-time address, with this value, lead to the list? */
static bool is_list(struct pypy_process *process, uint64_t at, uint64_t word, struct sample *sample)
{
	const struct pypy_library *library = process->library;

	if (!may_be_object(word) ||
	    word - process->bias - library->begin < library->end - library->begin ||
	    !read_sample(process, word, sample) || !find_fields(process, sample, process->fields))
		return false;
	process->type = type_of(sample->words[0][0]);
	process->list = process->library->found = at;
	return true;
}

static void search_data(struct pypy_process *process, struct sample *sample)
{
	const struct pypy_library *library = process->library;
	uint64_t words[READ_AT_ONCE];

	for (uint64_t at = library->data; at < library->data_end; at += sizeof(words)) {
		size_t n = remote_read(process->memory, process->bias + at, words, sizeof(words)) /
			   sizeof(*words);

		for (size_t i = 0; i < n; i++)
			if (process->left <= 0 ||
			    is_list(process, at + i * sizeof(*words), words[i], sample))
				return;
		if (!n)
			return;
	}
}

static bool find_list(struct pypy_process *process)
{
	struct sample *sample = malloc(sizeof(*sample));
	uint64_t found = process->library->found, word;

	process->sought = true;
	process->left = SEARCH_MAX;
	if (sample && !(found && read_words(process, process->bias + found, &word, 1) &&
			is_list(process, found, word, sample)))
		search_data(process, sample);
	free(sample);
	return process->list;
}

/* --- names ---------------------------------------------------------------------------------- */

/* Adds the code objects to which references lead. */
static void add_codes(struct pypy_process *process, const uint64_t *items, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t reference[2], head, id, *slot;

		if (!may_be_object(items[i]) || !read_words(process, items[i], reference, 2) ||
		    !may_be_object(reference[1]) || !read_words(process, reference[1], &head, 1) ||
		    type_of(head) != process->type ||
		    !read_words(process, reference[1] + process->fields[FIELD_ID] * sizeof(id), &id,
				1))
			continue;
		slot = map_put(process->codes, &id, NULL);
		if (slot)
			*slot = reference[1];
	}
}

static void read_list(struct pypy_process *process)
{
	uint64_t list, head[2], items[READ_AT_ONCE];
	size_t n;

	remote_forget(process->memory);
	map_clear(process->codes);
	if (!read_words(process, process->bias + process->list, &list, 1) || !may_be_object(list) ||
	    !read_words(process, list, head, 2))
		return;
	if (head[1] > LIST_MAX)
		head[1] = LIST_MAX;
	for (list += sizeof(head); head[1]; head[1] -= n, list += n * sizeof(*items)) {
		n = head[1] < READ_AT_ONCE ? (size_t)head[1] : READ_AT_ONCE;
		if (!read_words(process, list, items, n))
			return;
		add_codes(process, items, n);
	}
}

/* Reads the fields of a code object, as they are now. */
static bool read_fields(const struct pypy_process *process, uint64_t at, uint64_t out[FIELDS])
{
	uint64_t words[CODE_WORDS];

	remote_forget(process->memory);
	if (!read_words(process, at, words, CODE_WORDS) || type_of(words[0]) != process->type)
		return false;
	for (size_t i = 0; i < FIELDS; i++)
		out[i] = process->fields[i] ? words[process->fields[i]] : 0;
	return true;
}

static bool read_code(struct pypy_process *process, uint64_t id, struct symbol *out)
{
	const uint64_t *at = map_get(process->codes, &id);
	uint64_t fields[FIELDS], then[FIELDS];

	if (!at || !read_fields(process, *at, fields) || fields[FIELD_ID] != id ||
	    !read_text(process, fields[FIELD_NAME], process->name))
		return false;
	*out = (struct symbol){.name = process->name};
	if (read_text(process, fields[FIELD_FILE], process->file))
		out->file = process->file;
	if (fields[FIELD_LINE] < LINE_LIMIT)
		out->begin = (uint32_t)fields[FIELD_LINE];
	return read_fields(process, *at, then) && !memcmp(fields, then, sizeof(fields));
}

/* --- for the reader ------------------------------------------------------------------------- */

static void *reader_read(int fd)
{
	struct pypy_library *library = calloc(1, sizeof(*library));
	Elf *elf = elf_open(fd);
	GElf_Phdr header;

	for (size_t i = 0; library && elf && elf_segment(elf, i, &header); i++) {
		if (header.p_type != PT_LOAD)
			continue;
		library->end = header.p_vaddr + header.p_memsz;
		if (!(header.p_flags & PF_W))
			continue;
		library->data = (header.p_vaddr + 7) & ~UINT64_C(7);
		library->data_end =
			header.p_vaddr + (header.p_filesz < DATA_MAX ? header.p_filesz : DATA_MAX);
	}
	elf_end(elf);
	if (library && library->data < library->data_end)
		return library;
	free(library);
	return NULL;
}

static void reader_close(void *opened)
{
	struct pypy_process *process = opened;

	map_free(process->codes);
	free(process);
}

static int reader_open(struct remote *memory, void *file, uint64_t bias, void **out)
{
	struct pypy_process *process = calloc(1, sizeof(*process));

	if (process)
		process->codes = map_create(sizeof(uint64_t));
	if (!process || !process->codes) {
		free(process);
		return -ENOMEM;
	}
	process->memory = memory;
	process->library = file;
	process->bias = bias;
	*out = process;
	return 0;
}

static size_t reader_name(void *opened, uint64_t place, struct symbol out[SYMBOLS_MAX])
{
	struct pypy_process *process = opened;
	uint64_t number = frame_place_number(place), id = (number & ~FRAME_OWN_NUMBER) << 2;

	if (!frame_place_is_bytecode(place) || !(number & FRAME_OWN_NUMBER) ||
	    (!process->list && (process->sought || !find_list(process))))
		return 0;
	if (!map_count(process->codes) && !process->again)
		read_list(process);
	if (!read_code(process, id, out)) {
		if (process->again)
			return 0;
		process->again = true;
		read_list(process);
		if (!read_code(process, id, out))
			return 0;
	}
	return 1;
}

const struct name_reader pypy_name_reader = {
	.library = "libpypy",
	.rests = 16,
	.retries = 3,
	.read = reader_read,
	.open = reader_open,
	.name = reader_name,
	.close = reader_close,
};
