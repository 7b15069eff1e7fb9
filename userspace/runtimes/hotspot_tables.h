/* SPDX-License-Identifier: BSD-2-Clause */
/* hotspot_tables.h: what libjvm.so exports about its own structures, for debuggers. */
/*
 * All is read from the file, which is not trusted: what makes no sense counts as absent.
 */
#ifndef GCPROF_HOTSPOT_TABLES_H
#define GCPROF_HOTSPOT_TABLES_H

#include <stdbool.h>

#include "../../bpf/hotspot.h"

struct runtime_file;

/* The offset of a field, "Klass._name"; the address of a static one as the linker knows it,
 * "CodeCache._heaps"; the bytes of a type, "ConstantPool". False: there is none, or the file has
 * no such tables. */
bool hotspot_entry(struct runtime_file *file, const char *name, uint64_t *value);

/* What the walker must know of the library. False, and all 0, if the file is none, or lacks some of
 * it. */
bool hotspot_layout_of(struct runtime_file *file, struct hotspot_layout *out);

/* The same for the file behind `fd`, which is borrowed. */
bool hotspot_layout_read(int fd, struct hotspot_layout *out);

#endif
