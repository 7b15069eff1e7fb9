/* SPDX-License-Identifier: BSD-2-Clause */
/* reader.c: the confined process that parses untrusted files. */
/*
 * The only place that parses ELF headers, notes, symbols, DWARF, call frame information, jitdump
 * files and perf maps of untrusted programs. The process receives open files and returns facts,
 * which the recorder checks.
 */
#include "reader.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../runtimes/hotspot/tables.h"
#include "confine.h"
#include "facts.h"
#include "names.h"
#include "wire.h"

static int answer_facts(int fd)
{
	struct probe_site *sites;
	struct file_facts facts;
	int err = facts_read(fd, &facts, &sites);

	if (err)
		return err;
	wire_put(&facts, sizeof(facts));
	wire_put(sites, facts.n_sites * sizeof(*sites));
	free(sites);
	return 0;
}

/* Takes over the descriptor. */
static int answer_rows(int fd)
{
	struct hotspot_layout hotspot;
	struct unwind_file *file;
	int err;

	hotspot_layout_read(fd, &hotspot);
	err = unwind_read(fd, &file);
	close(fd);
	if (err)
		return err;
	rows_put(file, &hotspot);
	unwind_free(file);
	return 0;
}

static int answer_file(struct request *request)
{
	int err = -EBADMSG;

	if (request->files.n == 1 && request->head.kind == READ_ROWS) {
		request->files.n = 0;
		return answer_rows(request->files.fds[0]);
	}
	if (request->files.n == 1)
		err = answer_facts(request->files.fds[0]);
	for (size_t i = 0; i < request->files.n; i++)
		close(request->files.fds[i]);
	return err;
}

static int answer(struct names *names, struct request *request)
{
	switch (request->head.kind) {
	case READ_FACTS:
	case READ_ROWS:
		return answer_file(request);
	case READ_NAMES:
	case READ_CODE:
	case READ_TYPES:
	case READ_REMOTE:
	case READ_BYTECODE:
		return names_answer(names, request);
	case READ_STACK:
		return dumps_answer(request);
	case READ_HEAP:
		return heap_answer(request);
	case READ_TABLE:
		return table_answer(request);
	default:
		return -EBADMSG;
	}
}

static int serve(struct names *names)
{
	static struct request request;
	int state;

	while ((state = wire_receive(&request)) > 0) {
		int err = answer(names, &request);

		/* The memory may be full of data from earlier files: a fresh process has more room.
		 */
		if (err == -ENOMEM)
			return EXIT_FAILURE;
		wire_end(err, -1);
	}
	return state ? EXIT_FAILURE : EXIT_SUCCESS;
}

int reader_main(void)
{
	struct names *names;

	wire_begin(WORKER_READER);
	if (names_create(&names) || confine())
		return EXIT_FAILURE;
	return serve(names);
}
