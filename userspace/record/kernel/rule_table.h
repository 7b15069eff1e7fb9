/* SPDX-License-Identifier: BSD-2-Clause */
/* rule_table.h: unwind rules in the kernel's map, each once, for as long as a file has it. */
#ifndef GCPROF_RULE_TABLE_H
#define GCPROF_RULE_TABLE_H

#include <stdint.h>

#include "../../../bpf/unwind_rows.h"

struct rule_table;

/* `fd` is the kernel's map, borrowed. Not thread-safe. -ENOMEM. */
int rule_table_create(int fd, struct rule_table **out);
void rule_table_free(struct rule_table *table); /* NULL is allowed; the kernel's map stays */

/* The number of a rule, held until it is released; 0 for the empty one, and when there are too
 * many or there is no memory: nothing is held then. */
uint32_t rule_table_hold(struct rule_table *table, const struct unwind_rule *rule);

/* Gives a number back; no row that leads to it may be left. 0 is allowed. */
void rule_table_release(struct rule_table *table, uint32_t number);

/* Rules for which there is still room. */
uint32_t rule_table_room(const struct rule_table *table);

#endif
