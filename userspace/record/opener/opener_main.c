// SPDX-License-Identifier: BSD-2-Clause
/* opener_main.c: the opener process: opens files that others chose and accesses program memory. */
/*
 * It has the recorder's rights, parses nothing of what it opens, and may hang. What it keeps
 * depends on its first request: the opener of a user's files becomes that user.
 */
#include "opener.h"

#include <errno.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <signal.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../machine/capabilities.h"
#include "../../reader/wire.h"
#include "../../util/call_filter.h"
#include "opener_process.h"

#define BIT(number) (UINT64_C(1) << (number))

#define CLONE_NAMESPACES                                                               \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)

#define RIGHTS_FILES  (BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_SYS_PTRACE) | BIT(CAP_CHECKPOINT_RESTORE))
#define RIGHTS_USER   (BIT(CAP_SETUID) | BIT(CAP_SETGID))
#define RIGHTS_MEMORY (BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_OVERRIDE))

/* Files of any path, memory of programs, and processes that read it; but no program, no network. */
static const struct call_allowed allowed[] = {
	CALL_ANY(recvmsg),
	CALL_ANY(recvfrom),
	CALL_ANY(sendmsg),
	CALL_ANY(sendto),
	CALL_ANY(open),
	CALL_ANY(openat),
	CALL_ANY(openat2),
	CALL_ANY(close),
	CALL_ANY(close_range),
	CALL_ANY(dup),
	CALL_ANY(dup2),
	CALL_ANY(dup3),
	CALL_ANY(fcntl),
	CALL_ANY(flock),
	CALL_ANY(stat),
	CALL_ANY(lstat),
	CALL_ANY(fstat),
	CALL_ANY(newfstatat),
	CALL_ANY(statx),
	CALL_ANY(statfs),
	CALL_ANY(fstatfs),
	CALL_ANY(access),
	CALL_ANY(faccessat),
	CALL_ANY(faccessat2),
	CALL_ANY(readlink),
	CALL_ANY(readlinkat),
	CALL_ANY(getdents64),
	CALL_ANY(read),
	CALL_ANY(pread64),
	CALL_ANY(lseek),
	CALL_ANY(write),
	CALL_ANY(pwrite64),
	CALL_ANY(memfd_create),
	CALL_ANY(process_vm_readv),
	/* A process that serves one program's memory, or reads its words. */
	CALL_ANY(fork),
	CALL_WITH(socketpair, 0, AF_UNIX),
	CALL_ANY(setsockopt),
	{SCMP_SYS(clone), 0, CLONE_NAMESPACES, 0, 0, 0, 0},
	CALL_ANY(set_robust_list),
	CALL_ANY(set_tid_address),
	CALL_ANY(rseq),
	CALL_ANY(wait4),
	CALL_ANY(waitid),
	CALL_ANY(kill),
	CALL_ANY(pidfd_open),
	CALL_ANY(pidfd_send_signal),
	CALL_ANY(rt_sigaction),
	CALL_ANY(setitimer),
	CALL_ANY(poll),
	CALL_ANY(ppoll),
	CALL_ANY(nanosleep),
	CALL_ANY(clock_nanosleep),
	CALL_ANY(getpid),
	CALL_ANY(getppid),
	CALL_ANY(gettid),
	CALL_ANY(getuid),
	CALL_ANY(geteuid),
	CALL_ANY(getgid),
	CALL_ANY(getegid),
	CALL_ANY(prctl),
	CALL_ANY(prlimit64),
	CALL_ANY(capget),
	CALL_ANY(capset),
};

/* Set permanently by the first request. */
static int settle_rights(uint32_t kind, const struct invoker *user)
{
	static uint32_t settled;
	uint32_t group = kind == OPENER_SPACE || kind == OPENER_MAPS || kind == OPENER_WORDS ||
					 kind == OPENER_UNDO
				 ? OPENER_MEMORY
			 : kind == OPENER_USER || kind == OPENER_MEMORY ? kind
									: OPENER_MAPPED;
	int err;

	if (settled)
		return settled == group ? 0 : -EPERM;
	settled = group;
	err = group == OPENER_USER ? invoker_become(user) : 0;
	if (err)
		return err;
	/* Root needs this capability for access to everything. */
	if (group == OPENER_USER)
		err = capabilities_keep(geteuid() ? 0 : BIT(CAP_DAC_READ_SEARCH), false);
	else
		err = capabilities_keep_reading(
			group == OPENER_MEMORY ? RIGHTS_MEMORY : RIGHTS_FILES, false);
	return err ? err : call_filter_enter(allowed, sizeof(allowed) / sizeof(allowed[0]));
}

static int confine(void)
{
	struct rlimit none = {0};

	/* Any user may execute this program under this name. */
	if (geteuid() != getuid())
		return -EPERM;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) ||
	    setrlimit(RLIMIT_CORE, &none))
		return -errno;
	return capabilities_keep_reading(RIGHTS_FILES | RIGHTS_USER | RIGHTS_MEMORY,
					 getauxval(AT_SECURE));
}

