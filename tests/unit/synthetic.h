/* SPDX-License-Identifier: BSD-2-Clause */
/* synthetic.h: writes profiles whose truth is known, for tests of the model and the report. */
#ifndef GCPROF_SYNTHETIC_H
#define GCPROF_SYNTHETIC_H

#include "model/load.h"
#include "profile/sink.h"
#include "profile/source.h"
#include "profile/writer.h"
#include "test.h"

struct synthetic {
	struct profile_writer *writer;
	char *data;
	size_t size;
};

#define PUT(synthetic, record_kind, ...)                                        \
	do {                                                                    \
		struct record record_ = {.kind = RECORD_##record_kind,          \
					 .record_kind = {__VA_ARGS__}};         \
		CHECK_EQ(profile_writer_put((synthetic)->writer, &record_), 0); \
	} while (0)

static inline struct bytes bytes_of(const char *text)
{
	return (struct bytes){text, strlen(text)};
}

static inline void synthetic_begin(struct synthetic *synthetic)
{
	struct sink *sink;

	CHECK_EQ(sink_memory_create(&synthetic->data, &synthetic->size, &sink), 0);
	CHECK_EQ(profile_writer_create(sink, &synthetic->writer), 0);
}

static inline uint64_t synthetic_string(struct synthetic *synthetic, const char *text)
{
	return profile_writer_string(synthetic->writer, text, strlen(text));
}

/* Process 1 with thread 1, a recording at 1000 Hz that started at time `start`. */
static inline void synthetic_process(struct synthetic *synthetic, uint64_t start)
{
	PUT(synthetic, recording, .start = start, .frequency = 1000, .period = 1000,
	    .syscall_rate = 5000);
	PUT(synthetic, process, .id = 1, .pid = 100, .time = start);
	PUT(synthetic, thread, .id = 1, .process = 1, .tid = 100);
}

/* Begins a profile with that. */
static inline void synthetic_program(struct synthetic *synthetic, uint64_t start)
{
	synthetic_begin(synthetic);
	synthetic_process(synthetic, start);
}

/* Announces functions of a module as those of a collector. Comes before the module's frames. */
static inline void synthetic_own(struct synthetic *synthetic, const char *module, uint64_t offset,
				 uint64_t size)
{
	struct code_span own = {offset, size};

	CHECK(profile_writer_module(synthetic->writer, module, NULL, 0, &own) > 0);
}

/* A frame of a function of its own; its name comes from a symbol record. */
static inline uint64_t synthetic_function(struct synthetic *synthetic, const char *module,
					  uint64_t offset, const char *name)
{
	uint64_t id = profile_writer_module(synthetic->writer, module, NULL, 0, NULL);
	uint64_t frame = profile_writer_native(synthetic->writer, id, offset);

	if (name)
		PUT(synthetic, symbol, .frame = frame, .name = synthetic_string(synthetic, name));
	return frame;
}

/* A stack of frames, outermost first, ended by 0. */
static inline uint64_t synthetic_stack(struct synthetic *synthetic, const uint64_t *frames)
{
	uint64_t stack = 0;

	for (; *frames; frames++)
		stack = profile_writer_stack(synthetic->writer, stack, *frames);
	return stack;
}

static inline void synthetic_end(struct synthetic *synthetic, uint64_t time)
{
	PUT(synthetic, end, .time = time, .reason = 1, .status = 0);
	CHECK_EQ(profile_writer_close(synthetic->writer), 0);
}

/* Reads what was written; the data may be cut to `size` first. */
static inline struct model *synthetic_load(const struct synthetic *synthetic, size_t size)
{
	struct source *source;
	struct model *model = NULL;

	CHECK_EQ(source_memory_open(synthetic->data, size, &source), 0);
	CHECK_EQ(model_load(source, "test.data", &model), 0);
	return model;
}

static inline struct model *synthetic_model(const struct synthetic *synthetic)
{
	struct model *model = synthetic_load(synthetic, synthetic->size);

	CHECK_EQ(model->state, PROFILE_COMPLETE);
	return model;
}

static inline void synthetic_free(struct synthetic *synthetic)
{
	free(synthetic->data);
}

/* Ends the profile, and loads it. */
static inline struct model *synthetic_loaded(struct synthetic *synthetic, uint64_t time)
{
	synthetic_end(synthetic, time);
	return synthetic_model(synthetic);
}

/* Frees both. */
static inline void synthetic_close(struct synthetic *synthetic, struct model *model)
{
	model_free(model);
	synthetic_free(synthetic);
}

static inline const struct model_function *find_function(const struct model *model,
							 const char *name)
{
	for (size_t i = 0; i < model->n_functions; i++)
		if (strcmp(model->functions[i].name, name) == 0)
			return &model->functions[i];
	test_fail(__FILE__, __LINE__, "no function %s", name);
}

static inline const struct model_type *find_type(const struct model *model, const char *name)
{
	for (size_t i = 0; i < model->n_types; i++)
		if (strcmp(model->types[i].name, name) == 0)
			return &model->types[i];
	test_fail(__FILE__, __LINE__, "no type %s", name);
}

static inline bool is_near(double value, double wanted, double tolerance)
{
	double difference = value > wanted ? value - wanted : wanted - value;

	if (difference <= tolerance)
		return true;
	printf("%g is not %g +- %g\n", value, wanted, tolerance);
	return false;
}

#endif
