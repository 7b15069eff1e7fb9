/* SPDX-License-Identifier: BSD-2-Clause */
/* text_copies.c: programs that copy or translate code, which must be without breakpoints. */
/*
 * What a program copies would contain the breakpoints, but no probe of the kernel's: the program
 * would die of SIGTRAP. So its arguments and environment are searched before its files are
 * attached. An emulator is a program without a dynamic linker that has mapped another program's
 * code.
 */
#include "arrival.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../runtimes/runtime.h"
#include "../kernel/session.h"
#include "../world/running.h"

/* Since when a process runs its program: the record of an exec arrives later than those of
 * mappings. */
static uint64_t program_of(const struct text_copies_asker *asker, const struct process *process)
{
	const uint32_t index = (uint32_t)process->id;
	struct process_state state;

	return table_lookup(asker->session, TABLE_PROCESSES, &index, &state) ? process->program
									     : state.program;
}

/* The file with this inode that the process has mapped; NULL: none known. */
static const struct file *find_mapped(struct files *files, const struct process *process,
				      uint64_t inode)
{
	const struct mapping *lists[2];
	size_t n[2];

	lists[0] = mappings_all(process->mappings, &n[0]);
	lists[1] = process_ahead(process, &n[1]);
	for (int list = 0; list < 2; list++) {
		for (size_t i = 0; i < n[list]; i++) {
			const struct file *file = files_by_id(files, lists[list][i].file);

			if (file && file->key.inode == inode)
				return file;
		}
	}
	return NULL;
}

/* A dynamic linker may be called as a program, too. */
static bool is_emulator(const struct file *executed, const struct file_key *code)
{
	const char *slash = executed ? strrchr(executed->path, '/') : NULL;

	return slash && executed->key.inode != code->inode && file_is_program(executed) &&
	       !executed->facts.interpreter[0] && strncmp(slash, "/ld", 3) != 0;
}

static bool has_option(int fd)
{
	struct stat st;
	void *text = MAP_FAILED;
	bool found;

	if (!fstat(fd, &st) && st.st_size)
		text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text == MAP_FAILED)
		return false;
	found = runtimes_copy(text, (size_t)st.st_size);
	munmap(text, (size_t)st.st_size);
	return found;
}

static enum text_copies text_copies_judge(const struct text_question *question,
					  const struct process *process,
					  const struct opener_result *result)
{
	const struct file *executed =
		find_mapped(question->asker->files, process, result->file.inode);

	if (program_of(question->asker, process) != question->program || result->err == -EAGAIN ||
	    (executed && executed->state == FILE_READING))
		return TEXT_UNKNOWN;
	if (result->err)
		return TEXT_UNREADABLE;
	if (is_emulator(executed, &question->file))
		return TEXT_TRANSLATED;
	return has_option(result->fd) ? TEXT_COPIED : TEXT_STAYS;
}

static void text_copies_take(void *context, const struct opener_result *result)
{
	struct text_question *question = context;
	struct text_copies_asker *asker = question->asker;
	struct process *process = processes_find(asker->processes, question->process);

	if (process && process->copies == TEXT_ASKED && process->copies_of == question->program)
		process->copies = (uint8_t)text_copies_judge(question, process, result);
	if (result->fd >= 0)
		close(result->fd);
	if (process && process->copies > TEXT_STAYS)
		asker->judged = *question;
	asker->answered = true;
	question->asker = NULL;
}

/* NULL: later. */
static struct text_question *find_free(struct text_copies_asker *asker, uint32_t user)
{
	struct text_question *found = NULL;
	unsigned count = 0;

	for (size_t i = 0; i < TEXT_QUESTIONS; i++) {
		if (!asker->questions[i].asker)
			found = &asker->questions[i];
		else
			count += asker->questions[i].user == user;
	}
	return count < TEXT_QUESTIONS_USER ? found : NULL;
}

static void text_copies_ask(struct text_copies_asker *asker, struct process *process,
			    const struct file *file)
{
	struct text_question *question = find_free(asker, process->user);

	if (!question)
		return;
	*question = (struct text_question){asker, (uint32_t)process->id, process->user,
					   process->copies_of, file->key};
	if (opener_words(files_opener(asker->files), process->proc_pid, text_copies_take, question))
		question->asker = NULL;
	else
		process->copies = TEXT_ASKED;
}

const char *text_copies_reason(const struct process *process)
{
	return process->copies == TEXT_COPIED
		       ? "it copies its code, and the copy would contain breakpoints"
	       : process->copies == TEXT_TRANSLATED
		       ? "another program executes its code, and would read breakpoints"
		       : "its arguments cannot be read, so it may copy its code";
}

static int refuse(const struct process *process, const struct file *file, struct problem *problem)
{
	char name[16];

	running_name((pid_t)process->proc_pid, name);
	return problem_set(problem, -EOPNOTSUPP,
			   "process %" PRIu32 " (%s) is recorded without probes in %s: %s",
			   process->proc_pid, name, file->path, text_copies_reason(process));
}

int text_copies_check(struct text_copies_asker *asker, struct process *process,
		      const struct file *file, struct problem *problem)
{
	const struct runtime *runtime = runtime_get(file->facts.runtime.runtime);
	uint64_t program = program_of(asker, process);

	if (process->copies_of != program) {
		process->copies = TEXT_UNKNOWN;
		process->copies_of = program;
	}
	if (process->copies == TEXT_UNKNOWN)
		text_copies_ask(asker, process, file);
	if (process->copies <= TEXT_ASKED)
		return 0;
	return process->copies == TEXT_STAYS ||
			       (process->copies == TEXT_COPIED && !(runtime && runtime->copies))
		       ? 1
		       : refuse(process, file, problem);
}

void text_copies_leave(struct text_copies_asker *asker)
{
	for (size_t i = 0; i < TEXT_QUESTIONS; i++)
		if (asker->questions[i].asker)
			opener_cancel(files_opener(asker->files), &asker->questions[i]);
}

bool text_copies_asks(const struct text_copies_asker *asker)
{
	for (size_t i = 0; i < TEXT_QUESTIONS; i++)
		if (asker->questions[i].asker)
			return true;
	return false;
}
