/* SPDX-License-Identifier: BSD-2-Clause */
/* program.c: gcprof doctor PROGRAM and -p PID: what would be recorded, and why not. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "../../record/opener/opener.h"
#include "../../record/target/libraries.h"
#include "../../record/target/target.h"
#include "../../record/world/files.h"
#include "../../record/world/snapshot.h"
#include "../../runtimes/runtime.h"
#include "../../util/escape.h"
#include "../../util/invoker.h"
#include "../../util/log.h"
#include "../../util/options.h"
#include "../../util/plural.h"

/* For a runtime that needs its own stack walker. */
#define STACKS_KEY "stacks"

#define PAUSES_KEY "pauses"
#define CYCLES_KEY "cycles"

/* For one whose agent reports what its places do not. */
#define SAMPLES_KEY "samples"
#define FREED_KEY   "freed"
#define AGENT_KEY   "agent"

/* Why samples of this process cannot be read. */
#define UNSAMPLED_KEY "unsampled"

/* For one with a heap profile of its own. */
#define PROFILE_KEY "heap_profile"

#define SETTLE_NS UINT64_C(5000000000) /* time limit for reading files */

/*
 * What is recorded through a runtime's places or a collector's probes, in the order of
 * printing. If a row has values, the places of pauses and cycles may report them, too.
 */
static const struct shown {
	enum place_report report; /* PLACE_REPORTS: values only */
	const char *key, *text;
	enum place_value values[2];
} streams[] = {
	{PLACE_SAMPLE, SAMPLES_KEY, "allocation samples with stacks", {VALUE_NONE}},
	{PLACE_FREED, FREED_KEY, "the end of sampled objects: survival, live heap", {VALUE_NONE}},
	{PLACE_PAUSE_BEGIN, PAUSES_KEY, "pauses", {VALUE_NONE}},
	{PLACE_REASON, "reasons", "causes of collections", {VALUE_REASON}},
	{PLACE_POOL_AFTER,
	 "sizes",
	 "sizes of the heap before and after",
	 {VALUE_BEFORE, VALUE_USED}},
	{PLACE_REPORTS, "live", "bytes that cycles find alive", {VALUE_LIVE}},
	{PLACE_CYCLE_BEGIN, CYCLES_KEY, "cycles of concurrent collectors", {VALUE_NONE}},
};

static bool has_value(const struct runtime_place *place, const struct shown *stream)
{
	for (size_t i = 0; i < 2; i++)
		if (stream->values[i] && runtime_place_has(place, stream->values[i]))
			return true;
	return false;
}

static bool reports(const struct runtime_place *place, const struct shown *stream)
{
	bool is_pause = place->report == PLACE_PAUSE_BEGIN || place->report == PLACE_PAUSE_END,
	     is_cycle = place->report == PLACE_CYCLE_BEGIN || place->report == PLACE_CYCLE_USED ||
			place->report == PLACE_CYCLE_END;

	return place->report == stream->report ||
	       ((is_pause || is_cycle) && has_value(place, stream));
}

enum { N_STREAMS = sizeof(streams) / sizeof(streams[0]) };

struct preview {
	struct files *files;
	struct opener *opener;
	bool runs;     /* it is a running process */
	json_t *found; /* an array: path, and probes or runtime, version, streams ... */
};

static json_t *streams_of(const struct file *file)
{
	const struct runtime *runtime = runtime_get(file->facts.runtime.runtime);
	json_t *all = json_object();

	for (size_t i = 0; i < N_STREAMS; i++) {
		bool has = false, gives = false;

		for (uint32_t j = 0; j < file->facts.n_sites; j++) {
			const struct probe_place *place = &file->sites[j].place;

			gives |= place->probe == PROBE_PLACE &&
				 reports(&runtime->places[place->place], &streams[i]);
		}
		for (size_t j = 0; j < runtime->n_places; j++)
			has |= reports(&runtime->places[j], &streams[i]);
		if (runtime->agent_samples &&
		    (streams[i].report == PLACE_SAMPLE || streams[i].report == PLACE_FREED))
			gives = false;
		if (has)
			json_object_set_new(all, streams[i].key, json_boolean(gives));
	}
	if (runtime->agent)
		json_object_set_new(all, FREED_KEY, json_boolean(file->facts.runtime.follows));
	if (runtime->agent && !json_object_get(all, SAMPLES_KEY))
		json_object_set_new(all, SAMPLES_KEY, json_false());
	if (file->facts.runtime.heap_list)
		json_object_set_new(all, PROFILE_KEY, json_true());
	if (runtime->walks)
		json_object_set_new(all, STACKS_KEY, json_boolean(file->facts.runtime.has_frames));
	return all;
}

