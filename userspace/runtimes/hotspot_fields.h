/* SPDX-License-Identifier: BSD-2-Clause */
/* hotspot_fields.h: what libjvm.so exports about itself for debuggers: fields, variables, sizes,
 * constants. */
/*
 * The tables (vmStructs.cpp) are read from the file; what is a pointer there is filled in by
 * relocations when it is loaded. Addresses are those that the linker knows.
 */
#ifndef GCPROF_HOTSPOT_FIELDS_H
#define GCPROF_HOTSPOT_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

struct runtime_file;

/* The offset of a field, "Klass._name"; false: there is none, or the file has no tables. */
bool hotspot_field(struct runtime_file *file, const char *name, int32_t *offset);

/* The address of a static field, "CodeCache._heaps". */
bool hotspot_static(struct runtime_file *file, const char *name, uint64_t *address);

/* The bytes of a type. */
bool hotspot_size(struct runtime_file *file, const char *name, uint64_t *size);

/* The value of a constant, "GCCause::_java_lang_system_gc". */
bool hotspot_constant(struct runtime_file *file, const char *name, int64_t *value);

#endif
