// SPDX-License-Identifier: BSD-2-Clause
/* opener_main.c: the opener process: opens files that others chose and reaches into programs. */
/*
 * It has the recorder's rights to do that, reads nothing of what it opens, and may hang.
 * What it keeps depends on its first request: the opener of a user's files becomes
 * that user.
 */
#include "opener.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../reader/protocol.h"
#include "opener_process.h"

#define BIT(number) (UINT64_C(1) << (number))

#define RIGHTS_FILES (BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_SYS_PTRACE) | BIT(CAP_CHECKPOINT_RESTORE))
#define RIGHTS_USER  (BIT(CAP_SETUID) | BIT(CAP_SETGID))

/* `given`: only what the recorder gave, not what this program's file has for everybody. */
static int keep_rights(uint64_t keep, bool given)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};

	if (syscall(SYS_capget, &header, data))
		return -errno;
	for (int i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(keep >> 32 * i);
		if (given)
			data[i].permitted &= data[i].inheritable;
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

/* For good: by the first request. */
static int settle_rights(uint32_t kind, const struct opener_user *user)
{
	static uint32_t settled;
	int err;

	if (settled)
		return (settled == OPENER_USER) == (kind == OPENER_USER) ? 0 : -EPERM;
	settled = kind;
	if (kind != OPENER_USER)
		return keep_rights(RIGHTS_FILES, false);
	err = target_user_become(&user->user);
	/* Root needs the right to be allowed all that it is. */
	return err ? err : keep_rights(geteuid() ? 0 : BIT(CAP_DAC_READ_SEARCH), false);
}

static int confine(void)
{
	struct rlimit none = {0};

	/* Anybody may execute this program by this name. */
	if (geteuid() != getuid())
		return -EPERM;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) ||
	    setrlimit(RLIMIT_CORE, &none))
		return -errno;
	return keep_rights(RIGHTS_FILES | RIGHTS_USER, getauxval(AT_SECURE));
}

/* --- messages ----------------------------------------------------------------------------- */

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(WORKER_FDS_MAX * sizeof(int))];
};

static void reply(struct worker_reply head, const void *data, size_t size, int fd)
{
	struct iovec parts[] = {{&head, sizeof(head)}, {(void *)(uintptr_t)data, size}};
	union control control = {.header = {.cmsg_level = SOL_SOCKET,
					    .cmsg_type = SCM_RIGHTS,
					    .cmsg_len = CMSG_LEN(sizeof(int))}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(sizeof(int));
	}
	if (sendmsg(WORKER_SOCKET, &message, MSG_NOSIGNAL) < 0)
		_exit(EXIT_FAILURE);
}

void opener_announce(uint64_t device)
{
	reply((struct worker_reply){0}, &device, sizeof(device), -1);
}

/* One request, and the descriptor that came with it (-1: none). */
struct request {
	struct worker_request head;
	_Alignas(8) char data[WORKER_MESSAGE_MAX + 1];
	size_t size;
	int fd;
};

static bool receive(struct request *request)
{
	struct iovec parts[] = {{&request->head, sizeof(request->head)},
				{request->data, WORKER_MESSAGE_MAX}};
	union control control;
	struct msghdr message = {.msg_iov = parts,
				 .msg_iovlen = 2,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(WORKER_SOCKET, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *extra = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;

	if (n < (ssize_t)sizeof(request->head))
		return false;
	request->fd = -1;
	if (extra && extra->cmsg_type == SCM_RIGHTS)
		memcpy(&request->fd, CMSG_DATA(extra), sizeof(int));
	request->size = (size_t)n - sizeof(request->head);
	request->data[request->size] = '\0';
	return true;
}

/* --- requests ----------------------------------------------------------------------------- */

/* A request of `size` bytes at least; NULL: too short. */
static const void *body(const struct request *request, size_t size)
{
	return request->size < size ? NULL : request->data;
}

static void answer_file(int fd, const struct opener_file *file)
{
	struct worker_reply head = {WORKER_LAST, fd < 0 ? fd : 0};

	reply(head, file, fd < 0 ? 0 : sizeof(*file), fd);
	if (fd >= 0)
		close(fd);
}

static void open_mapped(const struct request *request)
{
	const struct opener_mapped *wanted = body(request, sizeof(*wanted));
	struct opener_file file;

	answer_file(wanted ? opener_open_mapped(wanted, (const char *)(wanted + 1), &file)
			   : -EBADMSG,
		    &file);
}

static void open_user(const struct request *request)
{
	const struct opener_user *wanted = body(request, sizeof(*wanted));
	struct opener_file file;

	answer_file(wanted ? opener_open_theirs(wanted, (const char *)(wanted + 1), &file)
			   : -EBADMSG,
		    &file);
}

static void handle(const struct request *request)
{
	const struct opener_user *user = body(request, sizeof(*user));
	int err = request->head.kind == OPENER_USER && !user
			  ? -EBADMSG
			  : settle_rights(request->head.kind, user);

	if (err) {
		reply((struct worker_reply){WORKER_LAST, err}, NULL, 0, -1);
		return;
	}
	switch (request->head.kind) {
	case OPENER_MAPPED:
		open_mapped(request);
		break;
	case OPENER_USER:
		open_user(request);
		break;
	default:
		reply((struct worker_reply){WORKER_LAST, -ENOSYS}, NULL, 0, -1);
	}
}

int opener_main(void)
{
	static struct request request;

	if (confine())
		return EXIT_FAILURE;
	while (receive(&request)) {
		handle(&request);
		if (request.fd >= 0)
			close(request.fd);
	}
	return EXIT_SUCCESS;
}
