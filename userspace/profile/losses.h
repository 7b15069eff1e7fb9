/* SPDX-License-Identifier: BSD-2-Clause */
/* losses.h: what bpf/loss.def says of each loss. */
#ifndef GCPROF_LOSSES_H
#define GCPROF_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "codes.h"

enum loss_unit {
	UNIT_UNKNOWN, /* of a loss that a later gcprof counted */
	UNIT_EVENTS,
	UNIT_STACKS,
	UNIT_FRAMES,
	UNIT_FILES,
	UNIT_PROGRAMS,
	UNIT_THREADS,
	UNIT_NAMES,
	UNIT_TYPES,
	UNIT_MILLISECONDS,
};

enum loss_remedy { REMEDY_NONE, REMEDY_FEWER };

struct loss_info {
	const char *name; /* NULL: no such loss */
	const char *text; /* for plural() */
	uint32_t stream;  /* enum stream */
	enum severity severity;
	enum loss_unit unit;
	enum loss_remedy remedy;
};

/* An entry without a name for an unknown code. */
const struct loss_info *loss_info(uint64_t code);

/* A word for programs to parse: "events". */
const char *loss_unit_name(enum loss_unit unit);

/* Whether it is added up to the events of its stream that are lost, incomplete or left out. */
bool loss_counts_events(uint64_t code);

#endif
