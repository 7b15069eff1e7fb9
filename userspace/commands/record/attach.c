/* SPDX-License-Identifier: BSD-2-Clause */
/* attach.c: gcprof record for running programs: processes, a cgroup, the machine. */
/*
 * The order matters. First the BPF programs and the perf rings are attached, then the
 * threads are registered, then their mappings are read and probes attached. So nothing is
 * missed, and what is reported twice is stored once. Attaching the probes switches the
 * samplers of the programs on.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record.h"
#include "../commands.h"
#include "../../record/machine/cgroup.h"
#include "../../record/machine/clock.h"
#include "../../record/ingest/drain.h"
#include "../../record/store/facts.h"
#include "../../record/kernel/checks.h"
#include "../../record/ingest/watch.h"
#include "../../util/buffer.h"
#include "../../util/log.h"
#include "../../util/priority.h"

#define SETTLE_NS UINT64_C(3000000000) /* until programs have noticed that a consumer attached */

/* Checks that the targets exist, before anything is opened. */
static int check_targets(struct recording *recording)
{
	struct record_options *options = &recording->options;
	struct problem problem = {""};
	int err = 0;

	if (options->pids)
		err = running_open(options->pids, &recording->running, &problem);
	else if (options->cgroup)
		err = recording->cgroup = cgroup_open(&recording->user, options->cgroup,
						      &options->cgroup_id, &problem);
	if (err == -EINVAL && options->pids) {
		recording_fail(&problem);
		return EXIT_USAGE;
	}
	if (err < 0)
		return recording_fail(&problem);
	if (recording->running.gone)
		log_warning("%s (%zu in total): only the others are recorded", problem.text,
			    recording->running.gone);
	return 0;
}

enum { CHILDREN_SHOWN = 8 };

enum { LAST_TARGETS = 64 }; /* size of the longest process text, and of what follows the last */

/* "process 12 (name), process 13 (name)", "cgroup PATH" or "every process". */
static void describe_targets(const struct recording *recording, char *out, size_t size)
{
	const struct running *running = &recording->running;
	size_t used = 0;

	if (recording->options.cgroup)
		snprintf(out, size, "cgroup %s", recording->options.cgroup);
	else
		snprintf(out, size, "every process");
	for (size_t i = 0; i < running->count; i++) {
		char name[16];

		if (size - used < LAST_TARGETS) {
			snprintf(out + used, size - used, " and %zu more", running->count - i);
			return;
		}
		running_name(running->pids[i], name);
		used += (size_t)snprintf(out + used, size - used, "%sprocess %d (%s)",
					 i ? ", " : "", running->pids[i], name);
	}
}

/*
 * With one process, its command is that of the profile; otherwise the description of the
 * targets.
 */
static int open_profile(struct recording *recording, char *targets)
{
	char *none[] = {targets, NULL}, *text = NULL;
	struct buffer words = {0};
	const char *end = NULL;
	size_t size = 0;
	int code;

	if (recording->running.count == 1)
		running_command(recording->running.pids[0], &text, &size);
	for (char *word = text; word && word < text + size; word += strlen(word) + 1)
		if (buffer_append(&words, &word, sizeof(word)))
			break;
	if (words.size && buffer_append(&words, &end, sizeof(end)))
		words.size = 0;
	code = recording_open_profile(recording, words.size ? (char **)(void *)words.data : none);
	buffer_free(&words);
	free(text);
	return code;
}

/* --- control blocks ---------------------------------------------------------- */

static const char *why_unset(int err)
{
	return err == -ESTALE   ? "something else is mapped where its control block should be"
	       : err == -ETIME  ? "its memory does not answer"
	       : err == -EPERM  ? "--no-writes forbids writing to its memory"
	       : err == -EUSERS ? "eight other recorders record it, and it has room for no more"
				: strerror(-err);
}

/*
 * A program that cannot be written to takes no samples. A program without a control block, or
 * a runtime that we switch on, uses its own period.
 */
