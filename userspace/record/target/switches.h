/* SPDX-License-Identifier: BSD-2-Clause */
/* switches.h: switches on the samplers of runtimes, by writing to variables of their programs. */
/*
 * What a runtime's table says is written (runtimes/runtime.h: struct runtime_write) only where the
 * variable has the value that it names, through the opener, and put back at the end. A value that
 * a killed recorder left is taken over, and put back as well. Where a process takes more samples
 * than the ceiling allows, its period is raised, and lowered again. Not thread-safe.
 */
#ifndef GCPROF_SWITCHES_H
#define GCPROF_SWITCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "../world/files.h"
#include "../world/processes.h"
#include "../opener/opener.h"
#include "../../../bpf/events.h"

struct switches;

struct switches_options {
	/* Nothing is written, and a warning says what is missing for that; this names the option
	 * that forbids it. NULL: it is allowed. */
	const char *forbidden;
	uint64_t period;  /* mean bytes between samples; 0: the runtime's default */
	uint64_t ceiling; /* samples a second and process; 0: none */
};

/* `opener` is borrowed. -ENOMEM. */
int switches_create(struct opener *opener, const struct switches_options *options,
		    struct switches **out);

/* Another ceiling, from now on. */
void switches_ceiling(struct switches *switches, uint64_t ceiling);

/* The period that fits the ceiling (not 0) where `period` gave so many samples a second: by factors
 * of two, at least `base`. */
uint64_t switches_period(uint64_t period, uint64_t base, double rate, double ceiling);

/* A process has mapped a file, whose places are attached. Does not wait. */
void switches_mapped(struct switches *switches, const struct file *file,
		     const struct event_mmap *event);

/* Does a program of this file have variables that it reads as it starts? */
bool switches_at_start(const struct file *file);

/* Writes those of a process that is stopped before its first instruction. Waits. */
void switches_start(struct switches *switches, struct files *files, uint32_t proc_pid);

/* Looks again at programs that had not set their variables yet, and at what another recorder may
 * have put back; sets periods by the samples that processes have taken. */
void switches_turn(struct switches *switches, const struct processes *processes);

/* `ms`, or less if there is something to look at sooner. */
int switches_timeout(const struct switches *switches, int ms);

/* Puts everything back, waits for that, though not for ever, and frees. NULL is allowed. */
void switches_free(struct switches *switches);

#endif
