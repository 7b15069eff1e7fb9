/* SPDX-License-Identifier: BSD-2-Clause */
/* probe_numbers.h: numbers the probes by their position in probes.def. */
#ifndef GCPROF_PROBE_NUMBERS_H
#define GCPROF_PROBE_NUMBERS_H

enum probe_number {
#define PROBE(name, tier, since, when) PROBE_##name,
#define ARG(probe, name, type, unit, meaning)
#define END_PROBE(name, n)
#include "probes.def"
#undef PROBE
#undef ARG
#undef END_PROBE
	PROBES
};

#endif