/* --- requests ----------------------------------------------------------------------------- */

static size_t size_of(uint32_t kind)
{
	static const size_t sizes[] = {
		[OPENER_MAPPED] = sizeof(struct opener_mapped),
		[OPENER_DEBUG] = sizeof(struct opener_debug),
		[OPENER_TEMPORARY] = sizeof(struct opener_process),
		[OPENER_MAP] = sizeof(struct code_owner),
		[OPENER_USER] = sizeof(struct opener_user),
		[OPENER_MEMORY] = sizeof(struct opener_memory),
		[OPENER_SPACE] = sizeof(struct opener_space),
		[OPENER_MAPS] = sizeof(struct opener_process),
		[OPENER_WORDS] = sizeof(struct opener_process),
		[OPENER_HASH] = sizeof(struct opener_hash),
		[OPENER_UNDO] = sizeof(struct opener_memory),
	};

	return kind < sizeof(sizes) / sizeof(sizes[0]) ? sizes[kind] : 0;
}

void opener_announce(uint64_t device)
{
	wire_put(&device, sizeof(device));
	wire_flush();
}

static void answer(int err, const void *data, size_t size, int fd)
{
	if (!err)
		wire_put(data, size);
	wire_end(err, fd);
	if (fd >= 0)
		close(fd);
}

/* `fd` may be a negative errno. */
static void answer_file(int fd, const struct opener_file *file)
{
	answer(fd < 0 ? fd : 0, file, sizeof(*file), fd);
}

static void open_map(const struct opener_head *head, const struct code_owner *wanted, int temporary)
{
	struct code_owner owner = *wanted;
	struct opener_file file;

	owner.temporary = temporary;
	answer_file(opener_open_map(head, &owner, &file), &file);
}

static void open_space(const struct opener_space *wanted)
{
	struct opener_file file = {0};
	int fd = opener_open_space(wanted, &file.uid);

	answer_file(fd, &file);
}

static void change_memory(const struct opener_memory *wanted)
{
	struct opener_block block;
	int err = opener_change_memory(wanted, &block);

	answer(err, &block, sizeof(block), -1);
}

static void keep_list(int fd)
{
	const struct opener_block block = {0};

	opener_undo_later(fd);
	answer(0, &block, sizeof(block), -1);
}

static void hash_file(const struct opener_head *head, const struct opener_hash *wanted, int fd)
{
	struct opener_block block = {0};
	int err = opener_hash_file(head, wanted, fd, &block);

	answer(err, &block, sizeof(block), -1);
}

static void work(const struct request *request, const void *body)
{
	const struct opener_head *head = (const void *)request->data;
	const char *path = (const char *)body + size_of(request->head.kind);
	int fd = request->files.n ? request->files.fds[0] : -1;
	const struct opener_process *process = body;
	struct opener_file file = {0};

	switch (request->head.kind) {
	case OPENER_MAPPED:
		answer_file(opener_open_mapped(head, body, path, &file), &file);
		break;
	case OPENER_DEBUG:
		answer_file(opener_open_debug(head, body, fd, &file), &file);
		break;
	case OPENER_TEMPORARY:
		answer_file(code_owner_temporary(process->pid), &file);
		break;
	case OPENER_MAP:
		open_map(head, body, fd);
		break;
	case OPENER_USER:
		answer_file(opener_open_theirs(head, path, &file), &file);
		break;
	case OPENER_SPACE:
		open_space(body);
		break;
	case OPENER_MAPS:
		answer_file(opener_read_maps(process->pid), &file);
		break;
	case OPENER_WORDS:
		answer_file(opener_read_words(process->pid, &file), &file);
		break;
	case OPENER_HASH:
		hash_file(head, body, fd);
		break;
	case OPENER_UNDO:
		keep_list(fd);
		break;
	default:
		change_memory(body);
	}
}

static void handle(const struct request *request)
{
	const void *body = request->data + sizeof(struct opener_head);
	size_t size = size_of(request->head.kind);
	int err = size && request->head.size > sizeof(struct opener_head) + size
			  ? settle_rights(request->head.kind, body)
			  : -EBADMSG;

	if (err)
		answer(err, NULL, 0, -1);
	else
		work(request, body);
}

int opener_main(void)
{
	static _Alignas(8) struct request request;

	wire_begin(WORKER_OPENER);
	if (confine())
		return EXIT_FAILURE;
	while (wire_receive(&request) > 0) {
		handle(&request);
		for (size_t i = 0; i < request.files.n; i++)
			close(request.files.fds[i]);
	}
	opener_undo();
	/* As the attacher: nothing of the C library's is torn down, which its filter may not allow.
	 */
	_exit(EXIT_SUCCESS);
}
