/* SPDX-License-Identifier: BSD-2-Clause */
/* stuck.c: a program that sees a file whose server never answers: stuck FOLDER COMMAND... */
/*
 * The file is FOLDER/file, in a FUSE of its own, in a mount namespace of its own, and its server a
 * child: when the program ends, all of it is gone, and who waits for it goes on. So does who waits
 * longer than END_S: a recorder that hangs while it removes probes keeps all of the machine from
 * starting processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES 65536
#define END_S 40
#define INODE 2 /* of the only file */

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	perror(what);
	exit(1);
}

static void answer(int fuse, uint64_t unique, int err, const void *data, size_t size)
{
	struct {
		struct fuse_out_header head;
		char data[256];
	} out = {.head = {(uint32_t)(sizeof(out.head) + size), -err, unique}};

	memcpy(out.data, data, size);
	if (write(fuse, &out, out.head.len) < 0 && errno != ENOENT)
		exit(1);
}

static struct fuse_attr attributes(uint64_t inode)
{
	return (struct fuse_attr){
		.ino = inode,
		.size = BYTES,
		.mode = inode == INODE ? S_IFREG | 0755 : S_IFDIR | 0755,
		.nlink = 1,
	};
}

static void serve_one(int fuse, const struct fuse_in_header *in)
{
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
				     .minor = FUSE_KERNEL_MINOR_VERSION,
				     .max_write = 4096};
	struct fuse_entry_out entry = {
		.nodeid = INODE, .entry_valid = 60, .attr_valid = 60, .attr = attributes(INODE)};
	struct fuse_attr_out attr = {.attr_valid = 60, .attr = attributes(in->nodeid)};
	struct fuse_open_out file = {.fh = 1, .open_flags = FOPEN_KEEP_CACHE};

	switch (in->opcode) {
	case FUSE_INIT:
		answer(fuse, in->unique, 0, &init, sizeof(init));
		return;
	case FUSE_LOOKUP:
		answer(fuse, in->unique, 0, &entry, sizeof(entry));
		return;
	case FUSE_GETATTR:
		answer(fuse, in->unique, 0, &attr, sizeof(attr));
		return;
	case FUSE_OPEN:
		answer(fuse, in->unique, 0, &file, sizeof(file));
		return;
	case FUSE_READ:
	case FUSE_INTERRUPT:
	case FUSE_FORGET:
		return; /* that is the point */
	default:
		answer(fuse, in->unique, ENOSYS, NULL, 0);
	}
}

static _Noreturn void serve(int fuse)
{
	static char request[1 << 17] __attribute__((aligned(8)));

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(END_S);
	while (read(fuse, request, sizeof(request)) > 0)
		serve_one(fuse, (const struct fuse_in_header *)request);
	exit(1);
}

static void mount_at(const char *folder)
{
	char options[128];
	int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	pid_t server;

	must(fuse >= 0, "/dev/fuse");
	must(unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0,
	     "unshare");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 fuse);
	must(mount("stuck", folder, "fuse.stuck", MS_NOSUID | MS_NODEV, options) == 0, "mount");
	server = fork();
	must(server >= 0, "fork");
	if (!server)
		serve(fuse);
	close(fuse);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	mount_at(argv[1]);
	execvp(argv[2], argv + 2);
	must(false, argv[2]);
}
