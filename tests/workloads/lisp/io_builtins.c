/* SPDX-License-Identifier: BSD-2-Clause */
/* io_builtins.c: builtins that print, read files, look at the environment, or end the program. */
#include <fcntl.h>
#include <unistd.h>

#include "lisp.h"

static struct object *call_display(struct lisp *lisp, struct pair *args)
{
	while (args)
		print_object(lisp, stdout, next_arg(&args), PRINT_PLAIN);
	return NULL;
}

static struct object *call_write(struct lisp *lisp, struct pair *args)
{
	print_object(lisp, stdout, args->car, PRINT_QUOTED);
	return NULL;
}

static struct object *call_newline(struct lisp *lisp, struct pair *args)
{
	(void)lisp;
	(void)args;
	putchar('\n');
	return NULL;
}

_Noreturn static struct object *call_error(struct lisp *lisp, struct pair *args)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		die("out of memory");
	while (args)
		print_object(lisp, out, next_arg(&args), PRINT_PLAIN);
	fclose(out);
	lisp->calling = NULL;
	lisp_error(lisp, "%s", text ? text : "");
}

/* The string as a file name, to be freed. */
static char *need_path(struct lisp *lisp, struct object *object)
{
	const struct string *string = need_string(lisp, object);
	char *path;
	if (string->length >= PATH_MAX || memchr(string->bytes, 0, string->length))
		lisp_error(lisp, "this is no file name");
	path = must_alloc(string->length + 1);
	memcpy(path, string->bytes, string->length);
	return path;
}

static struct object *call_getenv(struct lisp *lisp, struct pair *args)
{
	char *name = need_path(lisp, args->car);
	const char *value = getenv(name);
	free(name);
	return value ? (struct object *)make_string(lisp, value, strlen(value))
		     : make_truth(lisp, 0);
}

static struct object *call_file_exists(struct lisp *lisp, struct pair *args)
{
	char *path = need_path(lisp, args->car);
	int found = !access(path, R_OK);
	free(path);
	return make_truth(lisp, found);
}

/* Reads until `end`; -errno, or the bytes read. */
static ssize_t read_up_to(int fd, char *buffer, size_t end)
{
	size_t used = 0;
	while (used < end) {
		ssize_t size = read(fd, buffer + used, end - used);
		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0)
			return -errno;
		if (!size)
			break;
		used += (size_t)size;
	}
	return (ssize_t)used;
}

/* Twice the room, and one byte more; -EFBIG if that is too much. */
static int grow(char **text, size_t *capacity)
{
	size_t wanted = *capacity ? *capacity * 2 : 4096;
	char *bigger;
	if (wanted > MAX_FILE)
		return -EFBIG;
	bigger = realloc(*text, wanted + 1);
	if (!bigger)
		return -ENOMEM;
	*text = bigger;
	*capacity = wanted;
	return 0;
}

int read_whole_file(const char *path, char **out, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t capacity = 0;
	char *text = NULL;
	int err = 0;
	if (fd < 0)
		return -errno;
	*size = 0;
	while (!err && *size == capacity) {
		ssize_t part;
		err = grow(&text, &capacity);
		if (err)
			break;
		part = read_up_to(fd, text + *size, capacity - *size);
		err = part < 0 ? (int)part : 0;
		*size += part < 0 ? 0 : (size_t)part;
	}
	close(fd);
	if (err) {
		free(text);
		return err;
	}
	text[*size] = 0;
	*out = text;
	return 0;
}

/* (read-file PATH): its contents. The thread blocks in the kernel, so no collection waits. */
static struct object *call_read_file(struct lisp *lisp, struct pair *args)
{
	char *path = need_path(lisp, args->car);
	struct string *string;
	char *text;
	size_t size;
	int err;
	gc_blocking_begin(lisp->thread);
	err = read_whole_file(path, &text, &size);
	gc_blocking_end(lisp->thread);
	if (err)
		lisp_error(lisp, "%s: %s", path, strerror(-err));
	string = make_string(lisp, text, size);
	free(text);
	free(path);
	return (struct object *)string;
}

