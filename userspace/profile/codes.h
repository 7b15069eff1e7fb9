/* SPDX-License-Identifier: BSD-2-Clause */
/* codes.h: values of record fields, beyond the descriptions in records.def. */
#ifndef GCPROF_CODES_H
#define GCPROF_CODES_H

#include <stdint.h>

/* loss_kind.severity */
enum severity { SEVERITY_LOST = 1, SEVERITY_CUT = 2, SEVERITY_HELD = 3, SEVERITY_GAP = 4 };

/* end.reason */
enum end_reason {
	END_EXITED = 1,
	END_INTERRUPTED = 2,
	END_DURATION = 3,
	END_ERROR = 4,
	END_GONE = 5,     /* all attached programs ended */
	END_NEXT = 6,     /* the recording continues in another file */
	END_SNAPSHOT = 7, /* the recording continues; this file is the part that was kept */
	END_MERGED = 8,   /* several recordings, each of which ended by itself */
};

/* runtime.unsampled */
enum { RUNTIME_UNSAMPLED = 1, RUNTIME_NO_SAMPLER = 2 };

/* "alloc", and what that stream records; NULL: there is none with this code. */
const char *stream_name(unsigned stream);
const char *stream_meaning(unsigned stream);

/* A word for programs to parse: lost, cut, held, gap; unknown for any other number. */
const char *severity_name(uint64_t severity);

/* A short name for programs to parse; NULL for an unknown reason. */
const char *end_reason_name(uint64_t reason);

/*
 * The program's exit status as a shell shows it (128 + the signal that killed it), from the two
 * fields of an end record. -1: its end was not observed.
 */
int end_exit_status(uint64_t reason, uint64_t status);

#endif
