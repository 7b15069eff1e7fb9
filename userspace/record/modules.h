/* SPDX-License-Identifier: BSD-2-Clause */
/* modules.h: the files whose code ran, each identified once by its build-id. */
#ifndef GCPROF_MODULES_H
#define GCPROF_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../profile/writer.h"
#include "../symbols/symbols.h"
#include "../../bpf/events.h"

struct modules;

/* A file as the kernel names it when it is mapped. */
struct module_place {
	const char *path; /* ended by a zero */
	uint64_t inode;   /* 0: no file */
	uint64_t start, end;
	uint32_t major, minor;
	uint32_t pid; /* as /proc calls it here */
};

/* What the event tells of; `path` is borrowed. */
struct module_place module_place_of(const struct event_mmap *event, const char *path);

/* Opens the file that was mapped, by its path or through the process; -1 if neither leads to it. */
int module_open(const struct module_place *place);

/* `writer` is borrowed. */
int modules_create(struct profile_writer *writer, struct modules **out);
void modules_free(struct modules *modules); /* NULL is allowed */

/* The module's id in the profile; 0: no memory. The first time the file is opened and read. */
uint64_t modules_find(struct modules *modules, const struct module_place *place);

/* The module that stands for the code which a process generates; 0: no memory. */
uint64_t modules_generated(struct modules *modules, uint64_t process);

/* Where the file can still be read, NULL for an id that is not known; valid until modules_free. */
struct module {
	const char *path;
	unsigned char build_id[BUILD_ID_MAX];
	size_t build_id_size;
	int fd;           /* -1: the path leads to it */
	int debug_fd;     /* what may be its debug file, in a container; -1: none is known */
	bool is_program;  /* an ELF file */
	bool is_lost;     /* neither its path nor its process led to the file that was mapped */
	uint64_t process; /* whose generated code it stands for; 0: a file */
};
const struct module *modules_get(const struct modules *modules, uint64_t id);

#endif
