/* SPDX-License-Identifier: BSD-2-Clause */
/* finish.c: gcprof record: completes the file and prints the summary. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "record.h"
#include "../../profile/codes.h"
#include "../../record/machine/clock.h"
#include "../../record/ingest/drain.h"
#include "../../record/store/facts.h"
#include "../../util/log.h"
#include "../../util/plural.h"
#include "../../../bpf/config.h"
#include "../../util/proc_file.h"
#include "../../record/kernel/session.h"
#include "../../record/world/processes.h"

/*
 * The kernel side knows a process from its begin until its last thread has ended. Processes that
 * ended since then, or are zombies, are left out.
 */

struct left {
	uint32_t pid;  /* as in /proc here */
	char name[16]; /* name of its first thread; may contain anything */
};

enum {
	BATCH = 256, /* more than ever share a bucket of the kernel's table */
};

static bool look_at(const struct process *process, struct left *out)
{
	uint32_t pid = process ? process->proc_pid : 0;

	if (!pid || !proc_living_thread(pid) ||
	    proc_file_read(pid, "comm", out->name, sizeof(out->name)))
		return false;
	out->name[strcspn(out->name, "\n")] = '\0';
	out->pid = pid;
	return true;
}

/*
 * Processes that were recorded to the end and still run. To be called once all events are stored
 * and before the session is freed. Stores the first `max` in `out`; returns their number.
 */
static size_t left_find(const struct session *session, struct processes *processes,
			struct left *out, size_t max)
{
	static uint32_t indexes[BATCH];
	static struct process_state states[BATCH];
	uint32_t place = 0, n = BATCH;
	size_t count = 0;
	int err;

	do {
		n = BATCH;
		err = table_lookup_batch(session, TABLE_PROCESSES, &place, indexes, states, &n);
		for (uint32_t i = 0; (!err || err == -ENOENT) && i < n; i++) {
			struct left left;

			if (!look_at(processes_written(processes, indexes[i]), &left))
				continue;
			if (count < max)
				out[count] = left;
			count++;
		}
	} while (!err);
	return count;
}

/* Maximum number of remaining processes listed by name. */
enum { LEFT_SHOWN = 8 };

/*
 * With --system the recorder ends promptly on request, whatever files other programs have
 * mapped.
 */
#define SECOND_NS UINT64_C(1000000000)
static const struct patience for_program = {2 * SECOND_NS, 10 * SECOND_NS, 10 * SECOND_NS};
static const struct patience for_system = {SECOND_NS / 5, SECOND_NS / 5, SECOND_NS / 5};

/* A shorter recording may have used up the credit that it starts with. */
#define OVERHEAD_SURE_NS UINT64_C(120000000000)

static int put_end(struct recording *recording, uint64_t now)
{
	struct record record = {
		.kind = RECORD_end,
		.end =
			{
				.time = now,
				.reason = recording->reason,
				.status = recording->reason == END_EXITED
						  ? (uint64_t)recording->status
						  : 0,
			},
	};

	return profile_writer_put(recording->writer, &record);
}

/* Completes the file. The kernel side emits nothing any more. */
static void finish_profile(struct recording *recording, uint64_t end)
{
	const struct patience *patience =
		recording->target || recording->running.count ? &for_program : &for_system;
	int closed, err;

	if (!recording->paused)
		counters_pause(recording->counters, end);
	err = drain_finish(recording->drain, patience);
	recording_step(recording, "the last events are written");
	err = err ? err : store_symbolize_all(recording->store, patience->names_ns);
	err = err ? err : counters_put_losses(recording->counters, clock_now());
	err = err ? err : facts_put_refused(recording->writer);
	recording_step(recording, "functions are named");
	err = err ? err : recording_put_why(recording);
	err = err ? err : recording_put_user(recording);
	err = err ? err : recording_put_none(recording);
	err = err ? err : put_end(recording, end);
	err = err ? err : profile_writer_flush(recording->writer);
	recording->bytes += profile_writer_size(recording->writer);
	if (profile_writer_flush(recording->writer)) {
		recording->cut = profile_writer_stored(recording->writer);
		if (recording->cut < recording->start)
			recording->cut = recording->start;
	}
	closed = recording->keeping.kept ? recording_keep_finish(recording, end) : 0;
	err = err ? err : closed;
	closed = profile_writer_close(recording->writer);
	recording->writer = NULL;
	err = err ? err : closed;
	if (err && !recording->failed)
		recording_fail_errno(recording_output(recording), err);
	recording->failed |= err != 0;
}

