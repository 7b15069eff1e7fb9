/* SPDX-License-Identifier: BSD-2-Clause */
/* findings_scene.h: a program whose findings are looked for without a profile. */
#ifndef GCPROF_FINDINGS_SCENE_H
#define GCPROF_FINDINGS_SCENE_H

#include "model/findings/finding.h"
#include "model/findings/findings.h"
#include "model/world/arena.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t second = 1000000000;

enum { MAIN = 1, SERVE, LIBRARY, QUOTED, FUNCTIONS = 4, PLACES = 8 };

static const struct model_function functions[FUNCTIONS] = {
	{.name = "main"}, {.name = "serve.constprop.0"}, {.name = "memcpy"}, {.name = "f'; id; '"}};

/* A program that ran for 10 s of CPU time, 4 s of it in serve(), called by main(). */
struct scene {
	struct model model;
	struct place places[PLACES];
	size_t n;
	struct lock_held held;
	struct model_finding found[FINDINGS_SHOWN];
	size_t n_found;
	struct arena *arena;
};

static inline struct scene *scene_make(void)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	if (!scene)
		abort();
	CHECK_EQ(arena_create(&scene->arena), 0);
	scene->model.run = (struct model_run){
		.duration = 10 * second, .wall = 10 * second, .cpus = "2", .end_reason = 1};
	scene->model.cpu.on_cpu_ns = 10 * second;
	scene->n = 1;
	scene->places[scene->n++] =
		(struct place){.function = MAIN, .cpu_samples = 600, .cpu_ns = 2e9};
	return scene;
}

static inline struct place *scene_place(struct scene *scene, const struct pattern *pattern,
					double ns)
{
	struct place *place = &scene->places[scene->n++];

	*place = (struct place){.function = SERVE,
				.caller = MAIN,
				.pattern = pattern,
				.cpu_samples = 4000,
				.cpu_ns = ns};
	return place;
}

static inline void scene_look(struct scene *scene)
{
	const struct evidence evidence = {.model = &scene->model,
					  .places = scene->places,
					  .n_places = scene->n,
					  .last = &scene->places[1],
					  .held = &scene->held,
					  .n_held = scene->held.lock > 0,
					  .functions = functions,
					  .n_functions = FUNCTIONS,
					  .busy_ns = 10e9};

	CHECK_EQ(findings_make(&evidence, scene->arena, scene->found, &scene->n_found), 0);
	for (size_t i = 0; i < scene->n_found; i++)
		printf("%s: %s %s %s\n", scene->found[i].kind, scene->found[i].text,
		       scene->found[i].evidence, scene->found[i].remedy);
}

/* Is it the first finding, with these words? */
static inline bool first(struct scene *scene, const char *kind, const char *words)
{
	scene_look(scene);
	return scene->n_found && strcmp(scene->found[0].kind, kind) == 0 &&
	       strstr(scene->found[0].text, words);
}

static inline bool found(const struct scene *scene, const char *kind)
{
	for (size_t i = 0; i < scene->n_found; i++)
		if (strcmp(scene->found[i].kind, kind) == 0)
			return true;
	return false;
}

static inline void scene_free(struct scene *scene)
{
	arena_free(scene->arena);
	free(scene);
}

#endif
