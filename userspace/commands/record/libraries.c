/* SPDX-License-Identifier: BSD-2-Clause */
/* libraries.c: reads what the program will load before it runs, and has it load the agent. */
/*
 * A file that a program maps while it is recorded gets its probes some 10 to 50 ms later, most of
 * which the kernel takes to attach them. A program without probes often only starts another one:
 * `env`, `timeout`, `sh -c`. So the programs that its arguments name are read as well. None of them
 * may ever run, so only those that root or the user wrote have their dynamic linker asked.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../record/unwind/unwinder.h"
#include "../../util/log.h"
#include "../../util/path_base.h"
#include "record.h"

enum {
	WORDS_MAX = 16,   /* of the arguments that may be programs */
	PROGRAMS_MAX = 4, /* that are read */
};

/* Programs that execute the code of others themselves, and would read breakpoints in it; a final
 * '*' stands for any end. */
static const char *const emulators[] = {
	"valgrind", "qemu-*", "box64", "box86", "FEX*", "blink", "drrun", "pin",
};

#define SEPARATORS " \t\n;&|()'\"" /* of words in a shell's argument */

/* A file that the program will load. */
struct library {
	char *path;
	int fd;
};

/* A runtime in a library: the program runs its code a few milliseconds after its start. */
static bool makes_code(const struct file_facts *facts)
{
	return facts->runtime.runtime && runtime_get(facts->runtime.runtime)->library;
}

static void read_library(void *context, const char *path, int fd)
{
	struct library_search *search = context;
	const struct library library = {strdup(path), fcntl(fd, F_DUPFD_CLOEXEC, 0)};
	const struct file *file = files_read(search->files, fd, geteuid());

	if (file) {
		unwinder_expect(search->unwinder, file->id);
		search->generates |= makes_code(&file->facts);
		search->probed |= file->facts.n_sites > 0;
	}
	unwinder_flush(search->unwinder);
	if (search->agent && file && file->state == FILE_KNOWN)
		agent_judge(search->agent, file, path, &search->verdict);
	if (library.path && library.fd >= 0 &&
	    !buffer_append(&search->found, &library, sizeof(library)))
		return;
	free(library.path);
	if (library.fd >= 0)
		close(library.fd);
}

/* Reads the program at `path` and its libraries; `runs` as in libraries_start(). */
static void read_program(struct recording *recording, const char *path, bool runs,
			 struct library_search *search)
{
	bool preloads = search->agent && agent_is_mapped(search->agent);
	struct added_variable agent;
	struct libraries *libraries;
	int err;

	if (preloads)
		agent_variable(search->agent, recording->agent.path, &agent);
	err = libraries_start(path, runs, preloads ? &agent : NULL, &recording->user,
			      recording->opener, recording->files, &libraries);

	if (err)
		log_verbose("%s: its libraries are unknown before it runs: %s", path,
			    strerror(-err));
	else
		libraries_visit_all(libraries, read_library, search);
	if (!err && libraries_refused(libraries))
		agent_judge_refused(&search->verdict);
	libraries_free(err ? NULL : libraries);
}

static bool is_emulator(const char *word)
{
	for (size_t i = 0; i < sizeof(emulators) / sizeof(*emulators); i++) {
		size_t size = strcspn(emulators[i], "*");

		if (!strncmp(path_base(word), emulators[i], size + !emulators[i][size]))
			return true;
	}
	return false;
}

/* Counts down what may still be read; false: no more words. */
static bool read_word(struct recording *recording, const char *word, struct library_search *search,
		      int *words, int *programs)
{
	struct problem problem;
	char *path;

	if (!*word || *word == '-')
		return true;
	search->emulated = search->emulated || is_emulator(word);
	if (search->emulated)
		return false;
	if (!target_resolve(&recording->user, word, &path, &problem)) {
		read_program(recording, path, false, search);
		free(path);
		--*programs;
	}
	return --*words > 0 && *programs > 0;
}

static void read_arguments(struct recording *recording, char **arguments,
			   struct library_search *search)
{
	int words = WORDS_MAX, programs = PROGRAMS_MAX;
	bool more = true;

	for (; more && *arguments; arguments++) {
		char *copy = strdup(*arguments), *rest = copy, *word;

		while (more && (word = strsep(&rest, SEPARATORS)))
			more = read_word(recording, word, search, &words, &programs);
		free(copy);
	}
}

/* Do arguments or environment make a runtime copy its code? */
static bool any_copies(char *const *words)
{
	bool found = false;

	for (; *words && !found; words++)
		found = runtimes_copy(*words, strlen(*words));
	return found;
}

/*
 * The reader's results are complete together with the session: reader, loading thread and
 * the program's dynamic linker work in parallel.
 */
void recording_find_libraries(struct recording *recording, char **words,
			      struct library_search *search)
{
	*search = (struct library_search){.files = recording->files,
					  .unwinder = recording->unwinder,
					  .agent = recording->options.agent_kind,
					  .copies = any_copies(words) || any_copies(environ),
					  .emulated = is_emulator(recording->command)};
	read_program(recording, recording->command, true, search);
	/* The agent is judged by the program itself. */
	search->agent = NULL;
	if (!search->probed && !search->emulated)
		read_arguments(recording, words + 1, search);
}

void recording_leave_libraries(struct library_search *search, libraries_visit *visit, void *context)
{
	const struct library *all = (const struct library *)(const void *)search->found.data;

	for (size_t i = 0; i < search->found.size / sizeof(*all); i++) {
		if (visit)
			visit(context, all[i].path, all[i].fd);
		free(all[i].path);
		close(all[i].fd);
	}
	buffer_free(&search->found);
}

int recording_open_agent(struct recording *recording)
{
	const struct agent_kind *kind = recording->options.agent_kind;
	struct problem problem;

	return kind && agent_open(kind, &recording->user, &recording->agent, &problem)
		       ? recording_fail(&problem)
		       : 0;
}

void recording_choose_agent(struct recording *recording, char *const *words,
			    struct agent_verdict *verdict)
{
	const struct agent_kind *kind = recording->options.agent_kind;

	if (!kind)
		return;
	agent_judge_end(kind, words, verdict);
	if (verdict->harmful) {
		log_warning("--agent %s: %s; it would not run with the agent, so it is started "
			    "without it",
			    agent_name(kind), verdict->why);
		agent_close(&recording->agent);
	} else if (verdict->useless) {
		log_warning("--agent %s: %s, so its own allocations are not sampled; those of "
			    "programs that it starts may be",
			    agent_name(kind), verdict->why);
	}
}

void recording_expect_agent(struct recording *recording, const struct agent_verdict *verdict)
{
	const struct agent_kind *kind = recording->options.agent_kind;
	struct store_agent *agent = &recording->expected;

	if (!kind)
		return;
	agent->warned = verdict->harmful || verdict->useless;
	/* That a shell is no interpreter says nothing about the one that it starts. */
	if (agent_runtime(kind) && !verdict->has_runtime)
		agent->warned = false;
	snprintf(agent->name, sizeof(agent->name), "gcprof-%s", agent_name(kind));
	agent->file = agent_is_mapped(kind) ? agent_file(kind) : NULL;
	agent->runtime = agent_runtime(kind);
	agent->harmful = verdict->harmful;
	store_expect_agent(recording->store, agent);
}
