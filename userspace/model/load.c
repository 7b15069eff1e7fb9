/* SPDX-License-Identifier: BSD-2-Clause */
/* load.c: reads a profile into a model. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../profile/reader.h"
#include "arena.h"
#include "text.h"
#include "pass.h"

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
		[REASON_USER_FAILED] = "user_failed",     [REASON_USER_CUT] = "user_cut",
		[REASON_KERNEL_FAILED] = "kernel_failed", [REASON_KERNEL_CUT] = "kernel_cut",
		[REASON_MANAGED_TORN] = "managed_torn",   [REASON_MANAGED_CUT] = "managed_cut",
		[REASON_USER_END] = "user_end",           [REASON_USER_GUESSED] = "user_guessed",
		[REASON_UNTOLD] = "untold",
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

static int read_records(struct profile_reader *reader, struct pass *pass,
			struct model_observer *observer)
{
	struct record record;
	int error;

	while ((error = profile_reader_next(reader, &record)) > 0) {
		error = pass_record(pass, &record);
		if (!error && observer)
			error = observer->record(observer, pass, &record);
		if (error == -EBADMSG)
			pass->model->refused++;
		else if (error < 0)
			return error;
	}
	return error;
}

static int load(struct profile_reader *reader, struct model *model, struct model_observer *observer)
{
	struct pass *pass = calloc(1, sizeof(*pass));
	int error;

	if (!pass)
		return -ENOMEM;
	error = pass_init(pass, model);
	if (!error)
		error = read_records(reader, pass, observer);
	if (!error) {
		profile_reader_status(reader, &model->status);
		model->state = model->status.state;
		error = pass_finish(pass);
	}
	if (!error && observer)
		error = observer->finish(observer, pass);
	pass_free(pass);
	free(pass);
	return error;
}

int model_load(struct source *source, const char *file, struct model **out)
{
	return model_load_observed(source, file, NULL, out);
}

int model_load_observed(struct source *source, const char *file, struct model_observer *observer,
			struct model **out)
{
	return model_load_shown(source, file, MODEL_FRAMES_ALL, observer, out);
}

int model_load_shown(struct source *source, const char *file, enum model_frames frames,
		     struct model_observer *observer, struct model **out)
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
	model->frames = frames;
	model->file = name_clean(model->arena, (struct bytes){file, strlen(file)});
	if (!model->file)
		goto out;
	error = load(reader, model, observer);
	if (error)
		goto out;
	*out = model;
	model = NULL;
out:
	model_free(model);
	profile_reader_close(reader);
	return error;
}

void model_free(struct model *model)
{
	if (!model)
		return;
	free(model->run.command);
	free(model->streams);
	free(model->losses);
	free(model->functions);
	free(model->types);
	free(model->sites);
	free(model->syscalls);
	free(model->threads);
	arena_free(model->arena);
	free(model);
}
