/* SPDX-License-Identifier: BSD-2-Clause */
/* names.c: answers READ_NAMES and READ_CODE: names of functions. */
/*
 * Data read from a file is kept for the next request about it. If memory runs out the request
 * fails, and the recorder starts over with a fresh process.
 */
#include "names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../runtimes/cpython/names.h"
#include "../runtimes/name_reader.h"
#include "../runtimes/runtime.h"
#include "../symbols/elf_file.h"
#include "../symbols/unwind_file.h"
#include "remote_memory.h"

#define ANSWER_NAMES_BYTES (32 << 10) /* per place: the innermost names beyond it are dropped */

/* The last file requested whose processes have names in their memory. */
struct remote_library {
	dev_t device;
	ino_t inode; /* 0: none */
	off_t size;
	struct timespec changed;
	const struct name_reader *reader; /* NULL: none knows it */
	void *data;                       /* what that read */
	struct unwind_segment segments[UNWIND_SEGMENTS_MAX];
	size_t n_segments;
};

struct names {
	struct symbols *symbols;
	struct code_files *code;
	struct remote_library library;
	struct cpython_function function;
	int file;                  /* of the current request; -1: none */
	char place[NAME_MAX + 32]; /* made-up name of an unnamed function */
	char type[NAMES_TEXT_MAX];
};

/* --- files ------------------------------------------------------------------------------ */

static int open_file(void *context, const char *path)
{
	struct names *names = context;
	int fd = names->file;

	(void)path;
	names->file = -1;
	errno = ENOENT;
	return fd;
}

/* Asks the recorder for a debug file, because only it may open files. The program is the file of
 * the request. */
static int open_debug(void *context, int file, const struct debug_wanted *wanted)
{
	char nothing;

	(void)context;
	(void)file;
	return wire_ask(wanted, sizeof(*wanted), &nothing, 1);
}

int names_create(struct names **out)
{
	struct names *names = calloc(1, sizeof(*names));
	struct symbols_access access = {open_file, {open_debug, names}};
	int err = -ENOMEM;

	if (!names)
		return err;
	names->file = -1;
	names->code = code_files_create();
	if (names->code)
		err = symbols_create(&access, &names->symbols);
	if (!err)
		*out = names;
	return err;
}

/* --- answers ---------------------------------------------------------------------------- */

static void names_put_name(const struct symbol *symbol)
{
	struct name_head head = {
		.line = symbol->line,
		.begin = symbol->begin,
		.name_size = (uint32_t)strnlen(symbol->name, NAMES_TEXT_MAX),
		.file_size = symbol->file ? (uint32_t)strnlen(symbol->file, NAMES_TEXT_MAX) : 0,
	};

	wire_put(&head, sizeof(head));
	wire_put(symbol->name, head.name_size);
	wire_put(symbol->file, head.file_size);
}

static void put_names(const struct symbol *symbols, size_t n)
{
	struct name_list list = {0};
	size_t bytes = 0;

	/* Skips empty names. */
	while (n && (!symbols[n - 1].name || !*symbols[n - 1].name))
		n--;
	for (; list.count < n && bytes < ANSWER_NAMES_BYTES; list.count++)
		bytes += strnlen(symbols[list.count].name, NAMES_TEXT_MAX);
	wire_put(&list, sizeof(list));
	for (uint32_t i = 0; i < list.count; i++)
		names_put_name(&symbols[i]);
}

/* Names an unnamed function by its start in the file. */
static void name_place(struct names *names, const struct names_request *head, uint64_t offset,
		       struct symbol *symbol)
{
	snprintf(names->place, sizeof(names->place), "%s+0x%" PRIx64, head->base,
		 offset - symbol->offset);
	symbol->name = names->place;
}

static size_t find_native(struct names *names, const struct names_request *head, const char *path,
			  uint64_t offset, struct symbol out[SYMBOLS_MAX])
{
	size_t n = symbols_native(names->symbols, path, head->build_id, head->build_id_size, offset,
				  out);

	if (n && !out[0].name)
		name_place(names, head, offset, &out[0]);
	return n;
}

static size_t find_type(struct names *names, const struct names_request *head, const char *path,
			uint64_t number, struct symbol *out)
{
	bool plain = false;
	size_t size = symbols_type(names->symbols, path, head->build_id, head->build_id_size,
				   number, names->type, sizeof(names->type), &plain);

	*out = (struct symbol){.name = names->type, .line = plain};
	return size > 0;
}

static int answer_file(struct names *names, const struct names_request *head,
		       const struct name_place *places, struct request *request)
{
	struct symbol found[SYMBOLS_MAX];
	char path[32];
	int err;

	if (strcmp(head->base, "[vdso]") == 0)
		snprintf(path, sizeof(path), "[vdso]");
	else
		snprintf(path, sizeof(path), "%" PRIu64, head->owner);
	if (request->files.n) {
		names->file = request->files.fds[0];
		request->files.n = 0;
	}
	for (uint32_t i = 0; i < head->count; i++) {
		size_t n = request->head.kind == READ_TYPES
				   ? find_type(names, head, path, places[i].place, found)
				   : find_native(names, head, path, places[i].place, found);

		put_names(found, n);
	}
	if (names->file >= 0)
		close(names->file);
	names->file = -1;
	err = symbols_error(names->symbols, path, head->build_id, head->build_id_size);
	return err;
}

