/* SPDX-License-Identifier: BSD-2-Clause */
/* waits.h: time off the CPU by cause and by thread, who ended waits, and page faults. */
#ifndef GCPROF_MODEL_WAITS_H
#define GCPROF_MODEL_WAITS_H

#include <stddef.h>

#include "../../profile/record.h"
#include "../event.h"

struct map;
struct world;
struct wait_sum;

struct waits {
	struct wait_sum *items; /* number 0 is none */
	size_t count, capacity;
	struct map *index; /* {reason, call number} -> index */
};

int waits_init(struct waits *waits);
void waits_free(struct waits *waits);

/* Each: 0, -EBADMSG, -ENOMEM. */
int waits_record(struct waits *waits, struct world *world, const struct event *event);
int waits_usage(struct world *world, const struct record_usage *record);

/*
 * A thread's waits for one reason that no record covers, as a record of 0 ns that holds them: short
 * ones after the last record, mostly. It holds none if waits were not counted, if a filter is in
 * use, or before the thread's usage record was read.
 */
struct record_wait waits_unrecorded(const struct world *world, const struct record_usage *usage,
				    unsigned reason);

/*
 * Fills the model's rows. Needs the rows of system calls, whose totals take precedence. Waits
 * that cannot be assigned to a call get a row of their own.
 */
int waits_finish(struct waits *waits, struct world *world);

/* Threads that ended other threads' waits for a futex, as lock holders do. */

struct waker;

struct wakers {
	struct waker *items;
	size_t count, capacity;
	struct map *index; /* thread -> index of its item plus 1 */
};

int wakers_init(struct wakers *wakers);
void wakers_free(struct wakers *wakers);

/* Adds a selected wait. 0 or -ENOMEM. */
int wakers_record(struct wakers *wakers, const struct world *world,
		  const struct record_wait *record);

/* Fills the model's rows, longest total wait first. 0 or -ENOMEM. */
int wakers_finish(const struct wakers *wakers, struct world *world);

/* Page faults, by stack and by the thread's phase. */

/* 0, -EBADMSG, -ENOMEM. */
int faults_record(struct world *world, const struct event *event);

/*
 * A thread's faults after its last fault record, as a record without stack and address. It counts
 * none if faults were not recorded, if a filter is in use, or before the thread's usage record
 * was read.
 */
struct record_fault faults_unrecorded(const struct world *world, const struct record_usage *usage);

/* Adds these faults to the sums. */
void faults_usage(struct world *world, const struct record_usage *usage);

#endif
