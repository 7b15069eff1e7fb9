/* SPDX-License-Identifier: BSD-2-Clause */
/* control.c: the control block: whether this process is recorded, and the recorders' requests. */
#include "control.h"

#include <stdlib.h>
#include <string.h>

/* Each library with a copy of this file has its own block; recorders find them by file. */
__attribute__((visibility("protected"))) struct gcprof_control gcprof_control = {
	.magic = GCPROF_CONTROL_MAGIC,
	.version = GCPROF_CONTROL_VERSION,
};

/* Early, before any name is registered. */
__attribute__((constructor(101))) static void read_environment(void)
{
	const char *record = getenv("GCPROF_RECORD");

	if (record && strcmp(record, "1") == 0 && !control_generation())
		__atomic_store_n(&gcprof_control.recorded, GCPROF_RECORDED_AT_START,
				 __ATOMIC_RELAXED);
}

struct asked control_asked(void)
{
	struct asked asked = {0};
	bool none = false, samples = false;

	for (size_t i = 0; i < GCPROF_RECORDERS_MAX; i++) {
		const struct gcprof_request *row = &gcprof_control.requests[i];
		uint64_t period = __atomic_load_n(&row->period, __ATOMIC_RELAXED);
		uint64_t ceiling = __atomic_load_n(&row->ceiling, __ATOMIC_RELAXED);

		if (!__atomic_load_n(&row->recorder, __ATOMIC_RELAXED))
			continue;
		if (period == GCPROF_NO_SAMPLES) {
			none = true;
			continue;
		}
		samples = true;
		if (!period)
			asked.any_period = true;
		else if (!asked.period || period < asked.period)
			asked.period = period;
		if (!ceiling)
			asked.any_ceiling = true;
		else if (ceiling > asked.ceiling)
			asked.ceiling = ceiling;
		asked.flags |= __atomic_load_n(&row->flags, __ATOMIC_RELAXED);
	}
	if (none && !samples)
		asked.period = GCPROF_NO_SAMPLES;
	return asked;
}
