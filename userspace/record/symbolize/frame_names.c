// SPDX-License-Identifier: BSD-2-Clause
/* frame_names.c: writes the names of native, kernel and managed frames to a profile. */
/*
 * Another process finds the names (symbolizer.h) during the recording. Generated code is described
 * late, or not before its process ends; its frames are requested again until they have a name or
 * the process is forgotten.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../machine/clock.h"
#include "../kernel/session.h"
#include "../opener/code_owner.h"
#include "frame_names.h"
#include "../world/files.h"
#include "../opener/opener.h"
#include "frame_parts.h"
#include "symbolizer.h"
#include "../../profile/intern.h"
#include "../../util/buffer.h"
#include "../../util/log.h"
#include "../../util/map.h"
#include "../../util/quota.h"
#include "../../../bpf/frame_place.h"
#include "../../../bpf/hotspot.h"

#define RESTS         64         /* times the CPU time of a request: wait before the next one */
#define GENERATED_MAX 65536      /* frames that wait for a description */
#define REMOTE_MAX    (1u << 18) /* frames that wait for a name in memory */

struct frame_names {
	struct profile_writer *writer;
	struct files *files;
	struct symbolizer *symbolizer; /* created when first needed */
	struct session *session;       /* names kernel functions; NULL: they get no names */
	struct map *noted;             /* modules whose file was not found */
	struct code_owners *owners;    /* processes that generate code */
	struct buffer generated;       /* struct symbol_frame[] without a name so far */
	struct quota waiting;          /* of these */
	struct remote_names *remote;
	struct buffer remote_frames; /* the same for names in memory */
	struct quota remote_waiting;
	struct bytecodes *bytecodes;
	uint64_t asked;    /* when the generated ones were requested */
	uint64_t spent;    /* by readers on those until then; ns */
	uint64_t now;      /* begin of the current call: new frames are slightly older */
	uint64_t lost;     /* number of modules whose file was not found */
	uint64_t unnamed;  /* frames of generated code beyond GENERATED_MAX */
	uint64_t nameless; /* frames that have none in memory, and will have none */
	int err;
};

int frame_names_create(struct profile_writer *writer, struct files *files, struct frame_names **out)
{
	struct frame_names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names->writer = writer;
	names->files = files;
	names->waiting.most = GENERATED_MAX;
	names->remote_waiting.most = REMOTE_MAX;
	names->noted = map_create(sizeof(uint64_t));
	if (!names->noted || code_owners_create(files_opener(files), &names->owners) ||
	    remote_names_create(files, &names->remote) || bytecodes_create(&names->bytecodes)) {
		frame_names_free(names);
		return -ENOMEM;
	}
	*out = names;
	return 0;
}

static struct opener *opener_of(const struct frame_names *names)
{
	return files_opener(names->files);
}

void frame_names_free(struct frame_names *names)
{
	if (!names)
		return;
	code_owners_free(names->owners);
	remote_names_free(names->remote);
	bytecodes_free(names->bytecodes);
	symbolizer_free(names->symbolizer);
	map_free(names->noted);
	buffer_free(&names->generated);
	quota_free(&names->waiting);
	buffer_free(&names->remote_frames);
	quota_free(&names->remote_waiting);
	free(names);
}

/* --- answers ------------------------------------------------------------------------------ */

static uint64_t frame_names_put_text(struct frame_names *names, const char *text)
{
	return text ? profile_writer_string(names->writer, text, strlen(text)) : 0;
}

static int write_type(struct frame_names *names, const struct symbol_frame *frame,
		      const struct symbol *symbol)
{
	struct record record = {.kind = RECORD_type};

	record.type.process = frame->process;
	record.type.type = frame->frame;
	record.type.name = frame_names_put_text(names, symbol->name);
	record.type.plain = symbol->line;
	return profile_writer_put(names->writer, &record);
}

static int write_symbols(struct frame_names *names, uint64_t frame, const struct symbol *symbols,
			 size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		struct record record = {.kind = RECORD_symbol};

		record.symbol.frame = frame;
		record.symbol.name = frame_names_put_text(names, symbols[i].name);
		record.symbol.file = frame_names_put_text(names, symbols[i].file);
		record.symbol.line = symbols[i].line;
		record.symbol.begin = symbols[i].begin;
		err = profile_writer_put(names->writer, &record);
	}
	return err;
}

static int wait_generated(struct frame_names *names, const struct symbol_frame *frame)
{
	if (quota_take(&names->waiting, (uint32_t)frame->user, 1))
		return buffer_append(&names->generated, frame, sizeof(*frame));
	names->unnamed++;
	return 0;
}

