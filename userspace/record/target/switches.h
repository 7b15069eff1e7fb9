/* SPDX-License-Identifier: BSD-2-Clause */
/* switches.h: enables runtimes' samplers, by writing to variables of their programs. */
/*
 * Writes through the opener, as the runtime's table says (runtimes/runtime.h: struct
 * runtime_write), only where the variable has the value named there, and restores it at the end.
 * Takes over a value left by a killed recorder, and restores that as well. Raises the period of a
 * process that exceeds the ceiling, and lowers it again. Not thread-safe.
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
	/* Not NULL: nothing is written; a warning says what is missing and names this option, which
	 * forbids it. */
	const char *forbidden;
	uint64_t period;  /* mean bytes between samples; 0: the runtime's default */
	uint64_t ceiling; /* samples per second and process; 0: none */
};

/* `opener` is borrowed. -ENOMEM. */
int switches_create(struct opener *opener, const struct switches_options *options,
		    struct switches **out);

/* Changes the ceiling. */
void switches_ceiling(struct switches *switches, uint64_t ceiling);

/* The period that fits the ceiling (not 0), if `period` gave `rate` samples a second: doubled as
 * often as needed, or halved, but at least `base`. */
uint64_t switches_period(uint64_t period, uint64_t base, double rate, double ceiling);

/* May anything be written? */
bool switches_write(const struct switches *switches);

/* A recorded process of `user` mapped a file just now: writes what its program reads only once.
 * Does not wait. */
void switches_mapping(struct switches *switches, const struct file *file,
		      const struct event_mmap *event, uint32_t user);

/* The file is attached. Does not wait. */
void switches_mapped(struct switches *switches, const struct file *file,
		     const struct event_mmap *event, uint32_t user);

/* Has this process (pid in /proc) a sampler with such variables? */
bool switches_know(const struct switches *switches, uint32_t pid);

/* Does this file's program have variables that it reads at start? */
bool switches_at_start(const struct file *file);

/* Writes those of a process that is stopped before its first instruction. Waits. */
void switches_start(struct switches *switches, struct files *files, uint32_t proc_pid);

/* Checks programs again that had not set their variables yet, and values that another recorder may
 * have restored; sets periods by the number of samples. */
void switches_turn(struct switches *switches, const struct processes *processes);

/* `ms`, or less if a check is due sooner. */
int switches_timeout(const struct switches *switches, int ms);

/* Restores everything, waits for that for a limited time, and frees. NULL is allowed. */
void switches_free(struct switches *switches);

#endif
