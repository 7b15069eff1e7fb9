/* SPDX-License-Identifier: BSD-2-Clause */
/* client.h: asks a reader for names of functions and takes its answer. */
#ifndef GCPROF_READER_CLIENT_H
#define GCPROF_READER_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "names.h"
#include "worker.h"
#include "../util/file_stamp.h"

#define NAMES_CPU_NS  UINT64_C(5000000000)  /* per request: DWARF alone may take three seconds */
#define NAMES_WALL_NS UINT64_C(15000000000) /* for busy machines */

/* A file that contains places. Everything is borrowed. */
struct names_file {
	uint64_t owner;   /* its number in the reader, see struct names_request */
	const char *path; /* NULL: none */
	const unsigned char *build_id;
	size_t build_id_size;           /* at most BUILD_ID_MAX */
	const struct file_stamp *stamp; /* of the file; NULL: unknown */
	uid_t user;                     /* who chose the path; (uid_t)-1: unknown */
};

/* A request. */
struct names_message {
	struct names_request head;
	struct name_place places[NAMES_BATCH];
};

/* Fills in the file; the caller adds the places. */
void names_message_begin(struct names_message *message, const struct names_file *file);

/* Starts the request; the caller has set its kind, descriptors and limits. A negative errno, see
 * worker_start(). */
int names_start(struct worker *worker, struct worker_order *order,
		const struct names_message *message);

/* The debug file that a reader asks for; false if the question is malformed. */
bool names_wanted(const struct worker_answer *question, struct debug_wanted *out);

/* Did the reader fail on the request, as opposed to answering that it cannot? */
bool names_is_failure(int err);

/*
 * Explains why functions of a file have no names, by a negative errno. Prints a warning if the
 * reader failed or refuses names (-ENAMETOOLONG), or if the recorded file cannot be identified
 * (-ENODATA).
 */
void names_explain(const char *path, int err);

/* The rest of an answer. */
struct names_left {
	const char *at;
	size_t size;
	char texts[SYMBOLS_MAX][2][NAMES_TEXT_MAX + 1];
};

/*
 * The names of the next place, outermost first: their number, or -EBADMSG. Texts are
 * zero-terminated and stay valid until the next call.
 */
int names_take(struct names_left *left, struct symbol out[SYMBOLS_MAX]);

/* --- blocking client ------------------------------------------------------------------------ */

/* A reader of files, with a time limit for all of them together. Not thread-safe. */
struct names_client;

int names_client_create(struct names_client **out);  /* -ENOMEM */
void names_client_free(struct names_client *client); /* NULL is allowed */

/* Receives the names of places[place], outermost first. Texts are valid during the call. */
typedef int names_found(void *context, size_t place, const struct symbol *symbols, size_t n);

/*
 * Opens the file and its debug files with the rights of this process, and waits for the names of
 * all places in it. A file stays without names, with a message, if it is unreadable, exceeds its
 * reader's limits or comes after the time limit. Assigns the file's number itself. Returns the
 * first non-zero result of `found`.
 */
int names_client_ask(struct names_client *client, const struct names_file *file,
		     const struct name_place *places, size_t n, names_found *found, void *context);

#endif
