// SPDX-License-Identifier: BSD-2-Clause
/* opener_files.c: opens the files that processes mapped, in the opener process. */
/*
 * A handle (O_PATH) comes first, since it touches neither devices nor pipes nor leases. It settles
 * what the file is, which is then opened if it is a regular file. The way through the process leads
 * to the very file that it mapped. The path is for processes that have ended; it contains no links,
 * because the kernel made it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "opener_process.h"
#include "../../util/proc_file.h"
#include "../../util/map.h"

#define HASHED_MAX (UINT64_C(256) << 20) /* bytes of a file: some 0.4 s */

static bool is_hung(uint64_t device, const struct opener_head *head)
{
	for (int i = 0; i < OPENER_HUNG_MAX; i++)
		if (head->hung[i] && head->hung[i] == device)
			return true;
	return false;
}

/* What the kernel knows about the handle without asking the file system. */
static int describe_handle(int handle, struct statx *out)
{
	return statx(handle, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, out)
		       ? -errno
		       : 0;
}

static int describe(int fd, struct opener_file *out)
{
	struct statfs system;
	struct stat st;

	if (fstat(fd, &st) || fstatfs(fd, &system))
		return -errno;
	*out = (struct opener_file){
		.device = st.st_dev,
		.inode = st.st_ino,
		.size = (uint64_t)st.st_size,
		.ctime_s = st.st_ctim.tv_sec,
		.ctime_ns = (uint32_t)st.st_ctim.tv_nsec,
		.mtime_s = st.st_mtim.tv_sec,
		.mtime_ns = (uint32_t)st.st_mtim.tv_nsec,
		.uid = st.st_uid,
		.mode = st.st_mode,
		.links = (uint32_t)st.st_nlink,
		.filesystem = (uint32_t)system.f_type,
	};
	return 0;
}

/*
 * Opens the file behind `handle` (O_PATH) for reading. A negative errno: -EINVAL if it is not a
 * regular file, -EWOULDBLOCK if it has a lease, -EHOSTDOWN if it is on a device where others hung.
 */
static int reopen(int handle, const struct opener_head *head, struct opener_file *out)
{
	char path[32];
	struct statx known;
	uint64_t device;
	int err = describe_handle(handle, &known), fd;

	if (err)
		return err;
	if (!S_ISREG(known.stx_mode))
		return -EINVAL;
	device = makedev(known.stx_dev_major, known.stx_dev_minor);
	if (is_hung(device, head))
		return -EHOSTDOWN;
	opener_announce(device);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", handle);
	/* O_NONBLOCK: does not even wait for a lease to be given up. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	err = describe(fd, out);
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* --- mappings ----------------------------------------------------------------------------- */

static bool is_mapped_file(int handle, const struct opener_mapped *wanted)
{
	struct statx known;

	if (describe_handle(handle, &known) || known.stx_ino != wanted->inode)
		return false;
	/* File systems without a device of their own (major 0) may report another one to stat(). */
	return wanted->major == 0 ||
	       (known.stx_dev_major == wanted->major && known.stx_dev_minor == wanted->minor);
}

/* A handle by the kernel's link to the mapping. */
static int find_mapping(const struct opener_mapped *wanted)
{
	uint32_t thread = proc_living_thread(wanted->pid);
	char path[96];
	int handle;

	/* A thread has no such folder under its process's number. Whatever is found is compared. */
	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", thread ? thread : wanted->pid,
		 (unsigned long long)wanted->start, (unsigned long long)wanted->end);
	handle = open(path, O_PATH | O_CLOEXEC);
	return handle < 0 ? -errno : handle;
}

static int open_root(uint32_t pid)
{
	return proc_shown_open(pid, "root", O_PATH | O_DIRECTORY);
}

static int find_below(int root, const char *path, uint64_t resolve)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_MAGICLINKS | resolve,
	};
	int handle = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	return handle < 0 ? -errno : handle;
}

