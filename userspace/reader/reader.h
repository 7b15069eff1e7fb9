/* SPDX-License-Identifier: BSD-2-Clause */
/* reader.h: the confined process that parses untrusted files. */
#ifndef GCPROF_READER_READER_H
#define GCPROF_READER_READER_H

/* Drops all rights, then answers requests on WORKER_SOCKET until it is closed. Returns an exit
 * status. */
int reader_main(void);

#endif