/* Reports losses that matter to the user; returns the number of missing events. *others: something
 * else is missing. */
static uint64_t report_losses(const struct recording *recording, bool *others)
{
	static const enum log_level levels[] = {
		[SEVERITY_LOST] = LOG_WARNING,
		[SEVERITY_CUT] = LOG_VERBOSE,
		[SEVERITY_HELD] = LOG_VERBOSE,
		[SEVERITY_GAP] = LOG_INFO,
	};
	uint64_t events = 0;

	*others = false;
	for (unsigned code = 0; code < LOSS_MAX; code++) {
		const struct loss_info *loss = loss_info(code);
		uint64_t count = loss->name ? counters_loss(recording->counters, code) : 0;

		if (!count)
			continue;
		log_print(levels[loss->severity], "%" PRIu64 " %s", count,
			  plural(count, loss->text).text);
		if (loss->severity != SEVERITY_LOST)
			continue;
		if (loss_counts_events(code))
			events += count;
		else
			*others = true;
	}
	return events;
}

void recording_describe_size(uint64_t bytes, char *out, size_t size)
{
	if (bytes < 1024)
		snprintf(out, size, "%" PRIu64 " bytes", bytes);
	else if (bytes < 1024 * 1024)
		snprintf(out, size, "%.1f KiB", (double)bytes / 1024);
	else
		snprintf(out, size, "%.1f MiB", (double)bytes / 1024 / 1024);
}

/* If writing the profile failed, the kernel's totals may not have been read. */
static uint64_t count_syscalls(const struct recording *recording)
{
	uint64_t stored = store_count(recording->store, STREAM_SYSCALL);
	uint64_t total = counters_syscalls(recording->counters);

	return total > stored ? total : stored;
}

/* The number that a user knows: a stream also has events about its objects and threads. */
static uint64_t count_of(const struct recording *recording, enum stream stream)
{
	if (stream == STREAM_ALLOC)
		return store_sampled(recording->store);
	if (stream == STREAM_GC)
		return store_collections(recording->store);
	return store_count(recording->store, stream);
}

static void describe_streams(const struct recording *recording, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (int stream = 0; stream < STREAM_END; stream++) {
		const char *name = stream_name(stream);
		int n;

		if (!name || (stream == STREAM_SCHED && !recording->options.off_cpu) ||
		    (stream == STREAM_FAULT && !recording->options.faults))
			continue;
		if (!session_stream(recording->session, (enum stream)stream)->attached)
			n = snprintf(out + used, size - used, ", no %s", name);
		else if (stream == STREAM_SYSCALL)
			n = snprintf(out + used, size - used, ", %" PRIu64 " of %" PRIu64 " %s",
				     store_count(recording->store, (enum stream)stream),
				     count_syscalls(recording), name);
		else
			n = snprintf(out + used, size - used, ", %" PRIu64 " %s",
				     count_of(recording, (enum stream)stream), name);
		if (n < 0 || (size_t)n >= size - used)
			return;
		used += (size_t)n;
	}
}

/* CPU time, ns. */
struct cost_parts {
	double bpf;     /* our BPF programs on the programs' threads */
	double others;  /* and on other threads */
	double own;     /* the recorder, from the start of the recording to its end */
	double share;   /* of these in the machine meanwhile */
	bool measured;  /* `bpf` is known */
	bool tells_bpf; /* the greatest part is `bpf` */
};

/*
 * The costs that --max-overhead limits are measured. Without a limit timer samples in our programs
 * tell; they miss what the kernel takes to reach these.
 */
static struct cost_parts measure_cost(struct recording *recording, uint64_t end, double own_ns)
{
	struct throttle *throttle = &recording->throttle;
	bool measured = !throttle_measure(throttle);
	struct cost_parts parts = {.bpf = throttle->programs_ns, .others = throttle->others_ns};
	double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);

	parts.measured = measured;
	parts.own = own_ns - recording->started_ns;
	if (!measured && recording->options.frequency &&
	    own_code_is_known(session_own_code(recording->session))) {
		parts.bpf = 1e9 / (double)recording->options.frequency *
			    (double)store_own_ticks(recording->store);
		parts.measured = true;
	}
	if (end > recording->start)
		parts.share = (parts.bpf + parts.others + parts.own) /
			      ((double)(end - recording->start) * cpus);
	parts.tells_bpf = parts.bpf + parts.others > parts.own;
	return parts;
}

