/* SPDX-License-Identifier: BSD-2-Clause */
/* hotspot_tables.h: where libjvm.so keeps the offsets in its own structures. */
#ifndef GCPROF_HOTSPOT_TABLES_H
#define GCPROF_HOTSPOT_TABLES_H

#include <stdbool.h>

#include "../../bpf/hotspot.h"

/*
 * Finds the cells of the tables that a HotSpot virtual machine exports, in the file behind `fd`,
 * which is closed. The file is not trusted: what makes no sense counts as absent. False, and no
 * cells, if the file is none, or lacks what the walker needs.
 */
bool hotspot_tables_read(int fd, struct hotspot_cells *out);

#endif
