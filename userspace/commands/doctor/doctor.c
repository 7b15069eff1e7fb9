/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor.c: gcprof doctor: reports what can be recorded here, by whom, and what to change. */
#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "../commands.h"
#include "../../record/kernel/setup.h"
#include "../../record/machine/capabilities.h"
#include "../../record/kernel/checks.h"
#include "../../record/store/facts.h"
#include "../../record/kernel/trial.h"
#include "../../util/escape.h"
#include "../../util/ascii.h"
#include "../../util/log.h"
#include "../../util/version.h"

struct doctor_options {
	int json;
	int verbose;
	const char *pid; /* a running program; NULL: none */
};

/* All results. */
struct diagnosis {
	struct finding *findings; /* one per check */
	struct trial trial;
	bool possible;
	const char *whom;
};

static const char *const verdicts[] = {
	[VERDICT_GOOD] = "ok",
	[VERDICT_NOTE] = "note",
	[VERDICT_LIMITED] = "limited",
	[VERDICT_IMPOSSIBLE] = "fails",
};

static int examine(struct diagnosis *out)
{
	uint64_t usable = capabilities_usable();
	bool all = true;

	out->findings = calloc(check_count, sizeof(out->findings[0]));
	if (!out->findings)
		return -1;
	out->possible = true;
	for (size_t i = 0; i < check_count; i++) {
		check_table[i].run(&out->findings[i]);
		out->possible &= out->findings[i].verdict != VERDICT_IMPOSSIBLE;
	}
	if (out->possible) {
		trial_run(&out->trial);
		out->possible = out->trial.loaded && out->trial.followed;
	}
	for (size_t i = 0; i < capability_count; i++)
		all &= usable >> capability_table[i].number & 1;
	out->whom = !out->possible ? "nobody with your rights"
		    : all          ? "every program on this machine"
		    : geteuid() == 0
			    ? "your own programs, and what your rights let you see of others"
			    : "your own programs";
	return 0;
}

/* True if this version records the stream and the trial attached it. */
static bool is_tried(const struct trial *trial, int stream)
{
	const struct stream_state *state = &trial->streams[stream];

	return stream_name(stream) && state->why != WHY_UNASKED;
}

/* --- text -------------------------------------------------------------------- */

static void print_row(const char *verdict, const char *name, const char *found, const char *advice)
{
	printf("  %-8s %-17s ", verdict, name);
	escape_print(stdout, found, strlen(found));
	putchar('\n');
	if (advice[0])
		printf("  %-8s %-17s -> %s\n", "", "", advice);
}

static void print_streams(const struct diagnosis *diagnosis)
{
	const struct trial *trial = &diagnosis->trial;

	printf("\nTried for a moment, on gcprof itself:\n");
	print_row(trial->loaded ? "ok" : "fails", "BPF programs",
		  trial->loaded ? "load, with rings and task storage" : trial->problem.text, "");
	if (!trial->loaded)
		return;
	if (!trial->followed) {
		print_row("fails", "processes", trial->problem.text, "");
		return;
	}
	print_row(trial->maps.text[0] ? "limited" : "ok", "mappings",
		  trial->maps.text[0] ? trial->maps.text : "reported by the kernel",
		  trial->maps.text[0] ? "Without them native functions have no names." : "");
	for (int stream = 0; stream < STREAM_END; stream++) {
		const struct stream_state *state = &trial->streams[stream];
		bool probes = stream == STREAM_ALLOC || stream == STREAM_GC;
		const char *how = !probes ? "stream works"
				  : trial->together
					  ? "stream works; a file's probes are attached together"
					  : "stream works; probes are attached one by one, "
					    "which takes longer (Linux 6.10: together)";

		if (is_tried(trial, stream))
			print_row(state->attached ? "ok" : "fails", stream_name(stream),
				  state->attached ? how : state->why_not, "");
	}
}

static void print_capabilities(void)
{
	uint64_t usable = capabilities_usable();

	printf("\nCapabilities:\n");
	for (size_t i = 0; i < capability_count; i++) {
		const struct capability *row = &capability_table[i];
		bool have = usable >> row->number & 1;

		printf("  %-8s %-22s without it: %s\n", have ? "ok" : "missing", row->name,
		       row->without);
	}
}

