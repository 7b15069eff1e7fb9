/* SPDX-License-Identifier: BSD-2-Clause */
/* firefox.c: exports to the Firefox Profiler's processed profile format, version 66. */
#include "firefox.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../util/plural.h"

enum { SOURCES_SHARE = 4 }; /* the text of source files takes this part of the limit at most */

static void free_job(struct export_job *job)
{
	struct firefox *firefox = (struct firefox *)job;

	for (size_t i = 0; i < firefox->threads_capacity; i++) {
		spool_stream_free(&firefox->threads[i].cpu);
		spool_stream_free(&firefox->threads[i].waits);
		spool_stream_free(&firefox->threads[i].allocs);
		spool_stream_free(&firefox->threads[i].calls);
	}
	for (size_t i = 0; i < firefox->processes_capacity; i++) {
		spool_stream_free(&firefox->processes[i].allocs);
		spool_stream_free(&firefox->processes[i].faults);
		for (int kind = 0; kind < CAUSE_KINDS; kind++)
			free(firefox->processes[i].recent[kind]);
	}
	free(firefox->threads);
	free(firefox->processes);
	map_free(firefox->heaps);
	free(firefox->heap_items);
	id_map_free(firefox->live);
	free(firefox->live_items);
	map_free(firefox->combos);
	free(firefox->combo_items);
	map_free(firefox->waits);
	free(firefox->wait_items);
	free(firefox->survivals);
	free(firefox->gcs);
	free(firefox->marks);
	free(firefox->causes);
	firefox_layout_free(&firefox->layout);
	firefox_sources_free(&firefox->sources);
	free(firefox->levels);
	free(firefox->tracks);
	map_free(firefox->call_names);
	map_free(firefox->thread_names);
	map_free(firefox->pids);
	map_free(firefox->tids);
	map_free(firefox->string_index);
	free(firefox->strings);
	spool_free(firefox->spool);
	free(firefox);
}

/* A reused pid or tid belongs to its first owner. */
static int own(struct map *owners, uint64_t number, uint64_t id)
{
	bool added;
	uint64_t *owner = map_put(owners, &number, &added);

	if (!owner)
		return -ENOMEM;
	if (added)
		*owner = id;
	return 0;
}

static int index_numbers(struct firefox *firefox)
{
	const struct tasks *tasks = &firefox->world->tasks;
	const struct model *model = firefox->world->model;
	int error = 0;

	for (uint64_t id = 1; id < tasks->processes.limit && !error; id++)
		if (tasks_find_process(tasks, id))
			error = own(firefox->pids, tasks_find_process(tasks, id)->pid, id);
	for (uint64_t id = 1; id < tasks->threads.limit && !error; id++)
		if (tasks_find_thread(tasks, id))
			error = own(firefox->tids, tasks_find_thread(tasks, id)->tid, id);
	for (size_t i = 0; i < model->n_syscalls && !error; i++)
		error = own(firefox->call_names, model->syscalls[i].number, i + 1);
	return error;
}

static int put_all(struct firefox *firefox)
{
	struct output *output = firefox->job.output;
	int error;

	output_text(output, "{");
	firefox_put_meta(firefox);
	output_text(output, "\"libs\":[],\n");
	error = firefox_put_threads(firefox);
	if (error)
		return error;
	firefox_put_counters(firefox);
	output_text(output, "\"shared\":{\n");
	firefox_put_stacks(firefox);
	firefox_put_frames(firefox);
	firefox_put_functions(firefox);
	/* Must be last, because the other parts may add strings. */
	firefox_put_strings(firefox);
	output_text(output, "}}\n");
	return spool_error(firefox->spool);
}

enum { LISTED_MAX = 1024 }; /* more than a line of the list has */

