/* SPDX-License-Identifier: BSD-2-Clause */
/* rate.h: the sampling period in force, and the ceiling on samples. */
#ifndef GCPROF_PROVIDER_RATE_H
#define GCPROF_PROVIDER_RATE_H

#include <stdbool.h>
#include <stdint.h>

struct gcprof_provider;
struct gcprof_thread;

/* Bytes to the next hit, at least 1, with a mean of `period`. */
uint64_t rate_draw(struct gcprof_thread *thread, uint64_t period);

/* The first thread samples, and no thread does. Either may be called again. */
void rate_start(struct gcprof_provider *provider);
void rate_stop(struct gcprof_provider *provider);

/* In slow paths while sampling is on: adopts a recorder's new request. */
void rate_poll(struct gcprof_provider *provider);

/* Periodically: lowers a period that was raised so far that no sample is taken. */
void rate_check(struct gcprof_provider *provider);
bool rate_is_raised(const struct gcprof_provider *provider);

/* Counts a sample, and raises the period if there are too many. */
void rate_count(struct gcprof_provider *provider);

/* The factor, 1 to 16, by which a recorder asks for fewer samples than the ceiling, that is, for
 * less disturbance of the program. */
uint64_t rate_thrift(const struct gcprof_provider *provider);

/* Maximum time that a sample waits in a batch while its thread polls, ns. */
uint64_t rate_waiting_max(const struct gcprof_provider *provider);

#endif
