/* SPDX-License-Identifier: BSD-2-Clause */
/* query.h: answers a question in SQL about a profile. */
#ifndef GCPROF_QUERY_H
#define GCPROF_QUERY_H

#include "../profile/reader.h"
#include "query_print.h"

struct sink;

struct query_request {
	const char *sql;  /* one statement that only reads */
	const char *file; /* what the profile is called */
	enum query_format format;
};

/* What came of it. */
struct query_result {
	char message[512]; /* what is wrong with the statement, empty: nothing */
	int offset;        /* where in it, bytes; below 0: not at one place */
	enum profile_state state;
	struct profile_status status;
};

/*
 * The statement is compiled first, and only the tables that it reads are made. Takes
 * over the source and the sink, also when it fails. Errors: -EINVAL for a statement
 * that makes no sense (with its message), -EPERM for one that does not only read, -EDOM
 * if it fails while it runs (with its message), those of model_load() and of the sink.
 */
int query_run(const struct query_request *request, struct source *source, struct sink *sink,
	      struct query_result *result);

/* The schema with its comments, for people; takes over the sink. */
int query_schema(struct sink *sink);

#endif
