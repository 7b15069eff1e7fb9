/* SPDX-License-Identifier: BSD-2-Clause */
/* life.c: outcomes and ages of the objects that a stack or a type allocated. */
#include "life.h"

#include <math.h>

unsigned age_class(uint64_t age)
{
	unsigned class = 0;

	for (age >>= AGE_FIRST_BIT; age && class + 1 < AGE_CLASSES; age >>= 1)
		class ++;
	return class;
}

uint64_t age_limit(unsigned class)
{
	return UINT64_C(1) << (AGE_FIRST_BIT + class);
}

void life_merge(struct life *into, const struct life *from)
{
	if (!into->samples)
		into->type = from->type;
	into->mixed |= from->mixed || (from->samples && from->type != into->type);
	into->samples += from->samples;
	tally_merge(&into->bytes, &from->bytes);
	share_merge(&into->survived, &from->survived);
	into->promoted_bytes += from->promoted_bytes;
	into->premature_bytes += from->premature_bytes;
	into->old_bytes += from->old_bytes;
	for (unsigned i = 0; i < AGE_CLASSES; i++)
		into->ages[i] += from->ages[i];
}

bool life_is_known(const struct life *life)
{
	return life->survived.all > 0 || life->promoted_bytes > 0 || life_median_age(life);
}

double life_live_bytes(const struct life *life)
{
	/* If all objects died, the difference of sums may leave a rounding error. */
	double live = life->promoted_bytes - life->premature_bytes - life->old_bytes;

	return live > 1e-9 * life->promoted_bytes ? live : 0;
}

uint64_t life_median_age(const struct life *life)
{
	double all = 0, seen = 0;

	for (unsigned i = 0; i < AGE_CLASSES; i++)
		all += (double)life->ages[i];
	for (unsigned i = 0; i < AGE_CLASSES && all > 0; i++) {
		seen += (double)life->ages[i];
		if (seen >= all / 2)
			return age_limit(i);
	}
	return 0;
}