/* The user learns which files an export gives away. */
static void list_sources(const struct sources *sources, const char *const *paths,
			 char info[INFO_MAX])
{
	size_t used = (size_t)snprintf(
		info, INFO_MAX, "contains the text of %" PRIu64 " source %s out", sources->embedded,
		plural(sources->embedded,
		       "[file; --no-sources leaves it|files; --no-sources leaves them]")
			.text);
	uint64_t listed = 0;

	for (uint32_t i = 0; i < sources->count && INFO_MAX - used > LISTED_MAX; i++)
		if (sources->texts[i]) {
			used += (size_t)snprintf(info + used, INFO_MAX - used, "%s %.*s",
						 listed ? "," : ":", LISTED_MAX / 2, paths[i]);
			listed++;
		}
	if (listed < sources->embedded)
		snprintf(info + used, INFO_MAX - used, " and %" PRIu64 " more",
			 sources->embedded - listed);
}

/* The text of the source files, which can be those of this host only. */
static int read_sources(struct firefox *firefox)
{
	const struct model_run *run = &firefox->world->model->run;
	const struct layout *layout = &firefox->layout;
	struct export_job *job = &firefox->job;
	struct sources *sources = &firefox->sources;
	const struct sources_wanted wanted = {run->realtime, job->options.limit / SOURCES_SHARE,
					      model_user(firefox->world->model)};
	int err;

	if (job->options.no_sources || !run->realtime || !model_is_of_this_host(run))
		return 0;
	err = firefox_sources_read(sources, layout->sources, layout->n_sources, &wanted);
	if (err || !sources->embedded)
		return err;
	list_sources(sources, layout->sources, job->info);
	return 0;
}

static int finish(struct model_observer *observer, const struct world *world)
{
	struct firefox *firefox = (struct firefox *)observer;
	int error;

	firefox->world = world;
	error = firefox_end(firefox);
	if (!error)
		error = index_numbers(firefox);
	if (!error)
		error = firefox_layout(firefox);
	if (!error)
		error = read_sources(firefox);
	if (!error)
		error = firefox_plan_size(firefox);
	if (!error)
		error = firefox_levels(firefox);
	if (!error)
		error = firefox_plan_tracks(firefox);
	return error ? error : put_all(firefox);
}

static int create(struct export_job **out)
{
	struct firefox *firefox = calloc(1, sizeof(*firefox));

	if (!firefox)
		return -ENOMEM;
	firefox->job.observer = (struct model_observer){firefox_record, finish, NULL};
	firefox->job.free = free_job;
	firefox->n_heaps = firefox->n_live = firefox->n_survivals = 1;
	firefox->n_gcs = firefox->n_marks = firefox->n_causes = 1;
	firefox->heaps = map_create(2 * sizeof(uint64_t));
	firefox->live = id_map_create();
	firefox->combos = map_create(sizeof(struct combo));
	firefox->waits = map_create(sizeof(struct wait));
	firefox->call_names = map_create(sizeof(uint64_t));
	firefox->thread_names = map_create(sizeof(struct name_key));
	firefox->pids = map_create(sizeof(uint64_t));
	firefox->tids = map_create(sizeof(uint64_t));
	firefox->string_index = map_create(MAP_STRING_KEYS);
	if (!firefox->heaps || !firefox->live || !firefox->combos || !firefox->waits ||
	    !firefox->call_names || !firefox->thread_names || !firefox->pids || !firefox->tids ||
	    !firefox->string_index || spool_create(&firefox->spool) < 0) {
		free_job(&firefox->job);
		return -ENOMEM;
	}
	*out = &firefox->job;
	return 0;
}

const struct exporter exporter_firefox = {
	.name = "firefox",
	.suffix = ".json.gz",
	.mark = OUTPUT_PACKED_MARK,
	.summary = "for profiler.firefox.com: drop the file on that page, or see gcprof view",
	.packed = true,
	.limit = UINT64_C(400) << 20, /* browsers do not support strings of 512 MiB */
	.thins = "individual events",
	.create = create,
};
