/* SPDX-License-Identifier: BSD-2-Clause */
/* file.h: a file that traced processes have mapped (files.h). */
#ifndef GCPROF_FILE_H
#define GCPROF_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "../../reader/facts.h"

/* The id of the kernel's code page, [vdso], which has no file. */
#define FILE_VDSO 1

#define USER_SEVERAL (UINT32_MAX - 1) /* instead of a user */

enum file_state {
	FILE_READING, /* waiting for its facts */
	FILE_KNOWN,
	FILE_FAILED, /* it could not be opened or read */
};

/* The kernel's identification of a file. For code in no file, `inode` is the process, or the string
 * that names it. */
struct file_key {
	uint64_t device, inode;
};

struct file {
	uint32_t id; /* never reused */
	struct file_key key;
	enum file_state state;
	int fd;                   /* -1: not open */
	int debug_fd;             /* possible debug file, as seen by its process; -1: none known */
	uid_t user;               /* its owner, as its file system says */
	uint32_t mapper;          /* the user whose process mapped it first */
	uint32_t payer;           /* for whom it counts: that user, or USER_SEVERAL */
	bool is_shared;           /* may contain data of users other than its owner */
	uint32_t filesystem;      /* statfs.f_type; 0: unknown */
	char *path;               /* path of its first mapping */
	struct file_facts facts;  /* if FILE_KNOWN */
	struct probe_site *sites; /* facts.n_sites entries */
	uint64_t module;          /* id in the profile; 0: none yet */
	uint64_t process;         /* whose generated code this entry stands for; 0: none */
	bool refused;             /* its probes cannot be attached, and a message said so */
	uint32_t attaching;       /* processes to which it is being attached: it stays meanwhile */
	uint8_t provider;         /* number in its events; 0: none */
};

/* A file as another thread gets it. */
struct file_opened {
	int fd;
	uint32_t payer;
	char *path;
};

/* Is it an ELF file? */
static inline bool file_is_program(const struct file *file)
{
	return file->state == FILE_KNOWN && file->facts.build_id_size >= 0;
}

#endif
