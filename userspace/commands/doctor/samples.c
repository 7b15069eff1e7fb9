/* SPDX-License-Identifier: BSD-2-Clause */
/* samples.c: whether samples of a running process could be read. */
/* Computes the arguments of the place of samples as BPF does (bpf/place.h), as far as they do not
 * depend on an object. */
#include <string.h>

#include "doctor.h"
#include "../../profile/codes.h"
#include "../../record/opener/opener.h"
#include "../../record/world/files.h"
#include "../../runtimes/runtime.h"

#define SETTLE_NS UINT64_C(5000000000) /* time limit for reading a variable */

struct arguments {
	struct opener *opener;
	const struct event_mmap *mapping;
	uint64_t site; /* address in the process */
	uint64_t of[PROBE_ARGUMENTS];
	bool known[PROBE_ARGUMENTS];
};

struct reading {
	uint64_t value;
	bool done;
};

static void cmd_doctor_samples_take(void *context, const struct opener_result *result)
{
	*(struct reading *)context = (struct reading){result->block.before, !result->err};
}

static bool read_variable(const struct arguments *arguments, uint64_t address, uint64_t size,
			  uint64_t *value)
{
	const struct event_mmap *mapping = arguments->mapping;
	const struct opener_memory order = {
		.pid = mapping->header.tid,
		.change = OPENER_CHECK,
		.mapping = {mapping->address, mapping->offset, mapping->inode, mapping->major,
			    mapping->minor},
		.address = address,
		.size = size,
	};
	struct reading reading = {0};

	*value = 0;
	if (size > sizeof(*value) ||
	    opener_memory(arguments->opener, &order, cmd_doctor_samples_take, &reading) < 0)
		return false;
	if (!opener_settle(arguments->opener, SETTLE_NS))
		opener_cancel(arguments->opener, &reading);
	if (reading.done)
		memcpy(value, &reading.value, size);
	return reading.done;
}

static bool step(const struct arguments *arguments, const struct probe_step *step, uint64_t *value)
{
	size_t other = step->other < PROBE_ARGUMENTS ? step->other : 0;

	switch (step->kind) {
	case STEP_READ:
		return read_variable(arguments, *value + (uint64_t)(int64_t)step->offset,
				     step->size, value);
	case STEP_ADD:
		*value += arguments->of[other];
		return arguments->known[other];
	case STEP_SHIFT:
		*value <<= arguments->of[other] & 63;
		return arguments->known[other];
	case STEP_PLUS:
		*value += (uint64_t)(int64_t)step->offset;
		return true;
	default:
		return true;
	}
}

/* False: it is a variable, which could not be read. */
static bool compute(struct arguments *arguments, const struct probe_place *place, size_t i)
{
	const struct probe_argument *argument = &place->arguments[i];
	bool is_variable = argument->operand == OPERAND_ADDRESS && argument->base == OPERAND_RIP;
	uint64_t value = (uint64_t)argument->value + (is_variable ? arguments->site : 0);
	bool known = is_variable || argument->operand == OPERAND_CONSTANT;

	for (size_t j = 0; j < PROBE_STEPS && known && argument->steps[j].kind != STEP_END; j++)
		known = step(arguments, &argument->steps[j], &value);
	arguments->of[i] = known ? value : 0;
	arguments->known[i] = known;
	return known || !is_variable;
}

static enum unsampled unreadable(struct arguments *arguments, const struct runtime *runtime,
				 const struct probe_place *place)
{
	for (size_t i = 0; i < place->count && i < PROBE_ARGUMENTS; i++)
		if (!compute(arguments, place, i))
			return 0;
	return runtime->unreadable(arguments->of);
}

const char *doctor_unreadable(struct opener *opener, const struct file *file,
			      const struct event_mmap *mapping)
{
	const struct runtime *runtime = runtime_get(file->facts.runtime.runtime);

	for (uint32_t i = 0; runtime && runtime->unreadable && i < file->facts.n_sites; i++) {
		const struct probe_site *site = &file->sites[i];
		struct arguments arguments = {.opener = opener, .mapping = mapping};

		if (site->place.probe != PROBE_PLACE || site->place.place >= runtime->n_places ||
		    runtime->places[site->place.place].report != PLACE_SAMPLE ||
		    site->offset < mapping->offset ||
		    site->offset - mapping->offset >= mapping->length)
			continue;
		arguments.site = mapping->address + (site->offset - mapping->offset);
		return unsampled_why(unreadable(&arguments, runtime, &site->place));
	}
	return NULL;
}
