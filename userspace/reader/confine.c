/* SPDX-License-Identifier: BSD-2-Clause */
/* confine.c: drops the rights of the process that reads untrusted files. */
/*
 * Libraries that parse ELF and DWARF have bugs, and the author of a program chooses their input.
 * This process can therefore only read the descriptors passed to it, compute, and answer.
 * Namespaces are the least of its restrictions, because a machine may allow none: the system call
 * filter alone prevents opening paths and creating sockets.
 */
#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "protocol.h"
#include "../util/call_filter.h"

#define NOBODY          65534                 /* the overflow user */
#define DATA_BYTES_MAX  (UINT64_C(512) << 20) /* private data */
#define FILE_BYTES_MAX  (UINT64_C(16) << 30)  /* written, if it may write */
#define SPACE_BYTES_MAX (UINT64_C(8) << 30)   /* address space, mapped files included */

static int become(uid_t user)
{
	return setresgid(user, user, user) || setresuid(user, user, user) ? -errno : 0;
}

/* Becomes the user that spawn.h has chosen, if allowed. A user namespace may lack that number. */
static int change_user(void)
{
	const char *chosen = getenv(WORKER_UID);
	int err;

	if (geteuid())
		return 0;
	err = setgroups(0, NULL) ? -errno : become(chosen ? (uid_t)atol(chosen) : NOBODY);
	if (err == -EINVAL)
		err = become(NOBODY);
	return err == -EPERM ? 0 : err;
}

/* Enters an empty root directory. The new user namespace grants the right to create one. */
static void leave_files(void)
{
	int context = (int)syscall(SYS_fsopen, "tmpfs", 0), root;

	if (context < 0)
		return;
	if (!syscall(SYS_fsconfig, context, 6 /* FSCONFIG_CMD_CREATE */, NULL, NULL, 0)) {
		root = (int)syscall(SYS_fsmount, context, 0, 0);
		if (root >= 0 && !fchdir(root) && !chroot("."))
			(void)!chdir("/");
		if (root >= 0)
			close(root);
	}
	close(context);
}

static void leave_namespaces(void)
{
	if (!unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
		     CLONE_NEWCGROUP))
		leave_files();
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};

	for (int i = 0; i <= CAP_LAST_CAP; i++)
		(void)prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
	return syscall(SYS_capset, &header, none) ? -errno : 0;
}

static void limit(int resource, uint64_t value)
{
	struct rlimit limit = {value, value};

	setrlimit(resource, &limit);
}

static void limit_all(bool writes)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	limit(RLIMIT_AS, SPACE_BYTES_MAX);
	limit(RLIMIT_DATA, DATA_BYTES_MAX);
	limit(RLIMIT_FSIZE, writes ? FILE_BYTES_MAX : 0);
#else /* need more address space, and may report into a file */
	limit(RLIMIT_FSIZE, FILE_BYTES_MAX);
	(void)writes;
#endif
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_NPROC, 0);
}

static const struct call_allowed reading[] = {
	/* Requests and answers, on its own socket and the sockets of programs' memory. It has no
	 * other sockets, and passes no address. */
	CALL_ANY(recvmsg),
	{SCMP_SYS(sendto), 4, UINT64_MAX, 0, 0, 0, 0},
	/* Open files. Paths lead nowhere. */
	CALL_ANY(pread64),
	CALL_ANY(read),
	CALL_ANY(lseek),
	CALL_ANY(fstat),
	{SCMP_SYS(newfstatat), 3, AT_EMPTY_PATH, AT_EMPTY_PATH, 0, 0, 0},
	CALL_ANY(close),
	CALL_WITH(fcntl, 1, F_GETFD),
	CALL_WITH(fcntl, 1, F_GETFL),
	CALL_WITH(fcntl, 1, F_DUPFD_CLOEXEC),
	/* For a process with a database, of descriptors that are open for writing: */
	CALL_ANY(pwrite64),
	CALL_ANY(ftruncate),
};

enum { READING = sizeof(reading) / sizeof(reading[0]), WRITING = 2 };

static int confine_as(bool writes)
{
	int err = change_user();

	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	if (err)
		return err;
	leave_namespaces();
	err = drop_capabilities();
	if (err)
		return err;
	/* Dies with the recorder, even while parsing. A change of user or more capabilities, as in
	 * a new namespace, would undo this setting. */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	limit_all(writes);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return call_filter_enter(reading, writes ? READING : READING - WRITING);
}

int confine(void)
{
	return confine_as(false);
}

int confine_writing(void)
{
	return confine_as(true);
}