static int free_slot(struct lisp *lisp)
{
	for (int i = 0; i < MAX_PORTS; i++) {
		if (!lisp->ports[i])
			return i;
	}
	lisp_error(lisp, "%d files are open already; close-input some", MAX_PORTS);
}

static struct object *call_open_input(struct lisp *lisp, struct pair *args)
{
	char *path = need_path(lisp, args->car);
	int slot = free_slot(lisp);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct port *port;
	if (fd < 0)
		lisp_error(lisp, "%s: %s", path, strerror(errno));
	free(path);
	lisp->ports[slot] = must_alloc(sizeof(struct open_file));
	lisp->ports[slot]->fd = fd;
	port = GC_NEW(lisp->thread, lisp->types[TYPE_PORT], struct port);
	port->slot = slot;
	return (struct object *)port;
}

static void close_slot(struct lisp *lisp, int64_t slot)
{
	close(lisp->ports[slot]->fd);
	free(lisp->ports[slot]);
	lisp->ports[slot] = NULL;
}

static struct port *need_port(struct lisp *lisp, struct object *object)
{
	struct port *port = (struct port *)object;
	if (!is_type(lisp, object, TYPE_PORT) || port->slot < 0)
		lisp_error(lisp, "this needs an open file");
	return port;
}

static struct object *call_close_input(struct lisp *lisp, struct pair *args)
{
	struct port *port = need_port(lisp, args->car);
	close_slot(lisp, port->slot);
	port->slot = -1;
	return NULL;
}

/* Refills the buffer if it is empty; 0 at the end of the file. */
static int fill(struct lisp *lisp, struct open_file *file)
{
	ssize_t size;
	if (file->next < file->used)
		return 1;
	gc_blocking_begin(lisp->thread);
	do
		size = read(file->fd, file->buffer, sizeof(file->buffer));
	while (size < 0 && errno == EINTR);
	gc_blocking_end(lisp->thread);
	if (size < 0)
		lisp_error(lisp, "%s", strerror(errno));
	file->next = 0;
	file->used = (uint32_t)size;
	return size > 0;
}

/* (read-line PORT): the next line without its end, or #f. */
NAMED_FUNCTION static struct object *call_read_line(struct lisp *lisp, struct pair *args)
{
	struct open_file *file = lisp->ports[need_port(lisp, args->car)->slot];
	char *text = NULL;
	size_t size = 0;
	struct string *line;
	FILE *out;
	if (!fill(lisp, file))
		return make_truth(lisp, 0);
	out = open_memstream(&text, &size);
	if (!out)
		die("out of memory");
	while (fill(lisp, file)) {
		const char *start = file->buffer + file->next;
		size_t rest = file->used - file->next;
		const char *end = memchr(start, '\n', rest);
		size_t part = end ? (size_t)(end - start) : rest;
		fwrite(start, 1, part, out);
		file->next += (uint32_t)part + (end != NULL);
		if (end)
			break;
	}
	if (fclose(out))
		die("out of memory");
	line = make_string(lisp, text, size);
	free(text);
	return (struct object *)line;
}

void close_files(struct lisp *lisp)
{
	for (int i = 0; i < MAX_PORTS; i++) {
		if (lisp->ports[i])
			close_slot(lisp, i);
	}
}

const struct builtin_row io_builtins[] = {
	{"display", call_display, 0, -1},
	{"write", call_write, 1, 1},
	{"newline", call_newline, 0, 0},
	{"error", call_error, 1, -1},
	{"getenv", call_getenv, 1, 1},
	{"file-exists?", call_file_exists, 1, 1},
	{"read-file", call_read_file, 1, 1},
	{"open-input", call_open_input, 1, 1},
	{"read-line", call_read_line, 1, 1},
	{"close-input", call_close_input, 1, 1},
	{NULL, NULL, 0, 0},
};
