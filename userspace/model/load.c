/* SPDX-License-Identifier: BSD-2-Clause */
/* load.c: reads a profile into a model. */
#include "load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../profile/reader.h"
#include "pass.h"
#include "select/selection.h"
#include "world/arena.h"
#include "world/text.h"

const char *runtime_name(enum runtime runtime)
{
	static const char *const names[] = {
		[RUNTIME_NATIVE] = "native",
		[RUNTIME_MANAGED] = "managed",
		[RUNTIME_KERNEL] = "kernel",
	};

	return names[runtime];
}

const char *stack_reason_name(enum stack_reason reason)
{
	static const char *const names[STACK_REASONS] = {
		[REASON_USER_FAILED] = "user_failed",
		[REASON_USER_CUT] = "user_cut",
		[REASON_KERNEL_FAILED] = "kernel_failed",
		[REASON_KERNEL_CUT] = "kernel_cut",
		[REASON_MANAGED_TORN] = "managed_torn",
		[REASON_MANAGED_CUT] = "managed_cut",
		[REASON_USER_END] = "user_end",
		[REASON_USER_GUESSED] = "user_guessed",
		[REASON_LOST] = "lost",
		[REASON_JAVA_END] = "java_end",
		[REASON_JAVA_FROZEN] = "java_frozen",
		[REASON_NARROW] = "32_bit",
	};

	return names[reason];
}

static const char *const frames_names[] = {
	[MODEL_FRAMES_ALL] = "all",
	[MODEL_FRAMES_MANAGED] = "managed",
	[MODEL_FRAMES_NATIVE] = "native",
};

const char *model_frames_name(enum model_frames frames)
{
	return frames_names[frames];
}

int model_frames_parse(const char *word, enum model_frames *out)
{
	for (int i = 0; i <= MODEL_FRAMES_NATIVE; i++) {
		if (strcmp(word, frames_names[i]) == 0) {
			*out = (enum model_frames)i;
			return 0;
		}
	}
	return -EINVAL;
}

/*
 * Is an event hidden from observers by a filter? The ends of collections never are, since what lies
 * between refers to them; observers look at `selected`.
 */
static bool is_hidden(const struct event *event)
{
	enum record_kind kind = event->record->kind;

	return !event->selected && kind != RECORD_gc_end && kind != RECORD_gc_summary;
}

/* Passes on the record that pass_record() or pass_end_thread() took with this result. */
static int observe(struct pass *pass, const struct model_view *view, int error)
{
	struct model_observer *observer = view->observer;

	if (error == PASS_LEFT_OUT)
		return 0;
	if (!error && observer && !is_hidden(&pass->event))
		error = observer->record(observer, &pass->world, &pass->event);
	if (error == -EBADMSG)
		pass->world.model->refused++;
	return error == -EBADMSG ? 0 : error;
}

/* 0 at the end; 1 if there may be more records than the view wants. */
static int read_records(struct profile_reader *reader, struct pass *pass,
			const struct model_view *view)
{
	struct record record;
	uint64_t count = 0;
	int error;

	while ((error = profile_reader_next(reader, &record)) > 0) {
		if (view->records_max && count >= view->records_max)
			return 1;
		count++;
		if (view->records)
			*view->records = count;
		error = observe(pass, view, pass_record(pass, &record));
		if (error < 0)
			return error;
	}
	return error;
}

/* Threads that went on beyond the profile end with it. */
static int end_threads(struct pass *pass, const struct model_view *view)
{
	int err = 0;

	for (uint64_t id = 1; id < pass->world.tasks.threads.limit && !err; id++) {
		const struct thread *thread = tasks_find_thread(&pass->world.tasks, id);
		const struct record record = {
			.kind = RECORD_usage,
			.usage = {.time = thread ? thread->end : 0, .thread = id},
		};

		if (thread && thread->goes_on)
			err = observe(pass, view, pass_end_thread(pass, &record));
	}
	return err;
}

/* Passes all live objects to the observer. 0 or what it returned. */
static int show_live(const struct pass *pass, struct model_observer *observer)
{
	const struct samples *samples = &pass->samples;
	const struct heap_sites *sites = &pass->heap_sites;
	int err = 0;

	for (size_t i = 1; i < samples->count && !err; i++) {
		const struct sample *sample = &samples->items[i];
		const struct model_live live = {
			.stack = pass->world.tree.costs[sample->cost].stack,
			.thread = sample->thread,
			.process = sample->process,
			.type = sample->type,
			.objects = 1 / (double)sample->probability,
			.bytes = sample->bytes,
		};

		if (sample->process && sample->old && sample->type != TYPE_UNSELECTED &&
		    !heap_sites_has(sites, sample->process))
			err = observer->live(observer, &live);
	}
	for (size_t i = 0; i < sites->count && !err; i++) {
		const struct heap_site *site = &sites->items[i];
		const struct model_live live = {.stack = site->stack,
						.process = (uint32_t)site->process,
						.objects = site->live.objects,
						.bytes = site->live.bytes};

		if (site->is_last)
			err = observer->live(observer, &live);
	}
	return err;
}

