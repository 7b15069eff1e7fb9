/* SPDX-License-Identifier: BSD-2-Clause */
/* id_map.h: a map from {space, id} to a number, for ids that are mostly given one after the other.
 */
#ifndef GCPROF_ID_MAP_H
#define GCPROF_ID_MAP_H

#include <stdint.h>

struct id_map;

/* NULL: no memory. Not safe for use by several threads at once. */
struct id_map *id_map_create(void);
void id_map_free(struct id_map *map); /* NULL is allowed */

/* The number stored under the id, 0: none. */
uint32_t id_map_get(struct id_map *map, uint64_t space, uint64_t id);

/* Where its number is kept, 0 if it was not there; NULL: no memory. Valid until the next call.
 * Whoever stores 0 there, or nothing, need not take the id out. */
uint32_t *id_map_put(struct id_map *map, uint64_t space, uint64_t id);

/* Takes the id out; nothing happens if it is not there. */
void id_map_remove(struct id_map *map, uint64_t space, uint64_t id);

#endif
