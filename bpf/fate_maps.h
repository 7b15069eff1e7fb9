/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* fate_maps.h: the tables of followed objects, by process. */
#ifndef GCPROF_FATE_MAPS_H
#define GCPROF_FATE_MAPS_H

#include "config.h"
#include "kernel.h"

/* 1 once any process has a table of followed objects. */
volatile uint32_t fates_known = 0;

struct fate_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, sizeof(struct fate_table));
};

/* Followed objects, by process: fates.h. The recorder adds and removes the tables. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, FATE_TABLES_MAX);
	__type(key, uint32_t);
	__array(values, struct fate_map);
} fate_tables SEC(".maps");

#endif
