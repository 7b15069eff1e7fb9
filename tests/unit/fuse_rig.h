/* SPDX-License-Identifier: BSD-2-Clause */
/* fuse_rig.h: a file system that does not answer. */
/*
 * It has the regular files "file", which can be opened, but not read, and "silent", which cannot
 * even be opened; looking up "deep" or "tmp" has no answer either. It runs in a process of its own.
 */
#ifndef GCPROF_FUSE_RIG_H
#define GCPROF_FUSE_RIG_H

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

struct fuse_rig {
	char path[64];
	pid_t server;
};

enum { FUSE_RIG_FILE = 2, FUSE_RIG_SILENT = 3 };

static struct fuse_attr fuse_rig_attr(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0755,
		.size = 4096,
		.nlink = 1,
		.blksize = 4096,
	};
}

static void fuse_rig_reply(int fd, uint64_t unique, int err, const void *data, size_t size)
{
	struct {
		struct fuse_out_header head;
		char data[256];
	} answer = {.head = {.unique = unique, .error = err}};

	answer.head.len = (uint32_t)(sizeof(answer.head) + (err ? 0 : size));
	if (!err && data)
		memcpy(answer.data, data, size);
	if (write(fd, &answer, answer.head.len) < 0)
		return;
}

static void fuse_rig_lookup(int fd, uint64_t unique, const char *name)
{
	uint64_t node = strcmp(name, "file") == 0     ? FUSE_RIG_FILE
			: strcmp(name, "silent") == 0 ? FUSE_RIG_SILENT
						      : 0;
	struct fuse_entry_out entry = {.nodeid = node,
				       .entry_valid = 3600,
				       .attr_valid = 3600,
				       .attr = fuse_rig_attr(node)};

	if (strcmp(name, "deep") != 0 && strcmp(name, "tmp") != 0)
		fuse_rig_reply(fd, unique, node ? 0 : -ENOENT, &entry, sizeof(entry));
}

static void fuse_rig_answer(int fd, const struct fuse_in_header *request)
{
	const struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
					   .minor = 31,
					   .max_readahead = 4096,
					   .max_write = 4096};
	const struct fuse_attr_out attr = {.attr_valid = 3600,
					   .attr = fuse_rig_attr(request->nodeid)};
	const struct fuse_open_out opened = {.fh = 1};

	switch (request->opcode) {
	case FUSE_INIT:
		fuse_rig_reply(fd, request->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		fuse_rig_lookup(fd, request->unique, (const char *)(request + 1));
		break;
	case FUSE_GETATTR:
		fuse_rig_reply(fd, request->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		if (request->nodeid != FUSE_RIG_SILENT)
			fuse_rig_reply(fd, request->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		fuse_rig_reply(fd, request->unique, -ENOSYS, NULL, 0);
	}
}

static _Noreturn void fuse_rig_serve(int fd)
{
	static _Alignas(8) char request[FUSE_MIN_READ_BUFFER + 4096];

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	while (read(fd, request, sizeof(request)) > 0)
		fuse_rig_answer(fd, (const void *)request);
	_exit(0);
}

/* Mounts it at `path`, which must be an empty folder; skips the test where that is not possible. */
static struct fuse_rig fuse_rig_begin(const char *path)
{
	struct fuse_rig rig = {.server = 0};
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[64];

	snprintf(rig.path, sizeof(rig.path), "%s", path);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 fd);
	/* What is mounted goes with the test, however that ends. */
	if (fd < 0 || unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("silent", path, "fuse", MS_NOSUID | MS_NODEV, options))
		test_skip("no FUSE here");
	rig.server = fork();
	CHECK(rig.server >= 0);
	if (rig.server == 0)
		fuse_rig_serve(fd);
	close(fd);
	return rig;
}

/* Whoever waits for it gets an error. */
static void fuse_rig_end(struct fuse_rig *rig)
{
	kill(rig->server, SIGKILL);
	CHECK_EQ(waitpid(rig->server, NULL, 0), rig->server);
	CHECK_EQ(umount2(rig->path, MNT_DETACH), 0);
}

#endif
