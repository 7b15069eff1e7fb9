/* SPDX-License-Identifier: BSD-2-Clause */
/* call_kinds.c: what a thread in a system call waits for, and whether that is idleness. */
/*
 * A thread that reads from a connection which its process accepted waits for a client to ask: it is
 * idle. If the process made the connection, the thread waits for an answer. Descriptors tell, where
 * arguments are recorded; else what the process did at all.
 */
#include "call_kinds.h"

#include <errno.h>
#include <string.h>

#include "../../util/map.h"
#include "../model.h"
#include "../world/syscall_text.h"
#include "patterns.h"

/* What was done with a descriptor: bits. */
enum { WAY_IN = 1, WAY_OUT = 2 };

/* What a process did: bits. */
enum { DID_CONNECT = 1, DID_ACCEPT = 2, DID_START = 4 };

struct end_key {
	uint64_t process, descriptor;
};

int call_kinds_init(struct call_kinds *kinds)
{
	*kinds = (struct call_kinds){.did = map_create(sizeof(uint64_t)),
				     .ends = map_create(sizeof(struct end_key)),
				     .ways = map_create(sizeof(struct end_key))};
	return kinds->did && kinds->ends && kinds->ways ? 0 : -ENOMEM;
}

void call_kinds_free(struct call_kinds *kinds)
{
	map_free(kinds->did);
	map_free(kinds->ends);
	map_free(kinds->ways);
}

static int note_did(struct call_kinds *kinds, uint64_t process, unsigned did)
{
	uint64_t *bits = map_put(kinds->did, &process, NULL);

	if (!bits)
		return -ENOMEM;
	*bits |= did;
	return END_UNKNOWN;
}

static int note_end(struct call_kinds *kinds, uint64_t process, int64_t descriptor,
		    enum far_end end)
{
	struct end_key key = {process, (uint64_t)descriptor};
	uint64_t *value = descriptor >= 0 ? map_put(kinds->ends, &key, NULL) : NULL;

	if (descriptor >= 0 && !value)
		return -ENOMEM;
	if (value)
		*value = end;
	return END_UNKNOWN;
}

static int end_of(const struct call_kinds *kinds, uint64_t process, uint64_t descriptor)
{
	struct end_key key = {process, descriptor};
	const uint64_t *value = map_get(kinds->ends, &key);

	return value ? (int)*value : END_UNKNOWN;
}

static enum call_deed deed_of(struct call_kinds *kinds, const struct model *model, uint64_t number)
{
	const char *machine = model->run.machine;

	if (number >= CALL_NUMBERS)
		return DEED_NONE;
	if (!kinds->calls[number])
		kinds->calls[number] =
			system_call_find(syscall_name(machine ? machine : "x86_64", number));
	return kinds->calls[number]->deed;
}

int call_kinds_total(struct call_kinds *kinds, const struct model *model, uint64_t process,
		     uint64_t number)
{
	switch (deed_of(kinds, model, number)) {
	case DEED_CONNECT:
		return note_did(kinds, process, DID_CONNECT);
	case DEED_ACCEPT:
		return note_did(kinds, process, DID_ACCEPT);
	case DEED_START:
		return note_did(kinds, process, DID_START);
	default:
		return 0;
	}
}

bool call_kinds_waits(struct call_kinds *kinds, const struct model *model, uint64_t number)
{
	return deed_of(kinds, model, number) == DEED_WAIT;
}

int call_kinds_note(struct call_kinds *kinds, const struct model *model, uint64_t process,
		    const struct record_syscall *record)
{
	int err = call_kinds_total(kinds, model, process, record->number);

	if (err || record->flags & SYSCALL_COMPAT)
		return err;
	switch (deed_of(kinds, model, record->number)) {
	case DEED_CONNECT:
		return note_end(kinds, process, (int64_t)record->arg0, END_SERVER);
	case DEED_ACCEPT:
		return note_end(kinds, process, record->result, END_CLIENT);
	case DEED_OPEN:
		return note_end(kinds, process, record->result, END_UNKNOWN);
	case DEED_READ:
		return end_of(kinds, process, record->arg0);
	default:
		return END_UNKNOWN;
	}
}

int call_kinds_message(struct call_kinds *kinds, const struct model *model, uint64_t process,
		       const struct record_syscall *record)
{
	enum call_deed deed = deed_of(kinds, model, record->number);
	bool moves = deed == DEED_READ || deed == DEED_WRITE;
	struct end_key key = {process, moves ? record->arg0 : (uint64_t)record->result};
	uint64_t *ways;

	if (record->flags & SYSCALL_COMPAT || record->result < 0 ||
	    (!moves && deed != DEED_OPEN && deed != DEED_ACCEPT))
		return 0;
	ways = map_put(kinds->ways, &key, NULL);
	if (!ways)
		return -ENOMEM;
	if (!moves)
		*ways = 0;
	else
		*ways |= deed == DEED_READ ? WAY_IN : WAY_OUT;
	return moves && *ways == (WAY_IN | WAY_OUT);
}

enum call_class call_kinds_class(const struct call_kinds *kinds, uint64_t process, const char *name,
				 enum far_end end, unsigned files, const struct pattern *pattern)
{
	enum call_class class = system_call_find(name)->class;
	enum pattern_class below = pattern ? pattern->class : PATTERN_NONE;
	const uint64_t *bits = map_get(kinds->did, &process);
	uint64_t did = bits ? *bits : 0;
	bool client = did & DID_CONNECT && !(did & DID_ACCEPT);

	if (below == PATTERN_QUERY && class != CALL_FUTEX && class != CALL_OTHER)
		return class == CALL_DISK ? CALL_DISK : CALL_PEER;
	if (class == CALL_IDLE)
		return end == END_SERVER || (below == PATTERN_PEER && client) ? CALL_PEER
									      : CALL_IDLE;
	if (class != CALL_PEER && class != CALL_PIPE)
		return class;
	if (files == 1 << WAIT_DISK_FILE)
		return CALL_DISK;
	if (end != END_UNKNOWN)
		return end == END_SERVER ? CALL_PEER : CALL_IDLE;
	if (class == CALL_PEER)
		return strcmp(name, "connect") == 0 || client ? CALL_PEER : CALL_IDLE;
	if (did & DID_START)
		return CALL_PIPE;
	return client ? CALL_PEER : CALL_IDLE;
}
