/* SPDX-License-Identifier: BSD-2-Clause */
/* runtimes.c: the list of runtimes. */
#include <stdio.h>
#include <string.h>

#include "runtime.h"

#define RUNTIME(number, NAME, name)    extern const struct runtime runtime_##name;
#define NAMED(number, NAME, name, ...) RUNTIME(number, NAME, name)
#include "list.def"
#include "recognised.def"
#undef RUNTIME

static const struct runtime *const all[RUNTIMES] = {
#define RUNTIME(number, NAME, name) [number] = &runtime_##name,
#include "list.def"
#include "recognised.def"
#undef NAMED
#undef RUNTIME
};

_Static_assert(RUNTIMES <= 32, "process.runtimes has a bit for each");

const struct runtime *runtime_get(uint32_t number)
{
	return number < RUNTIMES ? all[number] : NULL;
}

const struct runtime *runtime_find(const char *name)
{
	for (size_t i = 1; i < RUNTIMES; i++)
		if (all[i] && !strcmp(all[i]->name, name))
			return all[i];
	return NULL;
}

bool runtime_is_last_thread(const char *name)
{
	for (size_t i = 1; i < RUNTIMES; i++)
		if (all[i] && all[i]->last_thread && !strcmp(all[i]->last_thread, name))
			return true;
	return false;
}

bool runtime_place_has(const struct runtime_place *place, enum place_value value)
{
	for (size_t i = 0; i < PROBE_ARGUMENTS; i++)
		if (place->arguments[i].value == value)
			return true;
	return false;
}

bool runtime_reports_none(const struct runtime_facts *facts, char text[RUNTIME_TEXT_MAX])
{
	const struct runtime *runtime = runtime_get(facts->runtime);

	if (runtime && runtime->n_places)
		snprintf(text, RUNTIME_TEXT_MAX, "%s%s%s reports none", runtime->name,
			 facts->version[0] ? " " : "", facts->version);
	else if (runtime)
		snprintf(text, RUNTIME_TEXT_MAX, "gcprof does not record those of %s",
			 runtime->name);
	return runtime != NULL;
}

/* An option may be written with underscores. Later values replace earlier ones, but where each of
 * them comes from is not known. */
static bool is_option(const char *text, size_t size, const char *option)
{
	size_t i = 0;

	for (; i < size && option[i]; i++)
		if ((text[i] == '_' ? '-' : text[i]) != option[i])
			return false;
	return !option[i] && (size - i < 3 || strncmp(text + i, "off", 3) != 0);
}

bool runtimes_copy(const char *text, size_t size)
{
	for (uint32_t number = 1; number < RUNTIMES; number++) {
		const struct runtime *runtime = runtime_get(number);

		for (size_t i = 0; runtime && runtime->copies && i < size; i++)
			if (is_option(text + i, size - i, runtime->copies))
				return true;
	}
	return false;
}

bool runtimes_keep_frames(uint32_t runtimes)
{
	for (size_t i = 1; i < RUNTIMES; i++)
		if (runtimes & UINT32_C(1) << i && all[i] && all[i]->keeps_frames)
			return true;
	return false;
}

bool runtime_is_own(const struct runtime_facts *facts, uint64_t place)
{
	const struct runtime *runtime = runtime_get(facts->runtime);

	if (runtime && runtime->is_own_frame && runtime->is_own_frame(place))
		return true;
	for (uint32_t i = 0; i < facts->n_own; i++)
		if (place >= facts->own[i].begin && place < facts->own[i].end)
			return true;
	return false;
}