/* How to process the records of a profile. */
struct loading {
	const struct model_view *view;
	const struct selection *selection; /* NULL: everything counts */
	struct selection *resolved;        /* if not NULL: out, what `filter` selects */
	const struct filter *filter;
};

static int finish(struct pass *pass, const struct loading *loading)
{
	struct model_observer *observer = loading->view->observer;
	int err = end_threads(pass, loading->view);

	err = err ? err : pass_finish(pass);

	if (!err && loading->resolved)
		err = selection_resolve(loading->resolved, loading->filter, &pass->world,
					&pass->heap_sites);
	if (!err && observer && observer->live)
		err = show_live(pass, observer);
	if (!err && observer)
		err = observer->finish(observer, &pass->world);
	return err;
}

static int load(struct profile_reader *reader, struct model *model, const struct loading *loading)
{
	struct pass *pass = calloc(1, sizeof(*pass));
	int error;

	if (!pass)
		return -ENOMEM;
	error = pass_init(pass, model, loading->selection);
	pass->recording = loading->view->recording;
	if (!error)
		error = read_records(reader, pass, loading->view);
	if (error >= 0) {
		profile_reader_status(reader, &model->status);
		if (error)
			model->status.state = PROFILE_LARGE;
		model->state = model->status.state;
		error = finish(pass, loading);
	}
	pass_free(pass);
	free(pass);
	return error;
}

static int load_part(struct source *source, const char *file, const struct loading *loading,
		     struct model **out)
{
	struct profile_reader *reader = NULL;
	struct model *model = NULL;
	int error = profile_reader_open(source, &reader);

	if (error)
		return error;
	error = -ENOMEM;
	model = calloc(1, sizeof(*model));
	if (!model || arena_create(&model->arena) < 0)
		goto out;
	model->frames = loading->view->frames;
	model->file = name_clean(model->arena, (struct bytes){file, strlen(file)});
	if (!model->file)
		goto out;
	error = load(reader, model, loading);
	if (error)
		goto out;
	*out = model;
	model = NULL;
out:
	model_free(model);
	profile_reader_close(reader);
	return error;
}

int model_load(struct source *source, const char *file, struct model **out)
{
	return model_load_observed(source, file, NULL, out);
}

int model_load_observed(struct source *source, const char *file, struct model_observer *observer,
			struct model **out)
{
	struct model_view view = {.observer = observer};

	return model_load_view(source, file, &view, out);
}

int model_load_view(struct source *source, const char *file, const struct model_view *view,
		    struct model **out)
{
	const struct loading loading = {.view = view};

	return load_part(source, file, &loading, out);
}

/* Stores the terms as one text. */
static int note_filter(struct model *model, const struct filter *filter)
{
	size_t size = 1, used = 0;
	char *text;

	for (size_t i = 0; i < filter->count; i++)
		size += strlen(filter->terms[i].text) + 2;
	text = arena_alloc(model->arena, size);
	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < filter->count; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
					 filter->terms[i].text);
	model->filter = name_clean(model->arena, (struct bytes){text, used});
	return model->filter ? 0 : -ENOMEM;
}

int model_load_filtered(struct source *const sources[2], const char *file,
			const struct filter *filter, const struct model_view *view,
			struct model **out)
{
	struct selection selection = {0};
	const struct model_view names = {.records_max = view->records_max,
					 .recording = view->recording,
					 .records = view->records};
	const struct loading first = {.view = &names, .resolved = &selection, .filter = filter};
	const struct loading second = {.view = view, .selection = &selection};
	struct model *whole = NULL;
	int error = load_part(sources[0], file, &first, &whole);

	model_free(whole);
	if (error)
		sources[1]->close(sources[1]);
	else
		error = load_part(sources[1], file, &second, out);
	if (!error)
		error = note_filter(*out, filter);
	if (error) {
		model_free(*out);
		*out = NULL;
	}
	selection_free(&selection);
	return error;
}

void model_free(struct model *model)
{
	if (!model)
		return;
	free(model->run.command);
	free(model->run.paused);
	free(model->run.command_line);
	free(model->streams);
	free(model->losses);
	free(model->functions);
	free(model->types);
	free(model->sites);
	free(model->syscalls);
	free(model->threads);
	free(model->time_groups);
	free(model->programs);
	free(model->waits);
	free(model->wakers);
	arena_free(model->arena);
	free(model);
}
