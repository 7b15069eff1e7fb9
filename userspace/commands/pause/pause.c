/* SPDX-License-Identifier: BSD-2-Clause */
/* pause.c: `gcprof record --start-paused`, and what gcprof pause and resume ask for. */
#include <string.h>
#include <unistd.h>

#include "../record/record.h"
#include "../../record/ingest/drain.h"
#include "../../record/ingest/watch.h"
#include "../../record/store/store.h"
#include "../../util/log.h"

/* The time of the pause. Totals must be written before calls are traced again. */
static int begin(struct recording *recording, uint64_t *time)
{
	int err;

	*time = recording->paused = session_pause(recording->session);
	err = counters_put_calls(recording->counters);
	counters_pause(recording->counters, *time);
	log_info("paused; to resume: gcprof resume %d", (int)getpid());
	return err;
}

static void end(struct recording *recording, uint64_t *time)
{
	int err = session_resume(recording->session, time);
	uint64_t ns = *time - recording->paused;

	if (err)
		log_warning("system calls could not be traced again: %s", strerror(-err));
	counters_resume(recording->counters, *time);
	throttle_skip(&recording->throttle, ns);
	drain_resume(recording->drain);
	recording->paused = 0;
	recording->paused_ns += ns;
	log_info("resumed after %.2f s", (double)ns / 1e9);
}

int recording_pause(struct recording *recording)
{
	bool on = watch_is_paused(recording->watch);
	uint64_t time;
	int err = 0;

	if (on == (recording->paused != 0))
		return 0;
	if (on)
		err = begin(recording, &time);
	else
		end(recording, &time);
	if (recording->control)
		control_pause(recording->control, on);
	err = err ? err : store_pause(recording->store, time, on);
	return err ? err : profile_writer_flush(recording->writer);
}

uint64_t recording_recorded(const struct recording *recording, uint64_t time)
{
	uint64_t until = recording->paused ? recording->paused : time;

	return until - recording->start - recording->paused_ns;
}
