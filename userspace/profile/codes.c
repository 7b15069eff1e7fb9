// SPDX-License-Identifier: BSD-2-Clause
/* codes.c: values of record fields, and of losses, beyond the descriptions in records.def. */
#include "codes.h"

#include <stddef.h>
#include <sys/wait.h>

#include "../../bpf/events.h"

#define NAME_OF(names, code) ((code) < sizeof(names) / sizeof((names)[0]) ? (names)[code] : NULL)

#define UNASKED "not asked for: "

static const char *const stream_names[] = {
#define STREAM(code, name, string, option, doc) [code] = string,
#include "../../bpf/streams.def"
#undef STREAM
};

static const char *const unasked_texts[] = {
#define STREAM(code, name, string, option, doc) [code] = UNASKED option,
#include "../../bpf/streams.def"
#undef STREAM
};

const char *stream_name(uint64_t stream)
{
	return NAME_OF(stream_names, stream);
}

const char *stream_why_not(uint64_t stream, uint64_t why, const char *why_not)
{
	const char *text = NAME_OF(unasked_texts, stream);

	return why == WHY_UNASKED && text ? text : why_not;
}

const char *stream_meaning(uint64_t stream)
{
	static const char *const meanings[] = {
#define STREAM(code, name, string, option, doc) [code] = doc,
#include "../../bpf/streams.def"
#undef STREAM
	};

	return NAME_OF(meanings, stream);
}

const char *stream_option(uint64_t stream)
{
	return stream_why_not(stream, WHY_UNASKED, UNASKED) + sizeof(UNASKED) - 1;
}

const char *unsampled_why(uint64_t reason)
{
	static const char *const texts[] = {
#define UNSAMPLED(code, name, doc) [code] = doc,
#include "../../bpf/unsampled.def"
#undef UNSAMPLED
	};
	const char *text = NAME_OF(texts, reason);

	return text || !reason ? text : texts[UNSAMPLED_OTHER];
}

const char *severity_name(uint64_t severity)
{
	static const char *const names[] = {
		[SEVERITY_LOST] = "lost",
		[SEVERITY_CUT] = "cut",
		[SEVERITY_HELD] = "held",
		[SEVERITY_GAP] = "gap",
	};
	const char *name = NAME_OF(names, severity);

	return name ? name : "unknown";
}

const char *end_reason_name(uint64_t reason)
{
	static const char *const names[] = {
		[END_EXITED] = "program ended",   [END_INTERRUPTED] = "interrupted",
		[END_DURATION] = "duration over", [END_ERROR] = "error",
		[END_GONE] = "all ended",         [END_NEXT] = "goes on",
		[END_SNAPSHOT] = "snapshot",      [END_MERGED] = "merged",
	};

	return NAME_OF(names, reason);
}

int end_exit_status(uint64_t reason, uint64_t status)
{
	int wait_status = (int)status;

	if (reason != END_EXITED)
		return -1;
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

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