/* What a file with gcprof's probes reports. */
static json_t *probed_streams_of(const struct file *file)
{
	static const struct {
		enum probe_number probe;
		const char *key;
	} rows[] = {{PROBE_sample, SAMPLES_KEY},
		    {PROBE_fate, FREED_KEY},
		    {PROBE_freed, FREED_KEY},
		    {PROBE_gc_begin, PAUSES_KEY},
		    {PROBE_cycle_begin, CYCLES_KEY}};
	json_t *all = json_object();

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool has = json_is_true(json_object_get(all, rows[i].key));

		for (uint32_t j = 0; j < file->facts.n_sites; j++)
			has |= file->sites[j].place.probe == rows[i].probe;
		json_object_set_new(all, rows[i].key, json_boolean(has));
	}
	return all;
}

static json_t *writes_of(const struct file *file)
{
	const struct runtime *runtime = runtime_get(file->facts.runtime.runtime);
	json_t *all = json_array();

	for (size_t i = 0; i < runtime->n_writes; i++)
		if (file->facts.runtime.writes[i])
			json_array_append_new(all,
					      json_string(runtime->writes[i].title
								  ? runtime->writes[i].title
								  : runtime->writes[i].global));
	return all;
}

/* `mapping`: of a running process, or NULL. */
static void cmd_doctor_program_add(struct preview *preview, const char *path,
				   const struct file *file, const struct event_mmap *mapping)
{
	const struct runtime *runtime;
	struct runtime_facts facts;
	const char *unsampled;
	json_t *records;

	if (!file || file->state != FILE_KNOWN)
		return;
	facts = file->facts.runtime;
	facts.is_unprepared = preview->runs;
	runtime = runtime_get(facts.runtime);
	if (!runtime && !file->facts.n_sites)
		return;
	if (!runtime) {
		json_array_append_new(preview->found,
				      json_pack("{s:s, s:i, s:o}", "path", path, "probes",
						(int)file->facts.n_sites, "records",
						probed_streams_of(file)));
		return;
	}
	unsampled = mapping ? doctor_unreadable(preview->opener, file, mapping) : NULL;
	records = streams_of(file);
	if (unsampled)
		json_object_set_new(records, SAMPLES_KEY, json_false());
	json_array_append_new(
		preview->found,
		json_pack("{s:s, s:s, s:s, s:o, s:o, s:s?, s:s?, s:s?, s:s?, s:s?}", "path", path,
			  "runtime", runtime->name, "version", facts.version, "records", records,
			  "writes", writes_of(file), "missing",
			  facts.missing[0] ? facts.missing : NULL, UNSAMPLED_KEY, unsampled, "note",
			  runtime->note ? runtime->note(&facts) : NULL, "names",
			  facts.has_frames ? NULL : runtime->names, AGENT_KEY,
			  facts.no_agent ? NULL : runtime->agent));
}

static void add_library(void *context, const char *path, int fd)
{
	struct preview *preview = context;

	cmd_doctor_program_add(preview, path, files_read(preview->files, fd, geteuid()), NULL);
}

static int preview_command(struct preview *preview, const char *command)
{
	struct problem problem = {""};
	struct libraries *libraries = NULL;
	struct invoker user;
	const char *variable;
	char *path = NULL;
	int err = invoker_find(&user, &variable);

	if (!err)
		err = target_resolve(&user, command, &path, &problem);
	if (!err)
		err = libraries_start(path, false, NULL, &user, preview->opener, preview->files,
				      &libraries);
	if (err)
		log_error("%s", problem.text[0] ? problem.text : strerror(-err));
	else
		libraries_visit_all(libraries, add_library, preview);
	libraries_free(libraries);
	free(path);
	return err;
}

static void meet(void *context, struct event_mmap *event, const char *path)
{
	struct preview *preview = context;

	if (event->inode)
		files_map(preview->files, event, path, geteuid());
}

static bool cmd_doctor_program_is_known(const struct preview *preview, const char *path)
{
	size_t i;
	json_t *row;

	json_array_foreach(preview->found, i,
			   row) if (!strcmp(json_string_value(json_object_get(row, "path")),
					    path)) return true;
	return false;
}

static void add_mapping(void *context, struct event_mmap *event, const char *path)
{
	struct preview *preview = context;

	if (event->inode && !cmd_doctor_program_is_known(preview, path))
		cmd_doctor_program_add(
			preview, path,
			files_find(preview->files, event->major, event->minor, event->inode),
			event);
}

