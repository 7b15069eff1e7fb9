/* SPDX-License-Identifier: BSD-2-Clause */
/* cycles.h: collections: their pauses, and which timer samples lie inside. */
#ifndef GCPROF_CYCLES_H
#define GCPROF_CYCLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../profile/record.h"
#include "durations.h"
#include "open_gcs.h"
#include "utilisation.h"

struct pass;
struct thread;

/* What a gc_end closed. */
struct closed_gc {
	bool paired;     /* the begin is known, and so is all of this */
	uint64_t thread; /* that began it */
	uint64_t begin;
	uint64_t pause_ns; /* without the collections inside it */
	uint64_t reason, name;
};

struct cycles {
	struct open_gcs open;
	struct durations minor, major;
	struct durations others; /* stops in which nothing was collected */
	struct durations stops;  /* of all */
	struct pause *pauses;
	size_t n_pauses, pauses_capacity;
	struct closed_gc last; /* of the latest gc_end */
};

void cycles_free(struct cycles *cycles);

int cycles_begin(struct pass *pass, const struct record_gc_begin *record);
int cycles_end(struct pass *pass, const struct record_gc_end *record);
int cycles_summary(struct pass *pass, const struct record_gc_summary *record);
int cycles_phase(struct pass *pass, const struct record_phase *record);

/* The thread goes on, or has ended: what it began before is over. */
void cycles_leave(struct pass *pass, uint64_t thread, uint64_t time);

/* A timer sample: is its thread collecting? Counts it in thread and model. */
int cycles_cpu(struct pass *pass, const struct record_cpu *record);

/*
 * Where in its collections a thread was at `time`: *begin of the innermost one, as cycles_cpu()
 * judges it; false: in none.
 */
bool cycles_find(const struct pass *pass, uint64_t thread, uint64_t time, uint64_t *begin);
/* Kind of the collection in which a thread was at that time, 0: none; of its process's latest. */
uint64_t cycles_kind(const struct pass *pass, uint64_t thread, uint64_t time);
uint64_t cycles_last_kind(const struct pass *pass, uint64_t thread);

/* Pauses into model->gc; collections still under way are counted as unpaired. */
void cycles_finish(struct pass *pass);

#endif
