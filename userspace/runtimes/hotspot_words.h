/* SPDX-License-Identifier: BSD-2-Clause */
/* hotspot_words.h: usual names of HotSpot's operations, collectors and types. */
/* Each function is the one of struct runtime with that job. */
#ifndef GCPROF_HOTSPOT_WORDS_H
#define GCPROF_HOTSPOT_WORDS_H

#include <stddef.h>
#include <stdint.h>

struct runtime_facts;

void hotspot_operation(const char *operation, char *out, size_t room);
const char *hotspot_kind(const struct runtime_facts *facts, uint64_t full, const char *collector,
			 uint32_t *kind);
void hotspot_type(const char *text, char *out, size_t room);

#endif