static int preview_process(struct preview *preview, const char *text)
{
	char *end;
	unsigned long pid = strtoul(text, &end, 10);
	int err = *text && !*end && pid && pid <= INT32_MAX ? 0 : -EINVAL;

	if (!err)
		err = snapshot_mappings((uint32_t)pid, 0, meet, preview);
	if (err) {
		log_error("-p %s: %s", text,
			  err == -ENOENT   ? "there is no such process"
			  : err == -EINVAL ? "this is not a process number"
					   : strerror(-err));
		return err;
	}
	files_settle(preview->files, SETTLE_NS);
	return snapshot_mappings((uint32_t)pid, 0, add_mapping, preview);
}

/* --- printing ----------------------------------------------------------------------------- */

static void print_line(const char *label, const char *text)
{
	printf("  %-12s ", label);
	escape_print(stdout, text, strlen(text));
	putchar('\n');
}

/* Returns whether it printed the stream. */
static bool print_stream(const json_t *records, const char *key, const char *text, bool given,
			 const char *label)
{
	const json_t *value = json_object_get(records, key);

	if (!value || json_is_true(value) != given)
		return false;
	print_line(label, text);
	return true;
}

static void print_streams(const json_t *records, bool given, const char *label)
{
	if (print_stream(records, STACKS_KEY, "its functions on stacks", given, label))
		label = "";
	for (size_t i = 0; i < N_STREAMS; i++)
		if (print_stream(records, streams[i].key, streams[i].text, given, label))
			label = "";
	print_stream(records, PROFILE_KEY, "the live heap, from its own heap profile", given,
		     label);
}

static void print_row(const json_t *row)
{
	const char *path = json_string_value(json_object_get(row, "path"));
	const json_t *runtime = json_object_get(row, "runtime");
	const json_t *writes = json_object_get(row, "writes");
	const char *missing = json_string_value(json_object_get(row, "missing"));
	const char *unsampled = json_string_value(json_object_get(row, UNSAMPLED_KEY));
	const char *agent = json_string_value(json_object_get(row, AGENT_KEY));
	const char *version;
	const char *note = json_string_value(json_object_get(row, "note"));
	const char *names = json_string_value(json_object_get(row, "names"));
	const json_t *name;
	json_int_t places;
	char text[128];
	size_t i;

	escape_print(stdout, path, strlen(path));
	putchar('\n');
	if (!runtime) {
		places = json_integer_value(json_object_get(row, "probes"));
		snprintf(text, sizeof(text), "gcprof's own, %d place%.1s", (int)places,
			 plural((uint64_t)places, "[|s]").text);
		print_line("probes", text);
		print_streams(json_object_get(row, "records"), true, "recorded");
		print_streams(json_object_get(row, "records"), false, "not");
		return;
	}
	version = json_string_value(json_object_get(row, "version"));
	snprintf(text, sizeof(text), "%s%s%s", json_string_value(runtime), *version ? " " : "",
		 version);
	print_line("runtime", text);
	print_streams(json_object_get(row, "records"), true, "recorded");
	print_streams(json_object_get(row, "records"), false, "not");
	if (missing)
		print_line("why not", missing);
	if (unsampled)
		print_line(missing ? "" : "why not", unsampled);
	if (agent && !unsampled) {
		snprintf(text, sizeof(text),
			 "gcprof record --agent %s: %sthe end of sampled objects", agent,
			 json_is_true(json_object_get(json_object_get(row, "records"), SAMPLES_KEY))
				 ? ""
				 : "samples, ");
		print_line("with", text);
	}
	if (note)
		print_line("note", note);
	if (names)
		print_line("names", names);
	json_array_foreach(writes, i, name)
		print_line(i ? "" : "written to", json_string_value(name));
}

static void print_found(const json_t *found)
{
	size_t i;
	const json_t *row;

	json_array_foreach(found, i, row) print_row(row);
	if (!json_array_size(found))
		printf("No runtime that gcprof knows: CPU time, system calls and waits are "
		       "recorded. Allocations with malloc() are with record --malloc. Others, and "
		       "collections, are not, unless it starts a program that has one.\n");
	else
		printf("CPU time, system calls and waits are recorded for every program.\n");
}

int doctor_program(const char *command, const char *pid, bool json)
{
	struct preview preview = {.found = json_array(), .runs = pid != NULL};
	int err = preview.found ? opener_create(true, &preview.opener) : -ENOMEM;

	if (!err)
		err = files_create(preview.opener, &preview.files);
	if (err)
		log_error("out of memory");
	else
		err = command ? preview_command(&preview, command) : preview_process(&preview, pid);
	if (!err && json)
		err = json_dumpf(preview.found, stdout, JSON_INDENT(2)) || putchar('\n') == EOF;
	else if (!err)
		print_found(preview.found);
	files_free(preview.files);
	opener_free(preview.opener);
	json_decref(preview.found);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
