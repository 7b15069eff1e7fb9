/* SPDX-License-Identifier: BSD-2-Clause */
/* export.c: the table of exporters, and running an export. */
#include "export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../profile/sink.h"
#include "output.h"

const struct exporter *const exporters[] = {
	&exporter_firefox, &exporter_html, &exporter_pprof, &exporter_folded, &exporter_perfetto,
	&exporter_sqlite,  NULL,
};

const struct exporter *exporter_find(const char *name)
{
	for (size_t i = 0; exporters[i]; i++)
		if (strcmp(exporters[i]->name, name) == 0)
			return exporters[i];
	return NULL;
}

bool exporter_measures(const struct exporter *exporter, const char *measure)
{
	for (size_t i = 0; exporter->measures && exporter->measures[i]; i++)
		if (strcmp(exporter->measures[i], measure) == 0)
			return true;
	return false;
}

static int ignore_record(struct model_observer *observer, const struct world *world,
			 const struct event *event)
{
	(void)observer;
	(void)world;
	(void)event;
	return 0;
}

static void free_job(struct export_job *job)
{
	free(job);
}

int export_job_create(int (*finish)(struct model_observer *, const struct world *),
		      struct export_job **out)
{
	struct export_job *job = calloc(1, sizeof(*job));

	if (!job)
		return -ENOMEM;
	job->observer = (struct model_observer){ignore_record, finish, NULL};
	job->free = free_job;
	*out = job;
	return 0;
}

int export_run(const struct export_request *request, struct source *const sources[2],
	       struct sink *sink, struct export_result *result)
{
	struct output *output = NULL;
	struct export_job *job = NULL;
	struct model_view view;
	struct model *model = NULL;
	int error = output_create(sink, request->exporter->packed, &output), closed;

	memset(result, 0, sizeof(*result));
	if (!error)
		error = request->exporter->create(&job);
	if (error) {
		for (int i = 0; i < 2 && sources[i]; i++)
			sources[i]->close(sources[i]);
		goto out;
	}
	job->options = request->options;
	if (!job->options.limit)
		job->options.limit = request->exporter->limit;
	job->output = output;
	view = (struct model_view){.frames = request->options.frames, .observer = &job->observer};
	error = sources[1] ? model_load_filtered(sources, request->file, request->filter, &view,
						 &model)
			   : model_load_view(sources[0], request->file, &view, &model);
	if (error)
		goto out;
	result->state = model->state;
	result->status = model->status;
	memcpy(result->note, job->note, sizeof(result->note));
	memcpy(result->info, job->info, sizeof(result->info));
out:
	closed = output_close(output);
	if (job)
		job->free(job);
	model_free(model);
	return error ? error : closed;
}
