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
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "protocol.h"

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
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* need more address space */
	limit(RLIMIT_AS, SPACE_BYTES_MAX);
	limit(RLIMIT_DATA, DATA_BYTES_MAX);
#endif
	limit(RLIMIT_FSIZE, writes ? FILE_BYTES_MAX : 0);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_NPROC, 0);
}

/* An allowed system call: the masked bits of an argument must have this value. */
static const struct row {
	int call;
	int argument; /* -1: any arguments */
	uint64_t mask, value;
	int second; /* another argument, if the following mask is not 0 */
	uint64_t second_mask, second_value;
} rows[] = {
	/* Requests and answers, on its own socket and the sockets of programs' memory. It has no
	 * other sockets, and passes no address. */
	{.call = SCMP_SYS(recvmsg), .argument = -1},
	{SCMP_SYS(sendto), 4, UINT64_MAX, 0, 0, 0, 0},
	/* Open files. Paths lead nowhere. */
	{.call = SCMP_SYS(pread64), .argument = -1},
	{.call = SCMP_SYS(read), .argument = -1},
	{.call = SCMP_SYS(lseek), .argument = -1},
	{.call = SCMP_SYS(fstat), .argument = -1},
	{SCMP_SYS(newfstatat), 3, AT_EMPTY_PATH, AT_EMPTY_PATH, 0, 0, 0},
	{.call = SCMP_SYS(close), .argument = -1},
	{SCMP_SYS(fcntl), 1, UINT32_MAX, F_GETFD, 0, 0, 0},
	{SCMP_SYS(fcntl), 1, UINT32_MAX, F_GETFL, 0, 0, 0},
	{SCMP_SYS(fcntl), 1, UINT32_MAX, F_DUPFD_CLOEXEC, 0, 0, 0},
	/* Private memory without code. */
	{SCMP_SYS(mmap), 2, PROT_EXEC, 0, 3, MAP_TYPE, MAP_PRIVATE},
	{SCMP_SYS(mprotect), 2, PROT_EXEC, 0, 0, 0, 0},
	{.call = SCMP_SYS(munmap), .argument = -1},
	{.call = SCMP_SYS(mremap), .argument = -1},
	{.call = SCMP_SYS(madvise), .argument = -1},
	{.call = SCMP_SYS(brk), .argument = -1},
	/* The C library. qsort() asks for the amount of memory. */
	{.call = SCMP_SYS(sysinfo), .argument = -1},
	{.call = SCMP_SYS(getrandom), .argument = -1},
	{.call = SCMP_SYS(clock_gettime), .argument = -1},
	{.call = SCMP_SYS(futex), .argument = -1},
	{.call = SCMP_SYS(rt_sigprocmask), .argument = -1},
	{.call = SCMP_SYS(rt_sigreturn), .argument = -1},
	{.call = SCMP_SYS(exit), .argument = -1},
	{.call = SCMP_SYS(exit_group), .argument = -1},
#ifdef __SANITIZE_ADDRESS__ /* its report, written before the process ends */
	{SCMP_SYS(write), 0, UINT32_MAX, STDERR_FILENO, 0, 0, 0},
	{.call = SCMP_SYS(sigaltstack), .argument = -1},
	{.call = SCMP_SYS(gettid), .argument = -1},
	{.call = SCMP_SYS(getpid), .argument = -1},
	{.call = SCMP_SYS(sched_yield), .argument = -1},
#endif
};

/* And for a process with a database: these, of descriptors that are open for writing. */
static const struct row writing_rows[] = {
	{.call = SCMP_SYS(pwrite64), .argument = -1},
	{.call = SCMP_SYS(ftruncate), .argument = -1},
};

static int add_row(scmp_filter_ctx filter, const struct row *row)
{
	const struct scmp_arg_cmp compare[] = {
		{(unsigned)row->argument, SCMP_CMP_MASKED_EQ, row->mask, row->value},
		{(unsigned)row->second, SCMP_CMP_MASKED_EQ, row->second_mask, row->second_value},
	};
	unsigned count = row->argument < 0 ? 0 : row->second_mask ? 2 : 1;

	return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, row->call, count, compare);
}

/* Other calls fail: a library may try one and continue without it. */
static int enter_filter(bool writes)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	int err = filter ? 0 : -ENOMEM;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && !err; i++)
		err = add_row(filter, &rows[i]);
	for (size_t i = 0; i < sizeof(writing_rows) / sizeof(writing_rows[0]) && writes && !err;
	     i++)
		err = add_row(filter, &writing_rows[i]);
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

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
	return enter_filter(writes);
}

int confine(void)
{
	return confine_as(false);
}

int confine_writing(void)
{
	return confine_as(true);
}