/* A handle by the path as the process sees it. */
static int find_in_root(const struct opener_mapped *wanted, const char *path)
{
	int root = open_root(wanted->pid), handle;

	if (root < 0)
		return root;
	handle = find_below(root, path, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
	close(root);
	return handle;
}

static int find_way(int way, const struct opener_mapped *wanted, const char *path)
{
	switch (way) {
	case 0:
		return find_mapping(wanted);
	case 1:
		return find_in_root(wanted, path);
	default:
		return find_below(AT_FDCWD, path, RESOLVE_NO_SYMLINKS);
	}
}

enum { WAYS = 3 };

/* The first way that leads to the file. */
static int find_mapped(const struct opener_mapped *wanted, const char *path)
{
	int err = -ENOENT;

	for (int way = 0; way < WAYS; way++) {
		int handle = find_way(way, wanted, path);

		if (handle >= 0 && is_mapped_file(handle, wanted))
			return handle;
		if (handle >= 0)
			close(handle);
		err = handle >= 0 ? -ESTALE : err == -ESTALE ? err : handle;
	}
	return err;
}

/* Takes over the handle. */
static int finish(int handle, const struct opener_head *head, struct opener_file *out)
{
	int fd;

	if (handle < 0)
		return handle;
	fd = reopen(handle, head, out);
	close(handle);
	return fd;
}

int opener_open_mapped(const struct opener_head *head, const struct opener_mapped *wanted,
		       const char *path, struct opener_file *out)
{
	if (!wanted->inode || path[0] != '/')
		return -EINVAL;
	return finish(find_mapped(wanted, path), head, out);
}

/* --- others ------------------------------------------------------------------------------- */

int opener_open_theirs(const struct opener_head *head, const char *path, struct opener_file *out)
{
	int handle = open(path, O_PATH | O_CLOEXEC);

	return handle < 0 ? -errno : finish(handle, head, out);
}

/* Does it have another mount namespace, or another root in ours? */
static bool is_elsewhere(uint32_t pid, int root)
{
	char path[PROC_SHOWN_MAX], own[64] = "", other[64] = "";
	struct stat here, there;

	proc_shown(pid, "ns/mnt", path);
	if (readlink("/proc/self/ns/mnt", own, sizeof(own) - 1) < 0 ||
	    readlink(path, other, sizeof(other) - 1) < 0)
		return false;
	if (strcmp(own, other) != 0)
		return true;
	return !stat("/", &here) && !fstat(root, &there) &&
	       (here.st_dev != there.st_dev || here.st_ino != there.st_ino);
}

/*
 * A path as the process sees it: a handle, or -1 if it does not exist, or if the process sees the
 * same files as the recorder. Links in it lead nowhere outside.
 */
static int find_in_other_root(uint32_t pid, const char *path)
{
	int root = open_root(pid), handle = -1;

	if (root < 0)
		return -1;
	if (is_elsewhere(pid, root))
		handle = find_below(root, path, RESOLVE_IN_ROOT);
	close(root);
	return handle;
}

static int find_debug(const struct opener_debug *wanted, int program)
{
	char path[PATH_MAX];

	if (wanted->wanted.kind != DEBUG_IN_ROOT)
		return debug_find(program, &wanted->wanted);
	return debug_path(&wanted->wanted, path) ? find_in_other_root(wanted->pid, path) : -1;
}

int opener_open_debug(const struct opener_head *head, const struct opener_debug *wanted,
		      int program, struct opener_file *out)
{
	int handle;

	if (!memchr(wanted->wanted.name, '\0', sizeof(wanted->wanted.name)))
		return -EBADMSG;
	handle = find_debug(wanted, program);
	if (handle < 0)
		return -ENOENT;
	if (!debug_is_allowed(program, &wanted->wanted, handle)) {
		close(handle);
		return -EACCES;
	}
	return finish(handle, head, out);
}

int opener_open_map(const struct opener_head *head, const struct code_owner *owner,
		    struct opener_file *out)
{
	char path[CODE_OWNER_PATH];
	int fd = finish(code_owner_find_map(owner, path), head, out);

	if (fd < 0 || (out->links == 1 && code_owner_made(owner, out->uid, out->mtime_s)))
		return fd;
	close(fd);
	return -EPERM;
}

int opener_hash_file(const struct opener_head *head, const struct opener_hash *wanted, int fd,
		     struct opener_block *out)
{
	static char bytes[256 << 10];
	struct statx known;
	off_t at = 0;
	ssize_t size;
	int err = fd < 0 ? -EBADF : describe_handle(fd, &known);

	if (err)
		return err;
	if (!S_ISREG(known.stx_mode) || known.stx_size > HASHED_MAX)
		return -EFBIG;
	if (is_hung(makedev(known.stx_dev_major, known.stx_dev_minor), head))
		return -EHOSTDOWN;
	opener_announce(makedev(known.stx_dev_major, known.stx_dev_minor));
	out->before = wanted->seed[0];
	out->after = wanted->seed[1];
	for (; (size = pread(fd, bytes, sizeof(bytes), at)) > 0; at += size) {
		out->before = map_hash(out->before, bytes, (size_t)size);
		out->after = map_hash(out->after, bytes, (size_t)size);
	}
	return size < 0 ? -errno : (uint64_t)at == known.stx_size ? 0 : -ESTALE;
}
