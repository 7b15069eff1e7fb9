/* SPDX-License-Identifier: BSD-2-Clause */
/* codes.h: what numbers in records mean, beyond what records.def says of their fields. */
#ifndef GCPROF_CODES_H
#define GCPROF_CODES_H

#include <stdint.h>

/* loss_kind.severity */
enum severity { SEVERITY_LOST = 1, SEVERITY_CUT = 2, SEVERITY_HELD = 3 };

/* end.reason */
enum end_reason {
	END_EXITED = 1,
	END_INTERRUPTED = 2,
	END_DURATION = 3,
	END_ERROR = 4,
	END_GONE = 5,     /* all programs that were attached to ended */
	END_NEXT = 6,     /* the recording goes on in another file */
	END_SNAPSHOT = 7, /* it goes on, and this is what was kept of it */
	END_MERGED = 8,   /* of several recordings, each of which ended by itself */
};

/* One word for programs: lost, cut, held; unknown for any other number. */
const char *severity_name(uint64_t severity);

/* Two words or so for programs; NULL for a number that is no reason. */
const char *end_reason_name(uint64_t reason);

/*
 * The program's exit status as a shell shows it (128 and the signal that killed it), of the two
 * fields of an end record. -1: its end was not seen.
 */
int end_exit_status(uint64_t reason, uint64_t status);

#endif