/* Reads new data in the files. Jitdump files stay open, and the first ones in each request are
 * already known. */
static int read_code(struct names *names, const struct names_request *head,
		     const struct request *request)
{
	size_t known = code_files_dumps(names->code, head->owner), dumps = 0;
	int err = 0;

	for (size_t i = 0; i < request->files.n; i++) {
		bool is_map = i == 0 && head->has_map;

		if (err || (!is_map && dumps++ < known))
			close(request->files.fds[i]);
		else
			err = code_files_add(names->code, head->owner, !is_map,
					     request->files.fds[i]);
	}
	return err;
}

static int answer_code(struct names *names, const struct names_request *head,
		       const struct name_place *places, struct request *request)
{
	int err = read_code(names, head, request);

	request->files.n = 0;
	for (uint32_t i = 0; i < head->count && !err; i++) {
		struct symbol symbol;
		bool found = code_files_find(names->code, head->owner, places[i].place,
					     places[i].time, &symbol);

		put_names(&symbol, found);
	}
	return err;
}

/* Finds what reads the library. */
static void find_reader(struct remote_library *library, int fd)
{
	free(library->data);
	library->data = NULL;
	library->reader = NULL;
	for (uint32_t i = 0; i < RUNTIMES && !library->data; i++) {
		const struct runtime *runtime = runtime_get(i);

		library->reader = runtime ? runtime->name_reader : NULL;
		if (library->reader)
			library->data = library->reader->read(fd);
	}
}

/* Reads a library, unless it is the last one read. Takes over the descriptor. */
static bool read_library(struct remote_library *library, int fd)
{
	struct stat st;
	Elf *elf;

	if (fstat(fd, &st))
		memset(&st, 0, sizeof(st));
	if (st.st_ino && library->inode == st.st_ino && library->device == st.st_dev &&
	    library->size == st.st_size &&
	    !memcmp(&library->changed, &st.st_ctim, sizeof(st.st_ctim))) {
		close(fd);
		return library->data;
	}
	library->device = st.st_dev;
	library->inode = st.st_ino;
	library->size = st.st_size;
	library->changed = st.st_ctim;
	elf = elf_open(fd);
	library->n_segments = elf ? elf_code_segments(elf, library->segments, UNWIND_SEGMENTS_MAX)
				  : 0;
	elf_end(elf);
	find_reader(library, fd);
	close(fd);
	return library->data;
}

static int answer_remote(struct names *names, const struct names_request *head,
			 const struct name_place *places, struct request *request)
{
	struct remote_library *library = &names->library;
	struct remote *memory = NULL;
	void *process = NULL;
	uint64_t bias;
	int err;

	if (request->files.n != 2)
		return -EBADMSG;
	request->files.n = 1;
	if (!read_library(library, request->files.fds[1]) ||
	    !unwind_locate(library->segments, library->n_segments, head->start, head->offset, 0,
			   &bias))
		return -ENOEXEC;
	err = remote_open(request->files.fds[0], &memory);
	if (!err)
		err = library->reader->open(memory, library->data, bias, &process);
	for (uint32_t i = 0; i < head->count && !err; i++) {
		struct symbol found[SYMBOLS_MAX] = {0};

		put_names(found, library->reader->name(process, places[i].place, found));
	}
	if (!err)
		err = remote_error(memory);
	if (process)
		library->reader->close(process);
	remote_close(memory);
	return err;
}

static int answer_bytecode(struct names *names, const struct names_request *head,
			   const struct name_place *places, const struct request *request)
{
	struct cpython_function *function = &names->function;

	if (request->files.n != 1)
		return -EBADMSG;
	for (uint32_t i = 0; i < head->count; i++) {
		struct symbol symbol = {0};
		ssize_t size = pread(request->files.fds[0], &function->in, sizeof(function->in),
				     (off_t)places[i].place);

		function->size = size < 0 ? 0 : (size_t)size;
		put_names(&symbol, cpython_name(function, places[i].time, &symbol));
	}
	return 0;
}

int names_answer(struct names *names, struct request *request)
{
	const struct name_place *places;
	struct names_request head;
	int err = -EBADMSG;

	if (request->head.size < sizeof(head))
		goto out;
	memcpy(&head, request->data, sizeof(head));
	places = (const void *)(request->data + sizeof(head));
	if (head.count > NAMES_BATCH || head.build_id_size > BUILD_ID_MAX || head.base[NAME_MAX] ||
	    request->head.size != sizeof(head) + head.count * sizeof(*places))
		goto out;
	if (request->head.kind == READ_NAMES || request->head.kind == READ_TYPES)
		err = answer_file(names, &head, places, request);
	else if (request->head.kind == READ_REMOTE)
		err = answer_remote(names, &head, places, request);
	else if (request->head.kind == READ_BYTECODE)
		err = answer_bytecode(names, &head, places, request);
	else
		err = answer_code(names, &head, places, request);
out:
	for (size_t i = 0; i < request->files.n; i++)
		close(request->files.fds[i]);
	return err;
}
