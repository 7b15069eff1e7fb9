/* SPDX-License-Identifier: BSD-2-Clause */
/* attach_parts.h: private to attach*.c: what is attached. They include attach.h first. */
#ifndef GCPROF_ATTACH_PARTS_H
#define GCPROF_ATTACH_PARTS_H

#include <stdbool.h>

#include "../../util/buffer.h"
#include "attacher.h"
#include "obstacles.h"
#include "probe_links.h"
#include "../../../bpf/events.h"
#include "../world/file.h"
#include "../../reader/probes.h"
#include "../world/processes.h"

/*
 * There are PROBE_PLACES_MAX places. A file's are consecutive, and the first stands for the file;
 * their numbers are the cookies of its probes. The files of one user other than root may take a
 * quarter.
 */

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

/* Sites of one probe in all files that were attached. */
unsigned probe_places_sites(const struct probe_places *places, enum probe_number probe);

enum request {
	REQUEST_NONE,
	REQUEST_ATTACH,
	REQUEST_DETACH,
	REQUEST_SETTLE,
};

struct attach {
	int program;             /* descriptor */
	struct bpf_link *locked; /* an iterator over programs with locked memory maps */
	bool multi;
	struct worker *attacher;
	enum request request; /* in progress */
	uint32_t current;     /* the link that it attaches */
	struct obstacles obstacles;
	uint64_t deaths;
	uint64_t latest;
	struct probe_places *places;
	struct probe_links *links;
	size_t n_sent;                      /* links to be removed that are in the request */
	uint32_t leaving[PROBE_PLACES_MAX]; /* files to be forgotten, by first place */
	size_t n_leaving;
	bool stops;               /* programs that copy their code */
	int stopped[STOPPED_FDS]; /* for the attacher */
	bool copying;             /* programs do so: the attacher goes on after us */
};

static inline struct probe_link *link_at(const struct attach *attach, uint32_t number)
{
	return probe_links_at(attach->links, number);
}

/* Adds a link that waits. `file`: which is kept meanwhile; or NULL. */
int attach_add_link(struct attach *attach, const struct probe_target *target, uint32_t first,
		    struct file *file);

#endif
