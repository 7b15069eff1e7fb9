/* SPDX-License-Identifier: BSD-2-Clause */
/* commands.h: the commands; each is defined in its cmd_*.c. */
#ifndef GCPROF_COMMANDS_H
#define GCPROF_COMMANDS_H

#include "../util/options.h"

extern const struct command cmd_record;
extern const struct command cmd_snapshot;
extern const struct command cmd_pause;
extern const struct command cmd_resume;
extern const struct command cmd_report;
extern const struct command cmd_diff;
extern const struct command cmd_export;
extern const struct command cmd_query;
extern const struct command cmd_import;
extern const struct command cmd_merge;
extern const struct command cmd_view;
extern const struct command cmd_top;
extern const struct command cmd_info;
extern const struct command cmd_dump;
extern const struct command cmd_push;
extern const struct command cmd_doctor;

#endif
