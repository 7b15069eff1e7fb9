/* SPDX-License-Identifier: BSD-2-Clause */
/* tables.h: reads the structure tables that libjvm.so exports for debuggers. */
/* Reads only the file, which is not trusted: malformed data counts as absent. */
#ifndef GCPROF_HOTSPOT_TABLES_H
#define GCPROF_HOTSPOT_TABLES_H

#include <stdbool.h>

#include "../../../bpf/hotspot.h"

struct runtime_file;

/* The offset of a field, "Klass._name"; the link-time address of a static one, "CodeCache._heaps";
 * the size of a type, "ConstantPool". False: unknown, or the file has no such tables. */
bool hotspot_entry(struct runtime_file *file, const char *name, uint64_t *value);

/* The same for the file behind `fd`, which is borrowed. */
bool hotspot_layout_read(int fd, struct hotspot_layout *out);

#endif
