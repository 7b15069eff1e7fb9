/* SPDX-License-Identifier: BSD-2-Clause */
/* modules.h: the files whose code ran, each identified once by its build-id. */
#ifndef GCPROF_MODULES_H
#define GCPROF_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../opener/opener.h"
#include "../../profile/writer.h"
#include "../../symbols/symbols.h"
#include "../../../bpf/events.h"

struct modules;
struct files;
struct file;

/* Both are borrowed. */
int modules_create(struct profile_writer *writer, struct files *files, struct modules **out);
void modules_free(struct modules *modules); /* NULL is allowed */

/* The module's id in the profile; 0: no memory. Its file was met before (files.h). */
uint64_t modules_find(struct modules *modules, const struct module_place *place);

/* The module that stands for the code which a process generates; 0: no memory. */
uint64_t modules_generated(struct modules *modules, uint64_t process);

struct module {
	const char *path;
	unsigned char build_id[BUILD_ID_MAX];
	size_t build_id_size;
	uint32_t major, minor;
	uint64_t inode;   /* 0: no file */
	bool is_program;  /* an ELF file */
	bool is_lost;     /* neither its path nor its process led to the file that was mapped */
	uint64_t process; /* whose generated code it stands for; 0: a file */
};

/* Where files are known. */
struct files *modules_files(struct modules *modules);

/* NULL for an id that is not known, or forgotten; valid until the next call. */
const struct module *modules_get(struct modules *modules, uint64_t id);

/* Its file, NULL if there is none (any more); valid until the next call for any file. */
const struct file *modules_file(struct modules *modules, const struct module *module);

#endif