/* Its process may describe it later, as long as it runs. */
static int keep_generated(struct frame_names *names, const struct symbol_frame *frame)
{
	if (!code_owners_get(names->owners, frame->owner))
		return 0;
	return wait_generated(names, frame);
}

static int write_names(void *context, const struct symbol_frame *frame,
		       const struct symbol *symbols, size_t n)
{
	struct frame_names *names = context;

	if (frame->space == SYMBOL_TYPE)
		return n ? write_type(names, frame, symbols) : 0;
	if (frame->space == SYMBOL_REMOTE)
		return remote_names_answer(names->remote, frame, symbols, n);
	if (!n && frame->space == SYMBOL_GENERATED)
		return keep_generated(names, frame);
	return write_symbols(names, frame->frame, symbols, n);
}

static int need_symbolizer(struct frame_names *names)
{
	return names->symbolizer ? 0
				 : symbolizer_create(opener_of(names), write_names, names,
						     &names->symbolizer);
}

void frame_names_prepare(struct frame_names *names)
{
	if (!need_symbolizer(names))
		symbolizer_prepare(names->symbolizer);
}

void frame_names_know_kernel(struct frame_names *names, struct session *session)
{
	names->session = session;
}

/* --- generated code ----------------------------------------------------------------------- */

void frame_names_meet(struct frame_names *names, uint64_t process, uint32_t pid)
{
	code_owners_meet(names->owners, process, pid);
}

int frame_names_generated(struct frame_names *names, uint64_t process, uint32_t pid)
{
	code_owners_find(names->owners, process, pid);
	return 0;
}

int frame_names_dump(struct frame_names *names, uint64_t process, const struct module_place *place)
{
	const struct code_owner *owner = code_owners_find(names->owners, process, place->pid);
	const struct file *file =
		owner ? files_find(names->files, place->major, place->minor, place->inode) : NULL;
	int fd, err;

	if (!file || file->fd < 0 || !code_owner_has(owner, file->fd))
		return 0;
	err = need_symbolizer(names);
	if (err)
		return err;
	fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? 0 : symbolizer_add_dump(names->symbolizer, process, owner->user, fd);
}

/* Frames of a process whose perf map is being opened. */
struct mapped_frames {
	struct frame_names *names;
	uint64_t process;
	struct buffer frames; /* struct symbol_frame[] */
};

static void ask_mapped(struct mapped_frames *mapped)
{
	const struct symbol_frame *frames = (const void *)mapped->frames.data;
	struct frame_names *names = mapped->names;

	for (size_t i = 0; i < mapped->frames.size / sizeof(*frames) && !names->err; i++)
		names->err = symbolizer_ask(names->symbolizer, &frames[i], NULL);
	buffer_free(&mapped->frames);
	free(mapped);
}

static void map_opened(void *context, const struct opener_result *result)
{
	struct mapped_frames *mapped = context;

	if (!result->err)
		mapped->names->err =
			symbolizer_set_map(mapped->names->symbolizer, mapped->process, result->fd);
	ask_mapped(mapped);
}

/* Opens what the process wrote about its code so far, then requests its frames. */
static void ask_process(struct frame_names *names, struct mapped_frames *mapped)
{
	const struct code_owner *owner = code_owners_get(names->owners, mapped->process);

	if (!owner || opener_map(opener_of(names), owner, map_opened, mapped))
		ask_mapped(mapped);
}

static struct mapped_frames *frames_of(struct frame_names *names, struct map *all, uint64_t process)
{
	uint64_t *slot = map_put(all, &process, NULL);
	struct mapped_frames *mapped;

	if (!slot || *slot)
		return slot ? (struct mapped_frames *)(uintptr_t)*slot : NULL;
	mapped = calloc(1, sizeof(*mapped));
	if (!mapped)
		return NULL;
	mapped->names = names;
	mapped->process = process;
	*slot = (uintptr_t)mapped;
	return mapped;
}

/* --- names in memory ------------------------------------------------------------------------ */

void frame_names_map(struct frame_names *names, uint64_t process, const struct event_mmap *event,
		     const char *path, uint32_t user)
{
	const struct name_reader *reader = remote_names_reader(path);

	if (reader)
		remote_names_map(names->remote, process, event, reader, user);
}

void frame_names_fork(struct frame_names *names, uint64_t parent, uint64_t child,
		      const struct remote_process *ids)
{
	remote_names_fork(names->remote, parent, child, ids);
}

void frame_names_end(struct frame_names *names, uint64_t process)
{
	remote_names_end(names->remote, names->symbolizer, process);
}

void frame_names_forget(struct frame_names *names, uint64_t process)
{
	if (code_owners_forget(names->owners, process) && names->symbolizer)
		symbolizer_end(names->symbolizer, SYMBOL_GENERATED, process);
}