static void warn_unreached(const struct recording *recording)
{
	const struct running *running = &recording->running;
	bool asked = recording->options.period ||
		     recording_ceiling(&recording->options) != CEILING_DEFAULT;

	for (size_t i = 0; i < running->count; i++) {
		int state = control_state(recording->control, (uint32_t)running->pids[i]);

		if (state < 0 && state != -ESRCH)
			log_warning("process %d does not know that it is recorded, and takes no "
				    "allocation samples: %s",
				    running->pids[i], why_unset(state));
		else if (!state && asked &&
			 !switches_know(recording->switches, (uint32_t)running->pids[i]) &&
			 session_stream(recording->session, STREAM_ALLOC)->attached)
			log_warning("process %d keeps its own sampling period: its control block "
				    "was not found in its file",
				    running->pids[i]);
	}
}

/* --- names ------------------------------------------------------------------- */

/*
 * A program without a control block does not notice a second consumer, and has announced
 * its names only to the first.
 */
static void warn_without_names(const struct recording *recording)
{
	const struct running *running = &recording->running;

	recording_step(recording, "another gcprof may be recording");
	if (!session_stream(recording->session, STREAM_ALLOC)->attached)
		return;
	for (size_t i = 0; i < running->count; i++)
		if (!drain_attached(recording->drain, (uint32_t)running->pids[i]) &&
		    control_state(recording->control, (uint32_t)running->pids[i]) != -EPERM)
			log_warning("another gcprof may be recording, and process %d has no name "
				    "table: types and functions that it announced before are shown "
				    "as numbers",
				    running->pids[i]);
}

/* --- attaching --------------------------------------------------------------- */

/* If one of the processes has ended, the others are still recorded. */
static int check_followed(struct recording *recording)
{
	const struct running *running = &recording->running;
	struct target_entry entry;
	size_t gone = 0;
	pid_t last = 0;

	for (size_t i = 0; i < running->count; i++) {
		if (!session_target(recording->session, running->pids[i], &entry))
			continue;
		gone++;
		last = running->pids[i];
	}
	if (gone && gone == running->count) {
		log_error("process %d ended before it could be recorded", last);
		return EXIT_FAILURE;
	}
	if (gone)
		log_warning("process %d ended before it could be recorded (%zu in total)", last,
			    gone);
	return 0;
}

static int follow(struct recording *recording)
{
	const struct running *running = &recording->running;
	int err = running->count ? session_add_targets(recording->session, running->pids,
						       running->count, false)
				 : session_find_threads(recording->session);

	return err ? recording_fail_errno("cannot search for processes", err)
		   : check_followed(recording);
}

static void warn_stopped(const struct running *running)
{
	size_t stopped = 0;
	pid_t last = 0;

	for (size_t i = 0; i < running->count; i++) {
		if (!running_is_stopped(running->pids[i]))
			continue;
		stopped++;
		last = running->pids[i];
	}
	if (stopped)
		log_warning("process %d is stopped by a signal or a debugger (%zu in total): it "
			    "has no events until it continues",
			    last, stopped);
}

/* Those of a server's main process do the work. 0 or an error of the profile. */
static int warn_children(const struct recording *recording)
{
	pid_t children[CHILDREN_SHOWN];
	size_t count = running_children(&recording->running, children, CHILDREN_SHOWN), used = 0;
	char list[CHILDREN_SHOWN * 12] = "";

	for (size_t i = 0; i < count && i < CHILDREN_SHOWN; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%d", i ? "," : "",
					 children[i]);
	if (count)
		log_warning("the processes of -p have started others before, which are not "
			    "recorded (%zu in total); to record them, add to -p: %s%s",
			    count, list, count > CHILDREN_SHOWN ? " and others" : "");
	return count ? facts_put_children(recording->writer, count) : 0;
}

/* A program that was started before shows nothing of being recorded. */
static void say_begun(const struct recording *recording, const char *targets)
{
	if (!isatty(STDERR_FILENO))
		return;
	if (recording->options.duration)
		log_info("recording %s for %g s; Ctrl-C ends it sooner", targets,
			 (double)recording->options.duration / 1e9);
	else
		log_info("recording %s%s; Ctrl-C ends it", targets,
			 recording->running.count > 1 ? " until the last of them ends"
			 : recording->running.count   ? " until it ends"
						      : "");
}

