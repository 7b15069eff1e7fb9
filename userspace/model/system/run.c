/* SPDX-License-Identifier: BSD-2-Clause */
/* run.c: facts about the recording as a whole, and the CPU time of its threads. */
#include "run.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../../util/options.h"
#include "../select/selection.h"
#include "../world/arena.h"
#include "../world/text.h"
#include "../world/world.h"

enum { COMMAND_WORDS_MAX = 4096 };

void run_free(struct run *run)
{
	buffer_free(&run->command_line);
	paused_free(&run->paused);
}

bool model_is_of_this_host(const struct model_run *run)
{
	struct utsname system;

	return uname(&system) == 0 && run->host && strcmp(run->host, system.nodename) == 0;
}

static bool is_key(struct bytes key, const char *name)
{
	return key.size == strlen(name) && memcmp(key.data, name, key.size) == 0;
}

uid_t model_user(const struct model *model)
{
	const char *text = model->run.user, *file = model->file;
	struct stat st;
	uint64_t user;

	/* A merged profile has what some of its files say. */
	if (!text || model->run.files || parse_number(text, &user) || user >= USER_UNKNOWN ||
	    (strcmp(file, "-") ? stat(file, &st) : fstat(STDIN_FILENO, &st)))
		return USER_UNKNOWN;
	/* Others could make a profile that says anything. */
	return st.st_uid == 0 || st.st_uid == user ? (uid_t)user : USER_UNKNOWN;
}

int run_meta(struct world *world, const struct record_meta *record)
{
	struct model_run *out = &world->model->run;
	const struct {
		const char *key;
		const char **value;
	} known[] = {
		{"tool", &out->tool},           {"host", &out->host},
		{"kernel", &out->kernel},       {"attached", &out->attached},
		{"machine", &out->machine},     {"cpus", &out->cpus},
		{"cpu_model", &out->cpu_model}, {"snapshot", &out->snapshot},
		{"user", &out->user},           {"children", &out->children},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (!is_key(record->key, known[i].key))
			continue;
		*known[i].value = name_clean(world->model->arena, record->value);
		if (!*known[i].value)
			return -ENOMEM;
	}
	return 0;
}

/* Empty or blank words are omitted. */
static int extend_command_line(struct run *run, struct arena *arena, struct bytes text)
{
	const char *word = line_clean(arena, text);
	struct buffer *line = &run->command_line;
	int error = 0;

	if (!word)
		return -ENOMEM;
	if (!*word)
		return 0;
	if (line->size)
		error = buffer_append(line, " ", 1);
	return error ? error : buffer_append(line, word, strlen(word));
}

int run_argument(struct run *run, struct world *world, const struct record_argument *record)
{
	struct model_run *out = &world->model->run;
	const char *word;

	if (out->n_command >= COMMAND_WORDS_MAX)
		return -EBADMSG;
	word = name_clean(world->model->arena, record->text);
	if (!word || array_reserve(&out->command, &run->command_capacity, out->n_command,
				   sizeof(*out->command)) < 0)
		return -ENOMEM;
	out->command[out->n_command++] = word;
	return extend_command_line(run, world->model->arena, record->text);
}

void run_recording(struct world *world, const struct record_recording *record)
{
	struct model_run *out = &world->model->run;

	out->start = record->start;
	if (!world->timeline.step_ns)
		timeline_begin(&world->timeline, record->start);
	out->frequency = record->frequency;
	out->syscall_rate = record->syscall_rate;
	out->part = record->part;
	world->arguments = record->arguments;
	if (record->period)
		world->model->alloc.period = record->period;
}

/* Recordings of a merged profile have pauses of their own: the others go on meanwhile. */
static void finish_paused(struct run *run, struct model_run *out)
{
	paused_clip(&run->paused, out->start, out->start + out->duration);
	out->paused = paused_times(&run->paused, &out->n_paused);
	run->paused.times = (struct buffer){0};
	for (size_t i = 0; out->recordings < 2 && i < out->n_paused; i++)
		out->paused_ns += out->paused[i].end - out->paused[i].begin;
}

/* The part of the recording that the filter selects and that was recorded. */
static uint64_t recorded(const struct run *run, const struct model_run *out)
{
	const struct filter *filter = run->selection ? run->selection->filter : NULL;
	uint64_t ns = selection_time(filter, 0, out->duration);

	for (size_t i = 0; out->paused_ns && i < out->n_paused; i++)
		ns -= selection_time(filter, out->paused[i].begin - out->start,
				     out->paused[i].end - out->start);
	return ns;
}

void run_quota(struct world *world, const struct record_quota *record)
{
	struct model_cpu *cpu = &world->model->cpu;

	cpu->quota_known = true;
	cpu->quota_ns += record->stopped_ns;
	if (record->milli_cpus &&
	    (!cpu->quota_milli_cpus || record->milli_cpus < cpu->quota_milli_cpus))
		cpu->quota_milli_cpus = record->milli_cpus;
	world->model->run.memory_limit = record->memory_limit;
	world->model->run.memory_used = record->memory_used;
}

void run_clock(struct run *run, const struct record_clock *record)
{
	if (run->clock_realtime || record->after < record->before)
		return;
	run->clock_monotonic = record->before + (record->after - record->before) / 2;
	run->clock_realtime = record->realtime;
}

/*
 * Samples of a late chunk divide time that was without samples until then: the timeline had it
 * already.
 */
void run_chunk(struct run *run, struct world *world)
{
	const int64_t unsampled = run->unsampled > 0 ? run->unsampled : 0;
	const int64_t ns = unsampled - run->unsampled_spread;

	if (world->timeline.step_ns) {
		if (ns > 0)
			timeline_cpu(&world->timeline, run->chunk_time, world->last_time,
				     (uint64_t)ns);
		else
			timeline_take_cpu_back(&world->timeline, run->chunk_time, (uint64_t)-ns);
		run->unsampled_spread = unsampled;
	}
	run->chunk_time = world->last_time;
}

int run_cpu_time(struct run *run, struct world *world, const struct record_cpu_time *record)
{
	struct thread *thread = tasks_find_thread(&world->tasks, record->thread);

	if (!thread)
		return -EBADMSG;
	if (run->selection && !selection_admits_thread(run->selection, record->thread))
		return 0;
	world->model->cpu.exact = true;
	thread->accounted = true;
	thread->used_ns += (uint64_t)record->used;
	run->unsampled = (int64_t)((uint64_t)run->unsampled + (uint64_t)record->used - record->ns);
	return 0;
}

int run_finish(struct run *run, struct world *world)
{
	struct model_run *out = &world->model->run;
	struct model_cpu *cpu = &world->model->cpu;
	/* Totals are read, and have their time, a moment after the end. */
	uint64_t end = run->end ? run->end : world->last_time;
	int err;

	run_chunk(run, world);
	if (!out->start)
		out->start = run->first_time;
	out->duration = end > out->start ? end - out->start : 0;
	err = paused_add(&run->paused, &(struct record_paused){.time = end});
	if (err < 0)
		return err;
	finish_paused(run, out);
	out->wall = recorded(run, out);
	if (run->clock_realtime)
		out->realtime = run->clock_realtime + (out->start - run->clock_monotonic);
	/* Corrects rounding, and samples of several threads that share their time. */
	if (run->unsampled > 0)
		cpu->no_samples_ns = (uint64_t)run->unsampled;
	cpu->on_cpu_ns += cpu->no_samples_ns;
	err = buffer_append(&run->command_line, "", 1);
	if (err)
		return err;
	out->command_line = run->command_line.data;
	run->command_line = (struct buffer){0};
	return 0;
}