/* As the frames will be stored: see add_address() and add_managed() in store/stacks.c. */
int frame_names_frames(struct frame_names *names, uint64_t process, const struct event_stack *stack,
		       const struct event_native *frames)
{
	const struct event_managed *managed = (const void *)(frames + stack->n_user);
	int err = 0;

	for (size_t i = 0; i < stack->n_user && !err; i++) {
		uint64_t ip = frames[i].ip;

		if (frame_place_is_remote(ip))
			err = remote_names_meet(names->remote, process,
						ip >= HOTSPOT_INTERPRETED || !i ? ip : ip - 1);
	}
	for (size_t i = 0; i < stack->n_managed && !err; i++) {
		uint64_t place = (uint64_t)managed[i].code << 32 | managed[i].pc;

		if (managed[i].address & MANAGED_PLACE && frame_place_is_remote(place))
			err = remote_names_meet(names->remote, process, place);
	}
	return err;
}

static int wait_remote(struct frame_names *names, const struct symbol_frame *frame)
{
	if (quota_take(&names->remote_waiting, (uint32_t)frame->user, 1))
		return buffer_append(&names->remote_frames, frame, sizeof(*frame));
	names->nameless++;
	return 0;
}

/* Writes the names from memory that have arrived; other frames keep waiting. */
static int write_remote(struct frame_names *names)
{
	struct symbol_frame *frames = (void *)names->remote_frames.data;
	size_t kept = 0, all = names->remote_frames.size / sizeof(*frames), n;
	const struct symbol *symbols;
	int err = 0;

	for (size_t i = 0; i < all && !err; i++) {
		enum remote_state state = remote_names_find(names->remote, frames[i].owner,
							    frames[i].place, &symbols, &n);

		if (state == REMOTE_WAITS) {
			frames[kept++] = frames[i];
			continue;
		}
		quota_return(&names->remote_waiting, (uint32_t)frames[i].user, 1);
		names->nameless += state == REMOTE_UNKNOWN || (state == REMOTE_NAMED && !n);
		if (state == REMOTE_NAMED)
			err = write_symbols(names, frames[i].frame, symbols, n);
	}
	names->remote_frames.size = kept * sizeof(*frames);
	return err;
}

/* --- interpreted functions ------------------------------------------------------------------ */

int frame_names_bytecode(struct frame_names *names, const struct event_bytecode *event, size_t size,
			 uint32_t user)
{
	return bytecodes_add(names->bytecodes, event, size, user);
}

/* `frame->owner` is the process, so that one process's functions do not block another's. */
static int ask_bytecode(struct frame_names *names, struct symbol_frame *frame)
{
	const struct symbol_file file = {
		.path = "[bytecode]", .fd = bytecodes_file(names->bytecodes), .debug_fd = -1};
	uint64_t offset;

	if (!bytecodes_find(names->bytecodes, frame_place_number(frame->place), &offset))
		return 0;
	frame->space = SYMBOL_BYTECODE;
	frame->time = frame->place & FRAME_INSTRUCTIONS;
	frame->place = offset;
	return symbolizer_ask(names->symbolizer, frame, &file);
}

/* A process may have described gigabytes of code, and all is read each time. */
static bool readers_rested(const struct frame_names *names)
{
	return names->now - names->asked >=
	       RESTS * (symbolizer_spent(names->symbolizer, SYMBOL_GENERATED) - names->spent);
}

/* Requests frames without names again. */
static int ask_generated(struct frame_names *names)
{
	struct buffer waiting = names->generated;
	const struct symbol_frame *frames = (const void *)waiting.data;
	struct map *all = waiting.size ? map_create(sizeof(uint64_t)) : NULL;
	int err = waiting.size && !all ? -ENOMEM : 0;
	size_t cursor = 0;
	const void *key;
	uint64_t *value;

	if (err || !waiting.size)
		return err;
	names->asked = names->now;
	names->spent = symbolizer_spent(names->symbolizer, SYMBOL_GENERATED);
	names->generated = (struct buffer){0};
	quota_free(&names->waiting);
	for (size_t i = 0; i < waiting.size / sizeof(*frames) && !err; i++) {
		struct mapped_frames *mapped = frames_of(names, all, frames[i].owner);

		err = mapped ? buffer_append(&mapped->frames, &frames[i], sizeof(frames[i]))
			     : -ENOMEM;
	}
	while (map_next(all, &cursor, &key, &value))
		if (*value)
			ask_process(names, (struct mapped_frames *)(uintptr_t)*value);
	map_free(all);
	buffer_free(&waiting);
	return err ? err : names->err;
}

/* --- questions ---------------------------------------------------------------------------- */

