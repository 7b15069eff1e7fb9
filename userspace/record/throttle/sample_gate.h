/* SPDX-License-Identifier: BSD-2-Clause */
/* sample_gate.h: lets programs take fewer allocation samples while a recording takes too much. */
#ifndef GCPROF_SAMPLE_GATE_H
#define GCPROF_SAMPLE_GATE_H

#include <stdint.h>

struct files;
struct processes;
struct sample_gate;

/* Both are borrowed. */
int sample_gate_create(struct files *files, const struct processes *processes,
		       struct sample_gate **out);

/*
 * A process, by its number where the recorder is, began to take samples: if fewer are
 * wanted it is asked for that, too. Nothing is said of those that cannot be asked.
 */
void sample_gate_meet(struct sample_gate *gate, uint32_t proc_pid);

#define SAMPLE_GATE_STEPS 4

/* Programs are asked for half as many samples at most for each step; 0: for what they do by
 * themselves. For savings.h: the context is the gate; always 0. */
int sample_gate_set(void *gate, unsigned step);

/* Samples a second and heap that programs are asked for at most; 0: what they do by themselves. */
uint64_t sample_gate_ceiling(const struct sample_gate *gate);

/* The fewest that they were asked for so far; 0: they never were. */
uint64_t sample_gate_least(const struct sample_gate *gate);

/* Programs do as they did before. NULL is allowed. */
void sample_gate_free(struct sample_gate *gate);

#endif