/* `own_ns`: CPU time of the recorder until the end of the recording; what it took before and after
 * is outside of the limit. */
static void report_cost(struct recording *recording, uint64_t end, double own_ns)
{
	const struct cost_parts parts = measure_cost(recording, end, own_ns);
	double allowed = recording->throttle.percent, after = recorder_cpu_ns() - own_ns;
	char beside[64] = "";

	if (parts.others >= 1e7)
		snprintf(beside, sizeof(beside), "%.2f s on those of others, ", parts.others / 1e9);
	if (parts.measured)
		log_info("recording took %.2f s of CPU time, %.1f%% of the machine meanwhile: %.2f "
			 "s "
			 "on the programs' threads (BPF), %s%.2f s in gcprof",
			 (parts.own + parts.bpf + parts.others) / 1e9, parts.share * 100,
			 parts.bpf / 1e9, beside, parts.own / 1e9);
	else
		log_info("recording took %.2f s of CPU time in gcprof; its cost on the programs' "
			 "threads (BPF) is unknown without a limit (--max-overhead) and without "
			 "timer samples (-F, and root or CAP_SYSLOG)",
			 parts.own / 1e9);
	if (allowed > 0 && parts.measured && parts.share * 100 > allowed)
		log_info("that is more than the %g%% of --max-overhead, most of it %s: %s", allowed,
			 parts.tells_bpf ? "on the programs' threads" : "in gcprof",
			 end - recording->start < OVERHEAD_SURE_NS
				 ? "a recording may use a minute's share in advance"
				 : "leave out what costs the most (-F, --off-cpu, --faults, "
				   "--system)");
	log_info("starting took another %.2f s of CPU time, and finishing, which names functions, "
		 "%.2f s: the limit does not cover these",
		 recording->started_ns / 1e9, after / 1e9);
}

/* Reports what the recorder did to stay within its limit, or that it exceeded the limit. */
static void report_overhead(const struct recording *recording, uint64_t end)
{
	const struct throttle *throttle = &recording->throttle;
	const struct throttle_level most = throttle_level(throttle, throttle->most);
	const struct record_options *options = &recording->options;
	uint64_t untraced = counters_loss(recording->counters, LOSS_SYSCALLS_UNTRACED) * 1000000;
	uint64_t all = recording_recorded(recording, end);
	double allowed = throttle->percent;

	if (allowed <= 0)
		return;
	log_verbose("main loop: longest turn %.1f ms", (double)recording->longest_turn / 1e6);
	log_verbose("a timer sample takes %.1f us, an allocation sample %.1f us of the program",
		    throttle->tick_ns / 1e3, throttle->sample_ns / 1e3);
	if (throttle->err)
		log_warning("system calls could not be traced again: %s", strerror(-throttle->err));
	if (untraced && controller_is_short(&throttle->controller))
		log_info("system calls were traced for %.2f of %.2f s to stay within %g%% of "
			 "the machine (--max-overhead): their totals are estimates",
			 ((double)all - (double)untraced) / 1e9, (double)all / 1e9, allowed);
	else if (untraced)
		log_info("system calls were traced for %.2f of %.2f s, since tracing all would "
			 "slow the program down: their totals are estimates (--max-overhead off "
			 "traces all)",
			 ((double)all - (double)untraced) / 1e9, (double)all / 1e9);
	if (most.samples && store_count(recording->store, STREAM_ALLOC))
		log_info("allocation samples were limited to as few as %" PRIu64
			 " a second to stay within %g%% of the machine (--max-overhead): each "
			 "carries its own period, so totals stay right",
			 (uint64_t)CEILING_DEFAULT_RATE >> most.samples, allowed);
	if (most.ticks)
		log_info("the timer was slowed down to as little as %" PRIu64
			 " Hz to stay within %g%% of the machine (--max-overhead): total CPU time "
			 "stays exact, functions have fewer samples",
			 options->frequency >> most.ticks, allowed);
	if (most.calls)
		log_info("single records of short system calls were limited to as few as %" PRIu64
			 " a second and CPU to stay within %g%% of the machine (--max-overhead): "
			 "totals stay right",
			 options->syscall_rate >> most.calls, allowed);
}

