/* SPDX-License-Identifier: BSD-2-Clause */
/* pypy_names.c: names of PyPy's functions, from lists in the test's own memory. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"
#include "../../bpf/frame_place.h"
#include "reader/remote_memory.h"
#include "record/opener/opener_process.h"
#include "runtimes/pypy/names.h"

enum { CODES = 64, LIST_TYPE = 8, REFERENCE_TYPE = 16, CODE_TYPE = 24, TEXT_TYPE = 32 };
enum { NAME = 2, FILE_NAME = 5, LINE = 7, ID = 9 };

struct text {
	uint64_t head, hash, length;
	char characters[24];
};

static struct text names[CODES], files[CODES];
static uint64_t codes[CODES][32];
static struct {
	uint64_t head, object;
} references[CODES];
static struct {
	uint64_t head, length;
	uint64_t items[CODES];
} * list;

/* Variables with a value at the start, as the search looks at no others. */
static uint64_t first = 1, second = 1;

static uint64_t address_of(const void *what)
{
	return (uint64_t)(uintptr_t)what;
}

static void write_text(struct text *text, const char *format, int i)
{
	*text = (struct text){.head = TEXT_TYPE};
	text->length = (uint64_t)snprintf(text->characters, sizeof(text->characters), format, i);
}

/* A list of code on the heap, as a library's variables lie elsewhere. */
static void make(uint64_t *variable, const char *file)
{
	free(list);
	list = malloc(sizeof(*list));
	CHECK(list);
	list->head = LIST_TYPE;
	list->length = CODES;
	for (int i = 0; i < CODES; i++) {
		write_text(&names[i], "function_%d", i);
		write_text(&files[i], file, i);
		codes[i][0] = CODE_TYPE;
		codes[i][NAME] = address_of(&names[i]);
		codes[i][FILE_NAME] = address_of(&files[i]);
		codes[i][LINE] = 100 + (uint64_t)i;
		codes[i][ID] = 4 + 4 * (uint64_t)i;
		references[i].head = REFERENCE_TYPE;
		references[i].object = address_of(codes[i]);
		list->items[i] = address_of(&references[i]);
	}
	*variable = address_of(list);
}

/* The name and line of a function, as the program is now; "" if it has none. */
static const char *named(void *library, uint64_t id)
{
	static char out[64];
	int file = open("/proc/self/mem", O_RDONLY | O_CLOEXEC),
	    socket = opener_serve_space(file, (uint32_t)getpid(), 0);
	extern const char __executable_start;
	struct symbol symbols[SYMBOLS_MAX];
	struct remote *memory;
	void *process;

	CHECK(file >= 0 && socket >= 0);
	CHECK_EQ(remote_open(socket, &memory), 0);
	CHECK_EQ(pypy_name_reader.open(memory, library, address_of(&__executable_start), &process),
		 0);
	*out = '\0';
	if (pypy_name_reader.name(process, frame_own_place(id / 4, 1), symbols))
		snprintf(out, sizeof(out), "%s %s:%u", symbols[0].name, symbols[0].file,
			 symbols[0].begin);
	pypy_name_reader.close(process);
	remote_close(memory);
	close(socket);
	close(file);
	return out;
}

static void *read_library(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *library = pypy_name_reader.read(fd);

	CHECK(fd >= 0 && library);
	close(fd);
	return library;
}

TEST(functions_have_names_files_and_lines)
{
	void *library = read_library();

	make(&first, "module%d.py");
	CHECK(!strcmp(named(library, 4), "function_0 module0.py:100"));
	CHECK(!strcmp(named(library, 4 * CODES), "function_63 module63.py:163"));
	CHECK(!strcmp(named(library, 4 + 4 * CODES), ""));
	first = 1;
	free(library);
}

/* What is found in one process, perhaps another user's, is a hint for the next and no more. */
TEST(a_process_does_not_decide_where_another_has_its_list)
{
	void *library = read_library();

	make(&second, "module%d.py");
	CHECK(*named(library, 4));
	second = 1;
	make(&first, "module%d.py");
	CHECK(!strcmp(named(library, 8), "function_1 module1.py:101"));
	/* The same variable, but other words. */
	for (int i = 0; i < CODES; i++) {
		codes[i][1] = codes[i][FILE_NAME];
		codes[i][FILE_NAME] = codes[i][NAME];
		codes[i][NAME] = 0;
	}
	CHECK(!strcmp(named(library, 8), "function_1 module1.py:101"));
	first = 1;
	free(library);
}

TEST(lists_that_are_not_of_code_have_no_names)
{
	void *library = read_library();

	make(&first, "module%d");
	CHECK(!*named(library, 4));
	make(&first, "module%d.py");
	codes[9][ID] = codes[8][ID];
	CHECK(!*named(library, 4));
	make(&first, "module%d.py");
	references[5].object = 0xdead0000;
	CHECK(!*named(library, 4));
	first = 1;
	free(library);
}