static void warn_empty(const struct recording *recording, const char *targets)
{
	if (recording->options.cgroup && !session_has_targets(recording->session))
		log_warning("no process is in %s; processes that join it will be recorded",
			    targets);
}

/* The programs load them now. Probes are attached when the kernel reports the mapping. */
static int load_agents(struct recording *recording)
{
	const struct agent_kind *kind = recording->options.agent_kind;
	const struct running *running = &recording->running;
	struct problem problem;

	if (!kind)
		return 0;
	if (agent_open(kind, &recording->user, &recording->agent, &problem))
		return recording_fail(&problem);
	for (size_t i = 0; i < running->count; i++) {
		const struct process *process =
			processes_at(recording->processes, (uint32_t)running->pids[i], clock_now());
		const struct agent_target target = {running->pids[i], running->pidfds[i],
						    process ? process->runtimes : 0};

		if (agent_attach(kind, &recording->agent, &target, &recording->user, &problem))
			log_problem(LOG_WARNING, &problem);
	}
	recording_step(recording, "agents are loaded");
	return 0;
}

/* Registers threads; then the first round reads their mappings and attaches the probes. */
static int begin(struct recording *recording, const char *targets)
{
	int err = recording_put_start(recording), code;

	for (size_t i = 0; i < recording->running.count; i++)
		counters_follow_limits(recording->counters, (uint32_t)recording->running.pids[i]);

	err = err ? err : recording_pause(recording);
	if (!err)
		err = profile_writer_flush(recording->writer);
	if (err)
		return recording_fail_errno(recording_output(recording), err);
	code = follow(recording);
	if (code)
		return code;
	recording_step(recording, "threads are known");
	warn_stopped(&recording->running);
	err = warn_children(recording);
	err = err ? err : drain_round(recording->drain);
	err = err ? err : drain_settle(recording->drain);
	if (err)
		return recording_fail_errno(recording_output(recording), err);
	opener_settle(recording->opener, SETTLE_NS);
	recording_step(recording, "probes attached");
	code = load_agents(recording);
	if (code)
		return code;
	warn_unreached(recording);
	if (others_may_record())
		warn_without_names(recording);
	warn_empty(recording, targets);
	recording_warn_streams(recording);
	code = recording_begin(recording);
	if (code)
		return code;
	err = watch_start(recording->watch, recording->options.duration);
	if (err)
		log_warning("--duration does not work: %s", strerror(-err));
	say_begun(recording, targets);
	return 0;
}

int recording_attach(struct recording *recording)
{
	char targets[1024], few[128], none[256];
	int code = check_targets(recording);

	recording_outlive_writes();
	if (!code)
		code = recording_may(recording);
	if (!code)
		code = recording_open_output(recording);
	if (!code)
		code = recording_open_session(recording, PERF_MAPS_ALL);
	if (code)
		return code;
	describe_targets(recording, targets, sizeof(targets));
	describe_targets(recording, few, sizeof(few));
	snprintf(none, sizeof(none), "%s in what %s has mapped", recording_no_runtime(recording),
		 recording->options.system ? "any process" : few);
	session_probes_attached(recording->session, WHY_NO_RUNTIME, none);
	code = open_profile(recording, targets);
	if (!code && recording->running.count && facts_put_target(recording->writer, targets))
		code = recording_fail_errno(recording_output(recording), -EIO);
	if (!code)
		code = recording_open_watch(recording, recording->running.pidfds,
					    recording->running.count);
	if (!code)
		code = begin(recording, targets);
	/*
	 * On a busy machine, all programs fill the rings while the recorder waits for a
	 * CPU. It needs little CPU time, but soon.
	 */
	unwinder_calm(recording->unwinder);
	if (recording->running.count)
		priority_restore();
	return code;
}
