/* SPDX-License-Identifier: BSD-2-Clause */
/* probe_links.h: which files with probes are attached to which processes. */
/* The processes of one user other than root may have a quarter of the links. Users take turns: one
 * whose programs fork without end keeps no others waiting. */
#ifndef GCPROF_PROBE_LINKS_H
#define GCPROF_PROBE_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBE_LINKS_MAX 8192
#define LINKS_NONE      PROBE_LINKS_MAX

enum link_state {
	LINK_FREE,
	LINK_WAITS, /* to be attached */
	LINK_HOLDS, /* attached */
	LINK_ENDS,  /* to be removed, or forgotten if it still waited */
	LINK_LOST,  /* its process was gone: children that it made before have the file, too */
};

struct file;

struct probe_link {
	enum link_state state;
	uint32_t first;    /* the file, by its first place */
	uint32_t process;  /* index; 0: every process */
	uint32_t pid;      /* of the process, as in /proc here */
	uint32_t thread;   /* of the process, to which the kernel binds it; 0: none yet */
	uint32_t next;     /* of the process, plus one; 0: the last */
	uint32_t tries;    /* that failed */
	uint64_t user;     /* who started the process */
	uint64_t from;     /* as in its target */
	uint64_t since;    /* attached, ns; 0: not yet */
	uint64_t mapped;   /* the file, as far as known, ns; UINT64_MAX: it will be */
	uint64_t try_at;   /* ns */
	struct file *file; /* which is kept until it is attached; or NULL */
};

struct probe_links;

/* -ENOMEM. */
int probe_links_create(struct probe_links **out);
void probe_links_free(struct probe_links *links); /* NULL is allowed */

/* From now on counts the links of each file that are attached, in PROBE_PLACES_MAX numbers. Before
 * the first one is added. */
void probe_links_count(struct probe_links *links, volatile uint16_t *held);

/* Are there any? */
bool probe_links_any(const struct probe_links *links);

/* The number of a link of a file and a process that waits or holds; LINKS_NONE: there is none. */
uint32_t probe_links_find(const struct probe_links *links, uint32_t process, uint32_t first);

/* Adds one that waits. -EUSERS: too many; -ENOMEM. */
int probe_links_add(struct probe_links *links, const struct probe_link *link);

struct probe_link *probe_links_at(struct probe_links *links, uint32_t number);

/* The first link of a process, and the one after another; LINKS_NONE: no more. */
uint32_t probe_links_of(const struct probe_links *links, uint32_t process);
uint32_t probe_links_after(const struct probe_links *links, uint32_t number);

/* Takes one of those that wait and may be tried `now`; LINKS_NONE: none. */
uint32_t probe_links_next(struct probe_links *links, uint64_t now);

/* Do any wait? */
bool probe_links_wait(const struct probe_links *links);

/* The one that was taken: it waits again, until `ns`; it holds; it failed, and is forgotten; or it
 * was lost, and is kept until it ends. */
void probe_links_retry(struct probe_links *links, uint32_t number, uint64_t ns);
void probe_links_hold(struct probe_links *links, uint32_t number, uint64_t now);
void probe_links_fail(struct probe_links *links, uint32_t number);
void probe_links_lose(struct probe_links *links, uint32_t number);

/* A link that waits, holds or is taken is not needed any more. */
void probe_links_end(struct probe_links *links, uint32_t number);

/* Links to be removed; of these, the first `n` were. */
const uint32_t *probe_links_ending(const struct probe_links *links, size_t *n);
void probe_links_removed(struct probe_links *links, size_t n);

#endif