/*
 * Reports processes that the program left running: they are no longer recorded, and nothing
 * else would show that.
 */
static void report_left(const struct recording *recording)
{
	struct left left[LEFT_SHOWN];
	char names[LEFT_SHOWN * 32] = "", pids[LEFT_SHOWN * 12] = "";
	size_t count, shown, named = 0, numbered = 0;

	if (recording->reason != END_EXITED && recording->reason != END_GONE)
		return;
	count = left_find(recording->session, recording->processes, left, LEFT_SHOWN);
	shown = count < LEFT_SHOWN ? count : LEFT_SHOWN;
	for (size_t i = 0; i < shown; i++) {
		named += (size_t)snprintf(names + named, sizeof(names) - named, "%s%s (%u)",
					  i ? ", " : "", left[i].name, left[i].pid);
		numbered += (size_t)snprintf(pids + numbered, sizeof(pids) - numbered, "%s%u",
					     i ? "," : "", left[i].pid);
	}
	if (count)
		log_warning("the program ended, but processes that it started still run and are no "
			    "longer recorded: %s%s; to record them: gcprof record -p %s",
			    names, count > shown ? " and others" : "", pids);
}

/* Only if none came: a program's launcher needs no runtime. */
static void report_none(const struct recording *recording)
{
	const struct stream_state *state = session_stream(recording->session, STREAM_ALLOC);

	if (!state->attached && !session_stream(recording->session, STREAM_GC)->attached)
		log_info("no allocation samples and no collections were recorded: %s",
			 state->why_not);
}

static void print_summary(struct recording *recording, uint64_t end, double own_ns)
{
	const char *output = recording_output(recording);
	bool usual = strcmp(output, OUTPUT_DEFAULT) == 0;
	bool others;
	uint64_t lost = report_losses(recording, &others);
	char refused[REFUSED_TEXT];
	uint64_t recorded = recording_recorded(recording, end);
	char streams[256], size[32], files[48] = "", losses[64] = "nothing lost", pauses[48] = "";

	describe_streams(recording, streams, sizeof(streams));
	recording_describe_size(recording->bytes, size, sizeof(size));
	if (lost)
		snprintf(losses, sizeof(losses), "%" PRIu64 " event%s lost", lost,
			 lost == 1 ? "" : "s");
	else if (others)
		snprintf(losses, sizeof(losses), "no events lost");
	if (recording->options.rotate && recording->rotation.number > 1)
		snprintf(files, sizeof(files), "%u files, the last is ",
			 recording->rotation.number);
	report_none(recording);
	facts_describe_refused(refused);
	if (refused[0])
		log_warning(
			"files, mappings or names of programs were left out, because their user "
			"had more than a fair share of the recorder (%s); other users' were not",
			refused);
	report_overhead(recording, end);
	report_cost(recording, end, own_ns);
	if (recording->paused || recording->paused_ns)
		snprintf(pauses, sizeof(pauses), " (and paused for %.2f s)",
			 (double)(end - recording->start - recorded) / 1e9);
	if (recording->piped)
		output = "standard output";
	if (recording->cut)
		log_info("the profile ends about %.2f s after its begin: the %.2f s that were "
			 "recorded after that could not be written; %s in %s%s",
			 (double)(recording->cut - recording->start) / 1e9,
			 (double)(end - recording->cut) / 1e9, size, files, output);
	else
		log_info("recorded %.2f s%s%s; %s; %s in %s%s", (double)recorded / 1e9, pauses,
			 streams, losses, size, files, output);
	if (recording->piped || recording->failed)
		return;
	log_info("see it with: gcprof report%s%s", usual ? "" : " ", usual ? "" : output);
}

void recording_complete(struct recording *recording)
{
	uint64_t end = clock_now();
	double own_ns = recorder_cpu_ns();

	session_stop(recording->session);
	unwinder_abandon(recording->unwinder);
	finish_profile(recording, end);
	recording_check_output(recording);
	recording->failed |= recording->removed;
	recording_step(recording, "the profile is complete");
	report_left(recording);
	print_summary(recording, end, own_ns);
	/* Of a recording that is kept each snapshot was pushed by itself. */
	if (!recording->failed && !recording->keeping.kept)
		recording_push(recording, recording->path);
}
