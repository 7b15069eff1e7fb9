/* SPDX-License-Identifier: BSD-2-Clause */
/* id_map.h: a map from {space, id} to a number, for mostly consecutive ids. */
#ifndef GCPROF_ID_MAP_H
#define GCPROF_ID_MAP_H

#include <stdint.h>

struct id_map;

/* NULL: no memory. Not thread-safe. */
struct id_map *id_map_create(void);
void id_map_free(struct id_map *map); /* NULL is allowed */

/* The number stored under the id; 0: none. */
uint32_t id_map_get(struct id_map *map, uint64_t space, uint64_t id);

/* The address of its number, which is 0 for a new id; NULL: no memory. Valid until the next call.
 * An id whose number is 0 need not be removed. */
uint32_t *id_map_put(struct id_map *map, uint64_t space, uint64_t id);

/* Removes the id, if present. */
void id_map_remove(struct id_map *map, uint64_t space, uint64_t id);

#endif
