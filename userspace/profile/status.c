// SPDX-License-Identifier: BSD-2-Clause
/* status.c: explains why a profile cannot be read or is incomplete. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/log.h"
#include "../util/version.h"
#include "status.h"

static const char *refusal_text(void)
{
	static _Thread_local char text[256];
	const struct profile_refusal *refusal = profile_reader_refusal();
	const bool newer = refusal->format > FORMAT_NUMBER;
	const char *writer = newer ? "a newer gcprof" : "an older gcprof";

	snprintf(text, sizeof(text),
		 "%s wrote it in format %" PRIu64 "; this is %s, which reads format %d: %s",
		 *refusal->writer ? refusal->writer : writer, refusal->format, gcprof_version,
		 FORMAT_NUMBER,
		 newer ? "read it with that version"
		       : "read it with that version, or record again");
	return text;
}

const char *profile_error_text(int err)
{
	switch (err) {
	case -ENOENT:
		return "no such file; 'gcprof record -- COMMAND' makes one";
	case -ENODATA:
		return "it is empty: nothing was recorded, or the recorder could not write";
	case -EBADMSG:
		return "it is not a profile of gcprof";
	case -EPROTO:
		return refusal_text();
	case -EISDIR:
		return "it is a directory";
	case -EACCES:
		return "permission denied: gcprof reads with your rights, also under sudo";
	case -ENOMEM:
		return "it takes more memory than is allowed for a file of its size; "
		       "GCPROF_MEMORY=8G allows more";
	default:
		return strerror(err < 0 ? -err : err);
	}
}

const char *profile_state_name(enum profile_state state)
{
	switch (state) {
	case PROFILE_COMPLETE:
		return "complete";
	case PROFILE_UNFINISHED:
		return "unfinished";
	case PROFILE_TORN:
		return "torn";
	case PROFILE_DAMAGED:
		return "damaged";
	case PROFILE_LARGE:
		return "large";
	}
	return "unknown";
}

const char *profile_state_text(enum profile_state state)
{
	switch (state) {
	case PROFILE_COMPLETE:
		return NULL;
	case PROFILE_UNFINISHED:
		return "the end is missing: the recorder was killed or is still running";
	case PROFILE_TORN:
		return "the end is missing: the last chunk is cut off, because the recorder was "
		       "killed or the disk was full";
	case PROFILE_DAMAGED:
		return "the file is damaged: only what precedes the damage was read";
	case PROFILE_LARGE:
		return "only its beginning was read: all of it takes more memory than is allowed "
		       "for a file of its size; GCPROF_MEMORY=8G allows more";
	}
	return NULL;
}

int profile_judge(const char *file, enum profile_state state, uint64_t bytes)
{
	const bool failed = state != PROFILE_COMPLETE && state != PROFILE_UNFINISHED &&
			    state != PROFILE_TORN;
	const char *text = profile_state_text(state);
	char place[48] = "";

	if (state == PROFILE_COMPLETE)
		return EXIT_SUCCESS;
	if (state == PROFILE_DAMAGED && bytes)
		snprintf(place, sizeof(place), " (byte %llu)", (unsigned long long)bytes);
	log_print(failed ? LOG_ERROR : LOG_WARNING, "%s: %s%s", file, text ? text : "invalid",
		  place);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
