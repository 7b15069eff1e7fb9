/* SPDX-License-Identifier: BSD-2-Clause */
/* codes.h: values of record fields, and of losses, beyond the descriptions in records.def. */
#ifndef GCPROF_CODES_H
#define GCPROF_CODES_H

#include <stdbool.h>
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

/* stream.why */
enum stream_why {
	WHY_TEXT = 0,    /* recorded, or only why_not says why it is not */
	WHY_UNASKED = 1, /* its option was not given */
	WHY_REFUSED = 2, /* the kernel refused what it needs; why_not says what */
	WHY_NO_RUNTIME =
		3, /* no program that was found has probes or a supported runtime; likewise */
};

/* "cpu", and what that stream records; NULL: no such stream. */
const char *stream_name(uint64_t stream);
const char *stream_meaning(uint64_t stream);

/* The option whose absence or presence was WHY_UNASKED. */
const char *stream_option(uint64_t stream);

/* The sentence of a stream's record, `why_not` being the text in it. */
const char *stream_why_not(uint64_t stream, uint64_t why, const char *why_not);

/* runtime.unsampled as a clause (bpf/unsampled.def); NULL for 0. */
const char *unsampled_why(uint64_t reason);

/* A word for programs to parse: lost, cut, held, gap; unknown for any other number. */
const char *severity_name(uint64_t severity);

/* A short name for programs to parse; NULL for an unknown reason. */
const char *end_reason_name(uint64_t reason);

/*
 * The program's exit status as a shell shows it (128 + the signal that killed it), from the two
 * fields of an end record. -1: its end was not observed.
 */
int end_exit_status(uint64_t reason, uint64_t status);

/* What bpf/loss.def says of each loss. */

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
