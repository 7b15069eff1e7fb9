// SPDX-License-Identifier: BSD-2-Clause
/* losses.c: what bpf/loss.def says of each loss. */
#include "losses.h"

#include "../../bpf/events.h"

const struct loss_info *loss_info(uint64_t code)
{
	static const struct loss_info none, all[LOSS_MAX] = {
#define LOSS(code, name, stream, severity, unit, remedy, doc) \
	[code] = {#name, doc, STREAM_##stream, SEVERITY_##severity, UNIT_##unit, REMEDY_##remedy},
#include "../../bpf/loss.def"
#undef LOSS
					    };

	return code < LOSS_MAX ? &all[code] : &none;
}

const char *loss_unit_name(enum loss_unit unit)
{
	static const char *const names[] = {
		[UNIT_UNKNOWN] = "unknown", [UNIT_EVENTS] = "events",
		[UNIT_STACKS] = "stacks",   [UNIT_FRAMES] = "frames",
		[UNIT_FILES] = "files",     [UNIT_PROGRAMS] = "programs",
		[UNIT_THREADS] = "threads", [UNIT_NAMES] = "names",
		[UNIT_TYPES] = "types",     [UNIT_MILLISECONDS] = "milliseconds",
	};

	return names[unit];
}

bool loss_counts_events(uint64_t code)
{
	enum loss_unit unit = loss_info(code)->unit;

	return unit == UNIT_EVENTS || unit == UNIT_STACKS;
}