static void print_diagnosis(const struct diagnosis *diagnosis, bool verbose)
{
	printf("%s, as user %u%s\n\nThis machine and your rights:\n", gcprof_version,
	       (unsigned)geteuid(), geteuid() ? "" : " (root)");
	for (size_t i = 0; i < check_count; i++) {
		const struct finding *finding = &diagnosis->findings[i];

		print_row(verdicts[finding->verdict], check_table[i].name, finding->found,
			  finding->advice);
	}
	if (verbose)
		print_capabilities();
	if (diagnosis->possible || diagnosis->trial.problem.text[0])
		print_streams(diagnosis);
	if (diagnosis->possible)
		printf("\nRecording works here, for %s.\n", diagnosis->whom);
	else
		printf("\nRecording is impossible here: see what fails above.\n");
}

/* --- JSON -------------------------------------------------------------------- */

static json_t *json_checks(const struct diagnosis *diagnosis)
{
	json_t *all = json_array();

	for (size_t i = 0; i < check_count; i++) {
		const struct finding *finding = &diagnosis->findings[i];

		json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:s?}", "name",
						     check_table[i].name, "verdict",
						     verdicts[finding->verdict], "found",
						     finding->found, "advice",
						     finding->advice[0] ? finding->advice : NULL));
	}
	return all;
}

static json_t *json_capabilities(void)
{
	uint64_t usable = capabilities_usable();
	json_t *all = json_object();

	for (size_t i = 0; i < capability_count; i++)
		json_object_set_new(all, capability_table[i].name,
				    json_boolean(usable >> capability_table[i].number & 1));
	return all;
}

static json_t *json_streams(const struct trial *trial)
{
	json_t *all = json_object();

	for (int stream = 0; stream < STREAM_END; stream++) {
		const struct stream_state *state = &trial->streams[stream];

		if (trial->followed && is_tried(trial, stream))
			json_object_set_new(all, stream_name(stream),
					    json_pack("{s:b, s:s?}", "works", state->attached,
						      "why_not",
						      state->attached ? NULL : state->why_not));
	}
	return all;
}

static int print_json(const struct diagnosis *diagnosis)
{
	const struct trial *trial = &diagnosis->trial;
	json_t *root = json_pack("{s:b, s:s, s:i, s:o, s:o, s:{s:b, s:b, s:b, s:s?}, s:o}",
				 "possible", diagnosis->possible, "whom", diagnosis->whom, "user",
				 (int)geteuid(), "checks", json_checks(diagnosis), "capabilities",
				 json_capabilities(), "trial", "loaded", trial->loaded, "processes",
				 trial->followed, "mappings",
				 trial->followed && !trial->maps.text[0], "problem",
				 trial->problem.text[0] ? trial->problem.text : NULL, "streams",
				 json_streams(trial));
	int err = root ? json_dumpf(root, stdout, JSON_INDENT(2)) : -1;

	if (!err)
		putchar('\n');
	json_decref(root);
	return err;
}

static int doctor_run(int argc, char **argv)
{
	struct doctor_options options = {0};
	struct diagnosis diagnosis = {0};
	int first = options_parse(&cmd_doctor, &options, argc, argv), err;

	if (first < 0)
		return EXIT_USAGE;
	if (argv[first] && (argv[first + 1] || options.pid)) {
		log_error(
			"%s: doctor takes one program, or one -p PID\nTry 'gcprof doctor --help'.",
			options.pid ? argv[first] : argv[first + 1]);
		return EXIT_USAGE;
	}
	if (options.verbose > 1)
		log_set_level(LOG_DEBUG);
	if (!options.json)
		ascii_stdout();
	if (argv[first] || options.pid)
		return doctor_program(argv[first], options.pid, options.json);
	setup_messages();
	err = examine(&diagnosis);
	if (err)
		log_error("out of memory");
	else if (options.json)
		err = print_json(&diagnosis);
	else
		print_diagnosis(&diagnosis, options.verbose);
	free(diagnosis.findings);
	return err || !diagnosis.possible ? EXIT_FAILURE : EXIT_SUCCESS;
}

static const struct option_row rows[] = {
	{"pid", 'p', OPTION_TEXT, offsetof(struct doctor_options, pid), 0, 0, "PID",
	 "report what would be recorded for this running program"},
	{"json", 0, OPTION_FLAG, offsetof(struct doctor_options, json), 0, 0, NULL,
	 "print everything as JSON"},
	{"verbose", 'v', OPTION_COUNT, offsetof(struct doctor_options, verbose), 0, 0, NULL,
	 "also list the capabilities; twice: also the kernel's messages"},
	{0},
};

const struct command cmd_doctor = {
	.name = "doctor",
	.usage = "[OPTIONS] [PROGRAM]",
	.summary = "report what can be recorded here or for a program, and what to change",
	.options = rows,
	.needs_root = true, /* the trial needs root; a program is opened as the caller */
	.run = doctor_run,
};
