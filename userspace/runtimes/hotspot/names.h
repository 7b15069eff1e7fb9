/* SPDX-License-Identifier: BSD-2-Clause */
/* names.h: names Java frames, from the memory of their process. */
#ifndef GCPROF_HOTSPOT_NAMES_H
#define GCPROF_HOTSPOT_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "tables.h"
#include "../name_reader.h"
#include "../../symbols/symbol.h"

extern const struct name_reader hotspot_name_reader;

/* A Java virtual machine. Not thread-safe. */
struct hotspot_vm;
struct remote;

/* `memory` is borrowed until hotspot_vm_close(); `bias` is its library's. -ENOMEM. */
int hotspot_vm_open(struct remote *memory, const struct hotspot_layout *layout, uint64_t bias,
		    struct hotspot_vm **out);
void hotspot_vm_close(struct hotspot_vm *vm); /* NULL is allowed */

/*
 * The functions of a frame (bpf/hotspot.h), outermost first; returns their number, 0: unknown, or
 * no longer known. Data read is not trusted. Texts stay valid until the next call.
 */
size_t hotspot_vm_name(struct hotspot_vm *vm, uint64_t place, struct symbol out[SYMBOLS_MAX]);

#endif