static void note_lost(struct frame_names *names, uint64_t id, const struct file *file)
{
	bool added = map_note(names->noted, &id, SYMBOL_FILES_NOTED);

	names->lost += added;
	if (added && file)
		log_verbose(
			"%s: no function names: it was gone, or replaced, when it was looked for",
			file->path);
}

static int ask_file(struct frame_names *names, const struct symbol_frame *frame,
		    const struct file *file)
{
	const struct symbol_file symbols = {
		.path = file->path,
		.build_id = file->facts.build_id,
		.build_id_size = file_is_program(file) ? (size_t)file->facts.build_id_size : 0,
		.fd = file->fd,
		.debug_fd = file->debug_fd,
	};

	return symbolizer_ask(names->symbolizer, frame, &symbols);
}

/* Nothing is known about a file that was evicted because too many came after it. */
static int ask_native(struct frame_names *names, struct symbol_frame *frame, uint64_t module)
{
	const struct file *file = files_by_module(names->files, module);

	frame->owner = module;
	frame->user = file ? file->payer : 0;
	if (!module)
		return 0;
	if (file && file->process) {
		frame->space = SYMBOL_GENERATED;
		frame->owner = file->process;
		if (frame_place_is_remote(frame->place))
			return wait_remote(names, frame);
		if (frame_place_is_bytecode(frame->place))
			return ask_bytecode(names, frame);
		return wait_generated(names, frame);
	}
	/* Another file has its path now: no name is better than a wrong one. */
	if (!file || (file->fd < 0 && file->path[0] != '[')) {
		note_lost(names, module, file);
		return 0;
	}
	return ask_file(names, frame, file);
}

int frame_names_type(struct frame_names *names, uint64_t process, uint64_t number, uint64_t module,
		     uint64_t place)
{
	const struct file *file = files_by_module(names->files, module);
	const struct symbol_frame type = {.frame = number,
					  .process = process,
					  .space = SYMBOL_TYPE,
					  .owner = module,
					  .place = place,
					  .user = file ? file->payer : 0};
	int err = need_symbolizer(names);

	return err || !file || file->fd < 0 ? err : ask_file(names, &type, file);
}

static int name_kernel(struct frame_names *names, uint64_t frame, uint64_t address)
{
	const struct symbol symbol = {
		.name = names->session && address ? session_kernel_name(names->session, address)
						  : NULL,
	};

	return write_symbols(names, frame, &symbol, symbol.name != NULL);
}

static void visit_frame(void *context, const struct intern_frame *definition)
{
	struct frame_names *names = context;
	struct symbol_frame frame = {.frame = definition->id, .space = SYMBOL_FILE};

	if (names->err)
		return;
	frame.place = definition->place;
	frame.time = names->now;
	names->err = definition->kind == RECORD_kernel_frame
			     ? name_kernel(names, definition->id, definition->place)
			     : ask_native(names, &frame, definition->module);
}

static int ask_all(struct frame_names *names, bool last)
{
	int err = need_symbolizer(names);

	if (err)
		return err;
	names->now = clock_now();
	names->err = 0;
	profile_writer_each_frame(names->writer, visit_frame, names);
	err = names->err ? names->err : write_remote(names);
	return err || (!last && !readers_rested(names)) ? err : ask_generated(names);
}

int frame_names_write(struct frame_names *names)
{
	int err = ask_all(names, false);

	return err ? err : symbolizer_turn(names->symbolizer);
}

int frame_names_turn(struct frame_names *names)
{
	int err = names->symbolizer ? remote_names_ask(names->remote, names->symbolizer, false) : 0;

	return !err && names->symbolizer ? symbolizer_turn(names->symbolizer) : err;
}

int frame_names_finish(struct frame_names *names, uint64_t ns)
{
	int err;

	/* Before and after: by then the /tmp of processes, and perf maps, have been opened. */
	opener_settle(opener_of(names), ns);
	err = ask_all(names, true);
	opener_settle(opener_of(names), ns);
	err = err ? err : names->err;
	err = err ? err : remote_names_ask(names->remote, names->symbolizer, true);
	err = err ? err : symbolizer_finish(names->symbolizer, ns);
	err = err ? err : write_remote(names);
	names->nameless += names->remote_frames.size / sizeof(struct symbol_frame);
	return err;
}

bool frame_names_are_written(const struct frame_names *names)
{
	return !names->symbolizer || symbolizer_is_done(names->symbolizer);
}

uint64_t frame_names_unread(const struct frame_names *names)
{
	return names->lost + (names->symbolizer ? symbolizer_unread(names->symbolizer) : 0);
}

uint64_t frame_names_nameless(const struct frame_names *names)
{
	return names->nameless;
}

uint64_t frame_names_unnamed(const struct frame_names *names)
{
	return names->unnamed;
}
