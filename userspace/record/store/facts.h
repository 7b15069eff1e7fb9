/* SPDX-License-Identifier: BSD-2-Clause */
/* facts.h: facts about the recording: machine, command, streams. */
#ifndef GCPROF_FACTS_H
#define GCPROF_FACTS_H

#include <sys/types.h>

#include "../../profile/writer.h"
#include "../machine/options.h"
#include "../kernel/session.h"

/* All return the writer's result; its flush reports failures anyway. */

/* The tool, the machine, the directory; and every way to lose data. */
int facts_put_machine(struct profile_writer *writer);
int facts_put_loss_kinds(struct profile_writer *writer);

/* What was attached to, as text. */
int facts_put_target(struct profile_writer *writer, const char *target);

/* How many processes the recorded ones had started before, which are not recorded. */
int facts_put_children(struct profile_writer *writer, size_t count);

/* The user of all recorded processes; USER_NONE: of several. */
int facts_put_user(struct profile_writer *writer, uint32_t user);

/* The words of the command, ended by NULL. */
int facts_put_arguments(struct profile_writer *writer, char *const *arguments);

int facts_put_recording(struct profile_writer *writer, const struct record_options *options,
			uint64_t start, uid_t user);

/* Which users had more than their share of the recorder (util/quota.h), as text; "": none. The fact
 * `left_out` says the same. */
#define REFUSED_TEXT 256
void facts_describe_refused(char out[REFUSED_TEXT]);
int facts_put_refused(struct profile_writer *writer);

/* The state of each stream. */
int facts_put_streams(struct profile_writer *writer, const struct session *session);

#endif
