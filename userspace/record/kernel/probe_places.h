/* SPDX-License-Identifier: BSD-2-Clause */
/* probe_places.h: files with probes, and their places in the kernel side's table. */
/*
 * There are PROBE_PLACES_MAX places. A file's are consecutive, and the first stands for the file;
 * their numbers are the cookies of its probes. The files of one user other than root may take a
 * quarter.
 */
#ifndef GCPROF_PROBE_PLACES_H
#define GCPROF_PROBE_PLACES_H

#include <stdbool.h>

#include "../../../bpf/events.h"
#include "../world/file.h"
#include "../../reader/probes.h"
#include "../world/processes.h"
#include "attacher.h"
#include "restore.h"

#define PLACES_NONE PROBE_PLACES_MAX

/* A file with probes. */
struct probed {
	uint32_t count;  /* of its places; 0: unused */
	uint32_t id;     /* of the file when it was mapped last */
	uint64_t latest; /* when a process mapped it last, ns */
	uint64_t user;   /* owner */
	struct file_key key;
	uint8_t provider;
	bool counted;                /* attached at least once */
	bool leaves;                 /* its probes are being removed */
	int fd;                      /* of the file */
	struct attacher_site *sites; /* `count` of them */
	uint8_t *probes;             /* what they count as: enum probe_number, or PROBES */
};

struct probe_places;

/* -ENOMEM. */
int probe_places_create(struct probe_places **out);
void probe_places_free(struct probe_places *places); /* NULL is allowed */

/* The descriptor of the kernel side's table. */
void probe_places_begin(struct probe_places *places, int table);

/* The first place of this file; PLACES_NONE: it has none yet. */
uint32_t probe_places_find(const struct probe_places *places, const struct file *file);

/* Gives a file its places; *first is the first one. -E2BIG: too many for the remaining room. */
int probe_places_take(struct probe_places *places, struct file *file, uint32_t *first);

/* The file with this first place. */
struct probed *probe_places_at(struct probe_places *places, uint32_t first);

/* The file was attached to a process. */
void probe_places_attached(struct probe_places *places, uint32_t first);

/* Probes that are being removed may still fire: from now on they report nothing. */
void probe_places_silence(const struct probe_places *places, uint32_t first);

/* Frees the places of a file whose probes are removed. */
void probe_places_leave(struct probe_places *places, uint32_t first);

struct code_range {
	uint64_t start, end;
};

/* Has a mapping any of the file's sites? */
bool probed_is_in(const struct probed *file, const struct event_mmap *event);

/* Adds the sites of a file within a range of addresses; `shift` leads from offset to address. */
void probed_add(const struct probed *file, uint64_t shift, const struct code_range *range,
		struct restore_request *request);

/* Sites of one probe in all files that were attached. */
unsigned probe_places_sites(const struct probe_places *places, enum probe_number probe);

#endif
