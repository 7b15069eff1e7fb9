/* SPDX-License-Identifier: BSD-2-Clause */
/* file.h: what is known of a file that traced processes have mapped (files.h). */
#ifndef GCPROF_FILE_H
#define GCPROF_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "../../reader/facts.h"

/* The id of the kernel's page of code, [vdso], which has no file. */
#define FILE_VDSO 1

/* In the place of when probes were attached. */
#define ATTACHING UINT64_MAX

enum file_state {
	FILE_READING, /* its facts are on their way */
	FILE_KNOWN,
	FILE_FAILED, /* it could not be opened or read */
};

struct file {
	uint32_t id; /* never used again */
	enum file_state state;
	int fd;       /* -1: it is not open */
	int debug_fd; /* what may be its debug file, as its process sees it; -1: none is known */
	uid_t user;
	bool is_shared;           /* what it holds may be of other users than its owner */
	uint32_t filesystem;      /* as statfs() calls its kind; 0: not known */
	char *path;               /* as it was mapped first */
	struct file_facts facts;  /* of FILE_KNOWN */
	struct probe_site *sites; /* facts.n_sites of them */
	uint64_t module;          /* its id in the profile; 0: none yet */
	uint64_t process;         /* whose generated code it stands for; 0: it does not */
	bool tried;               /* to attach its probes */
	uint64_t attached;        /* since when they are, CLOCK_MONOTONIC ns; 0: they are not;
				   * ATTACHING: it stays until they are */
	uint32_t first_place;     /* of its probes then (kernel/attach.h) */
	uint8_t provider;         /* its number in the events of its probes; 0: none */
};

/* What another thread gets of a file. */
struct file_opened {
	int fd;
	uid_t user;
	char *path;
};

/* Is it an ELF file? */
static inline bool file_is_program(const struct file *file)
{
	return file->state == FILE_KNOWN && file->facts.build_id_size >= 0;
}

#endif
