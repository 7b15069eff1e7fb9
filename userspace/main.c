/* SPDX-License-Identifier: BSD-2-Clause */
/* main.c: the gcprof program: finds the command and runs it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/push/push.h"
#include "commands/commands.h"
#include "fleet/rows.h"
#include "reader/protocol.h"
#include "reader/reader.h"
#include "record/kernel/attacher.h"
#include "record/opener/opener.h"
#include "record/target/user_main.h"
#include "util/invoker.h"
#include "util/log.h"
#include "util/suggest.h"
#include "util/version.h"

static const struct command *const commands[] = {
	&cmd_record, &cmd_snapshot, &cmd_pause,  &cmd_resume, &cmd_top,   &cmd_report,
	&cmd_diff,   &cmd_query,    &cmd_export, &cmd_import, &cmd_merge, &cmd_view,
	&cmd_info,   &cmd_dump,     &cmd_push,   &cmd_doctor,
};

enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void print_help(FILE *out)
{
	fprintf(out, "Usage: gcprof COMMAND [OPTIONS]\n"
		     "Profiles garbage-collected programs: allocations, collections, CPU time and\n"
		     "system calls on one clock.\n\n"
		     "  sudo gcprof record -- ./app    record a program into gcprof.data\n"
		     "  gcprof report                  show what it did\n\n"
		     "Commands:\n");
	for (size_t i = 0; i < N_COMMANDS; i++)
		fprintf(out, "  %-8s  %s\n", commands[i]->name, commands[i]->summary);
	fprintf(out, "\n'gcprof COMMAND --help' shows a command's options; 'gcprof --version' "
		     "shows the version.\n");
}

static const struct command *main_find(const char *word)
{
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (strcmp(word, commands[i]->name) == 0)
			return commands[i];
	return NULL;
}

static int main_complain(const char *word)
{
	struct suggestion suggestion = {.word = word};
	char hint[64];

	for (size_t i = 0; i < N_COMMANDS; i++)
		suggestion_offer(&suggestion, commands[i]->name);
	suggestion_text(&suggestion, "", hint, sizeof(hint));
	log_error("%s: no such command%s\nTry 'gcprof --help'.", word, hint);
	return EXIT_USAGE;
}

/* `word`: the command to explain, or NULL. */
static int help(const char *word)
{
	const struct command *command = word ? main_find(word) : NULL;

	if (word && !command)
		return main_complain(word);
	if (command)
		options_help(command);
	else
		print_help(stdout);
	return 0;
}

/*
 * A command reads and writes files with the rights of its caller, also under sudo. A
 * command that needs root acts as the caller while it follows the caller's paths.
 */
static int give_up_root(bool needs_root)
{
	const char *variable = NULL;
	struct invoker invoker;
	int err = invoker_find(&invoker, &variable);

	if (err) {
		log_error("%s=%s: %s\nTo run as root itself, unset SUDO_UID, PKEXEC_UID and "
			  "DOAS_USER.",
			  variable, getenv(variable),
			  err == -EINVAL ? "there is no such user"
					 : "SUDO_UID, PKEXEC_UID and DOAS_USER name different "
					   "users");
		return EXIT_FAILURE;
	}
	err = needs_root ? 0 : invoker_become(&invoker);
	if (err) {
		log_error("cannot become user %u permanently: %s", (unsigned)invoker.uid,
			  strerror(-err));
		return EXIT_FAILURE;
	}
	return 0;
}

/* What a command printed is lost if it does not arrive; a pipe's reader may stop early, as `head`
 * does. */
static int main_finish(int status)
{
	errno = 0;
	if ((!fflush(stdout) && !ferror(stdout)) || errno == EPIPE)
		return status;
	log_error("standard output: %s",
		  errno ? strerror(errno) : "not everything could be written");
	return status ? status : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	const struct command *command = word ? main_find(word) : NULL;

	/* A worker process that the recorder has started. */
	if (argc == 1 && strcmp(argv[0], WORKER_READER) == 0)
		return reader_main();
	if (argc == 1 && strcmp(argv[0], WORKER_OPENER) == 0)
		return opener_main();
	if (argc == 1 && strcmp(argv[0], WORKER_ATTACHER) == 0)
		return attacher_main();
	if (argc == 1 && strcmp(argv[0], WORKER_ROWS) == 0)
		return rows_main();
	if (argc == 1 && strcmp(argv[0], WORKER_USER) == 0)
		return user_main();
	if (strcmp(argv[0], PUSHER) == 0)
		return pusher_main(argc, argv);
	if (give_up_root(command && command->needs_root))
		return EXIT_FAILURE;
	if (!word) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
		return main_finish(help(argc > 2 ? argv[2] : NULL));
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
		puts(gcprof_version);
		return main_finish(0);
	}
	return command ? main_finish(command->run(argc - 1, argv + 1)) : main_complain(word);
}
