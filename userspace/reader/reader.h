/* SPDX-License-Identifier: BSD-2-Clause */
/* reader.h: the confined process that parses what others made. */
#ifndef GCPROF_READER_READER_H
#define GCPROF_READER_READER_H

/* Gives up all rights, then answers requests on WORKER_SOCKET until it is closed: an exit status.
 */
int reader_main(void);

#endif
