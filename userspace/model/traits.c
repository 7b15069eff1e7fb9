/* SPDX-License-Identifier: BSD-2-Clause */
/* traits.c: what is known of the runtimes of a profile by their names. */
#include "traits.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *runtime;
	int bits;
} traits[] = {
#define TRAITS(runtime, bits) {runtime, bits},
#include "../runtimes/reports.def"
};

bool has_trait(const struct model *model, enum trait trait)
{
	for (size_t i = 0; i < model->n_runtimes; i++)
		for (size_t j = 0; j < sizeof(traits) / sizeof(*traits); j++)
			if (traits[j].bits & (int)trait &&
			    strcmp(model->runtimes[i].name, traits[j].runtime) == 0)
				return true;
	return false;
}
