/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* process_table.h: declares maps with an entry for each process. */
#ifndef GCPROF_PROCESS_TABLE_H
#define GCPROF_PROCESS_TABLE_H

#include "kernel.h"
#include "config.h"

/* The recorder makes them larger for whole machines (record/kernel/setup.c). */
#define PROCESS_TABLE(name, value_type)                \
	struct {                                       \
		__uint(type, BPF_MAP_TYPE_HASH);       \
		__uint(map_flags, BPF_F_NO_PREALLOC);  \
		__uint(max_entries, PROCESSES_CHOSEN); \
		__type(key, uint32_t);                 \
		__type(value, value_type);             \
	} name SEC(".maps")

#endif
