// SPDX-License-Identifier: BSD-2-Clause
/* opener_space.c: the process that reads one program's memory for readers. */
/*
 * It parses nothing. It has one right, to read memory, and one program: that of its /proc/PID/mem,
 * not one that the process executes later. It may hang if the program wants that, so nobody waits
 * for its end; it ends when the other end of its socket is closed everywhere.
 */
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opener_process.h"
#include "../machine/capabilities.h"
#include "../machine/proc_memory.h"
#include "../../reader/remote_memory.h"

#define SPACES_MAX 768              /* running processes of an opener */
#define USER_MAX   (SPACES_MAX / 4) /* for programs of one user other than root */
#define SLACK_MS   200              /* that a reader waits longer than the process */

enum { SOCKET, MEMORY, DESCRIPTORS };

/* --- the process -------------------------------------------------------------------------- */

/* Ends a wait that a signal can end; the program's memory map is then unlocked. */
static void limit_time(unsigned ms)
{
	const struct itimerval limit = {.it_value = {ms / 1000, ms % 1000 * 1000}};

	setitimer(ITIMER_REAL, &limit, NULL);
}

static bool answer(uint32_t pid, const struct remote_request *request)
{
	static char bytes[REMOTE_ANSWER_MAX];
	struct remote_answer head = {.number = request->number};
	struct iovec parts[] = {{&head, sizeof(head)}, {bytes, 0}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	ssize_t n = -EINVAL;

	if (request->size <= sizeof(bytes)) {
		limit_time(REMOTE_WAIT_MS);
		n = proc_memory_read(MEMORY, pid, request->address, bytes, request->size);
		limit_time(0);
	}
	if (n < 0)
		head.err = (int32_t)n;
	else
		parts[1].iov_len = (size_t)n;
	return sendmsg(SOCKET, &message, MSG_NOSIGNAL) >= 0;
}

/* Keeps only its two descriptors, and a signal for the time limit. */
static int confine(int memory, int socket)
{
	sigset_t limit;

	/* Neither may be overwritten before it is copied. */
	if ((memory = dup(memory)) < 0 || (socket = dup(socket)) < 0 || dup2(socket, SOCKET) < 0 ||
	    dup2(memory, MEMORY) < 0 || close_range(DESCRIPTORS, ~0u, 0))
		return -errno;
	prctl(PR_SET_NAME, "gcprof-memory", 0, 0, 0);
	prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
	signal(SIGALRM, SIG_DFL);
	sigemptyset(&limit);
	sigaddset(&limit, SIGALRM);
	if (sigprocmask(SIG_UNBLOCK, &limit, NULL))
		return -errno;
	return capabilities_keep(UINT64_C(1) << CAP_SYS_PTRACE, false);
}

static _Noreturn void serve(int memory, uint32_t pid, int socket)
{
	struct remote_request request;

	if (confine(memory, socket))
		_exit(EXIT_FAILURE);
	while (recv(SOCKET, &request, sizeof(request), 0) == sizeof(request))
		if (!answer(pid, &request))
			break;
	_exit(EXIT_SUCCESS);
}

/* --- its parent --------------------------------------------------------------------------- */

static struct {
	pid_t pid;
	uid_t user;
} spaces[SPACES_MAX];
static size_t n_spaces;

/* Programs whose memory hangs cannot cause more processes than this, and leave some for others. */
static int find_room(uid_t user)
{
	size_t kept = 0, theirs = 0;

	for (size_t i = 0; i < n_spaces; i++) {
		if (waitpid(spaces[i].pid, NULL, WNOHANG))
			continue;
		theirs += spaces[i].user == user;
		spaces[kept++] = spaces[i];
	}
	n_spaces = kept;
	if (user && theirs >= USER_MAX)
		return -EAGAIN;
	return n_spaces < SPACES_MAX ? 0 : -EMFILE;
}

static int limit_wait(int socket)
{
	const unsigned ms = REMOTE_WAIT_MS + SLACK_MS;
	const struct timeval limit = {ms / 1000, ms % 1000 * 1000};

	return setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ? -errno : 0;
}

int opener_serve_space(int memory, uint32_t pid, uid_t user)
{
	int pair[2], err = find_room(user);
	pid_t child;

	if (err)
		return err;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	err = limit_wait(pair[0]);
	child = err ? -1 : fork();
	if (!child)
		serve(memory, pid, pair[1]);
	if (!err && child < 0)
		err = -errno;
	close(pair[1]);
	if (err) {
		close(pair[0]);
		return err;
	}
	spaces[n_spaces].pid = child;
	spaces[n_spaces++].user = user;
	return pair[0];
}
