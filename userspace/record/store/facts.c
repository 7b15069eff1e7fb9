/* SPDX-License-Identifier: BSD-2-Clause */
/* facts.c: facts about the recording: machine, command, streams. */
#include "facts.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../../profile/codes.h"
#include "../../util/plural.h"
#include "../../util/quota.h"
#include "../../util/version.h"

static struct bytes text(const char *string)
{
	return (struct bytes){string, strlen(string)};
}

static int put_meta(struct profile_writer *writer, const char *key, const char *value)
{
	struct record record = {.kind = RECORD_meta, .meta = {.key = text(key)}};

	record.meta.value = text(value);
	return profile_writer_put(writer, &record);
}

/* The processor's name according to the kernel; empty if unknown. */
static void cpu_model(char *out, size_t size)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[256];

	out[0] = '\0';
	while (file && !out[0] && fgets(line, sizeof(line), file)) {
		char *value = strchr(line, ':');
		if (!value || strncmp(line, "model name", 10) != 0)
			continue;
		value += 1 + strspn(value + 1, " ");
		value[strcspn(value, "\n")] = '\0';
		snprintf(out, size, "%s", value);
	}
	if (file)
		fclose(file);
}

int facts_put_machine(struct profile_writer *writer)
{
	struct utsname name = {0};
	char cpus[32], model[128], directory[PATH_MAX];
	int err;

	uname(&name);
	snprintf(cpus, sizeof(cpus), "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	cpu_model(model, sizeof(model));
	if (!getcwd(directory, sizeof(directory)))
		directory[0] = '\0';
	err = put_meta(writer, "tool", gcprof_version);
	err = err ? err : put_meta(writer, "host", name.nodename);
	err = err ? err : put_meta(writer, "kernel", name.release);
	err = err ? err : put_meta(writer, "machine", name.machine);
	err = err ? err : put_meta(writer, "cpus", cpus);
	err = err ? err : put_meta(writer, "cpu_model", model);
	return err ? err : put_meta(writer, "directory", directory);
}

int facts_put_loss_kinds(struct profile_writer *writer)
{
	int err = 0;

	for (uint64_t kind = 0; !err && kind < LOSS_MAX; kind++) {
		const struct loss_info *loss = loss_info(kind);
		struct plural_text many, one;
		struct record record = {.kind = RECORD_loss_kind};

		if (!loss->name)
			continue;
		many = plural(2, loss->text);
		one = plural(1, loss->text);
		record.loss_kind = (struct record_loss_kind){kind,
							     loss->stream,
							     loss->severity,
							     text(loss->name),
							     text(many.text),
							     text(one.text)};
		err = profile_writer_put(writer, &record);
	}
	return err;
}

int facts_put_target(struct profile_writer *writer, const char *target)
{
	return put_meta(writer, "attached", target);
}

int facts_put_children(struct profile_writer *writer, size_t count)
{
	char number[24];

	snprintf(number, sizeof(number), "%zu", count);
	return put_meta(writer, "children", number);
}

int facts_put_user(struct profile_writer *writer, uint32_t user)
{
	char number[16] = "several";

	if (user != USER_NONE)
		snprintf(number, sizeof(number), "%u", user);
	return put_meta(writer, "user", number);
}

int facts_put_arguments(struct profile_writer *writer, char *const *arguments)
{
	int err = 0;

	for (; !err && *arguments; arguments++) {
		struct record record = {.kind = RECORD_argument};
		record.argument.text = text(*arguments);
		err = profile_writer_put(writer, &record);
	}
	return err;
}

/* 0: without entropy the files of the recording have no common mark. */
static uint64_t random_id(void)
{
	uint64_t id = 0;

	/* As many bits as numbers have in JSON. */
	return getrandom(&id, sizeof(id), GRND_NONBLOCK) == sizeof(id) ? id >> 11 : 0;
}

int facts_put_recording(struct profile_writer *writer, const struct record_options *options,
			uint64_t start, uid_t user)
{
	struct record record = {
		.kind = RECORD_recording,
		.recording =
			{
				.start = start,
				.frequency = options->frequency,
				.period = options->period,
				.ceiling = options->ceiling,
				.syscall_rate = options->syscall_mode == SYSCALLS_ALL
							? options->syscall_rate
							: 0,
				.syscall_slow = options->syscall_slow,
				.syscall_stack = options->syscall_stacks ? 0 : SYSCALL_STACK_NS,
				.user = user,
				.arguments = !options->no_args,
				.wait_min = options->off_cpu ? options->off_cpu_min : 0,
				.fault_rate = options->faults ? options->fault_rate : 0,
				.part = options->rotate || options->keep,
				.id = random_id(),
			},
	};

	int err = profile_writer_put(writer, &record);

	if (err || !user)
		return err;
	return put_meta(writer, "withheld",
			"paths, arguments, results and addresses of other users' system calls, "
			"page faults and mappings");
}

int facts_put_streams(struct profile_writer *writer, const struct session *session)
{
	int err = 0;

	for (int stream = 0; !err && stream < STREAM_END; stream++) {
		const struct stream_state *state = session_stream(session, (enum stream)stream);
		struct record record = {.kind = RECORD_stream};

		if (!stream_name((enum stream)stream))
			continue;
		record.stream.stream = (uint64_t)stream;
		record.stream.name = text(stream_name((enum stream)stream));
		record.stream.attached = state->attached;
		record.stream.why = state->why;
		record.stream.why_not = text(state->why_not);
		err = profile_writer_put(writer, &record);
	}
	return err;
}

void facts_describe_refused(char out[REFUSED_TEXT])
{
	size_t cursor = 0, used = 0;
	uint64_t count;
	uint32_t user;

	out[0] = '\0';
	while (used < REFUSED_TEXT && quota_refused(&cursor, &user, &count))
		used += (size_t)snprintf(out + used, REFUSED_TEXT - used,
					 "%suser %" PRIu32 ": %" PRIu64, used ? ", " : "", user,
					 count);
}

int facts_put_refused(struct profile_writer *writer)
{
	char refused[REFUSED_TEXT];

	facts_describe_refused(refused);
	return refused[0] ? put_meta(writer, "left_out", refused) : 0;
}
