/* SPDX-License-Identifier: BSD-2-Clause */
/* java_attach.c: makes a running Java virtual machine load an agent. */
/*
 * HotSpot listens on a socket in /tmp from the first SIGQUIT on that it gets while a file of its
 * user, with its pid in the name, exists there. Without that file, or if attaching is disabled,
 * SIGQUIT makes it print its threads; a process that does not handle the signal would end.
 *
 * Anybody may create files in /tmp, under any pid. Everything is therefore done with the rights of
 * the program's user. Nothing is sent to a socket before the kernel has confirmed that the program
 * listens on it, and a pid only counts while its process exists. The answer comes from the program:
 * one line of it is shown, and it has a few seconds. That user can also stop the process that asks
 * (user_task.h).
 */
#include "java_attach.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "../machine/clock.h"
#include "../machine/viewer.h"
#include "../../util/proc_file.h"

#define WAIT_NS UINT64_C(3000000000) /* for the socket, and for the answer */

enum {
	POLL_US = 5000,
	NOT_AVAILABLE = 98, /* JVMTI's error for an agent that is too late */
};

struct java {
	pid_t pid;
	int pidfd;
	const char *library;
	struct sockaddr_un address;
};

/* What the process that acts as the program's user gets, with the pidfd. */
struct java_input {
	pid_t pid;
	char library[PATH_MAX];
};

static const char quit_advice[] = "it does not handle SIGQUIT (-Xrs, or it has just begun)";

/* Does it handle SIGQUIT? */
static bool handles_quit(pid_t pid)
{
	char status[4096], *line;
	uint64_t caught = 0;

	if (proc_file_read((uint32_t)pid, "status", status, sizeof(status)))
		return false;
	line = strstr(status, "\nSigCgt:");
	return line && sscanf(line, "\nSigCgt: %" SCNx64, &caught) == 1 &&
	       caught & UINT64_C(1) << (SIGQUIT - 1);
}

static bool forbids(pid_t pid)
{
	char words[8192];
	ssize_t n = viewer_read_command(pid, words, sizeof(words));

	return n > 0 && memmem(words, (size_t)n, "+DisableAttachMechanism", 23);
}

/* Does the process have our files and our pid namespace? */
static bool is_here(pid_t pid)
{
	static const char *const names[] = {"mnt", "pid"};
	char path[64], root[2];
	bool same;

	/* Its root as seen from ours. Opens nothing in it: its file system may never answer. */
	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	same = readlink(path, root, sizeof(root)) == 1;

	for (size_t i = 0; i < 2; i++) {
		struct stat ours, its;

		snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, names[i]);
		same &= !stat(path, &its);
		snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		same &= !stat(path, &ours) && ours.st_ino == its.st_ino;
	}
	return same;
}

static bool is_there(const struct java *java)
{
	struct pollfd end = {.fd = java->pidfd, .events = POLLIN};

	return !poll(&end, 1, 0);
}

/* Belongs to the program's user, who we are now. */
static bool is_own(const char *path, mode_t kind)
{
	struct stat status;

	return !lstat(path, &status) && (status.st_mode & S_IFMT) == kind &&
	       status.st_uid == geteuid();
}

static bool listens(const struct java *java)
{
	return is_own(java->address.sun_path, S_IFSOCK);
}

/* Makes it listen. */
static int wake(const struct java *java)
{
	uint64_t end = clock_now() + WAIT_NS;
	char path[64];
	int fd, err = 0;

	snprintf(path, sizeof(path), "/tmp/.attach_pid%d", (int)java->pid);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 && (errno != EEXIST || !is_own(path, S_IFREG)))
		return -errno;
	if (syscall(SYS_pidfd_send_signal, java->pidfd, SIGQUIT, NULL, 0))
		err = -errno;
	while (!err && !listens(java) && clock_now() < end)
		usleep(POLL_US);
	if (fd >= 0) {
		unlink(path);
		close(fd);
	}
	return err ? err : listens(java) ? 0 : -ETIMEDOUT;
}

/* A socket connected to the process. */
static int reach(const struct java *java)
{
	struct timeval most = {.tv_sec = WAIT_NS / 1000000000};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), err = fd < 0 ? -errno : 0;
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (!err && (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most)) ||
		     setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most)) ||
		     connect(fd, (const struct sockaddr *)&java->address, sizeof(java->address)) ||
		     getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size)))
		err = -errno;
	if (!err && peer.pid != java->pid)
		err = -EPERM;
	if (!err && !is_there(java))
		err = -ESRCH;
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

/* The protocol version, the command, and its three arguments: the library, whether that is a path,
 * and options. */
static int java_attach_ask(int fd, const char *library, char *answer, size_t room)
{
	char request[4200];
	int size = snprintf(request, sizeof(request), "1%cload%c%s%ctrue%c", 0, 0, library, 0, 0);
	uint64_t end = clock_now() + WAIT_NS;
	size_t used = 0;
	ssize_t n = 1;

	if (size < 0 || (size_t)size + 1 > sizeof(request))
		return -ENAMETOOLONG;
	if (send(fd, request, (size_t)size + 1, MSG_NOSIGNAL) != size + 1)
		return -errno;
	while (n > 0 && used < room - 1 && clock_now() < end) {
		n = recv(fd, answer + used, room - 1 - used, 0);
		used += n > 0 ? (size_t)n : 0;
	}
	answer[used] = '\0';
	return n < 0 && !used ? -errno : 0;
}

/* "0", then "return code: 0"; otherwise the error. */
static int understand(char *answer, char *why, size_t size)
{
	char *line = strchr(answer, '\n'), *code = strstr(answer, "return code: ");
	long result = code ? strtol(code + strlen("return code: "), NULL, 10) : -1;

	if (!strncmp(answer, "0\n", 2) && code && !result)
		return 0;
	line = line ? line + 1 : answer;
	line[strcspn(line, "\n")] = '\0';
	if (result == NOT_AVAILABLE)
		snprintf(why, size, "another agent has the samples of this Java virtual machine");
	else
		snprintf(why, size, "the Java virtual machine answers: %.200s", line);
	return -EBUSY;
}

static int attach(const struct user_input *input, char *why, size_t size)
{
	const struct java_input *wanted = input->data;
	struct java java = {.pid = wanted->pid,
			    .pidfd = input->fd,
			    .library = wanted->library,
			    .address = {.sun_family = AF_UNIX}};
	char answer[1024];
	int err, fd;

	snprintf(java.address.sun_path, sizeof(java.address.sun_path), "/tmp/.java_pid%d",
		 (int)java.pid);
	err = listens(&java) ? 0 : handles_quit(java.pid) ? wake(&java) : -ENOTSUP;
	why[0] = '\0';
	if (err) {
		snprintf(why, size, "%s",
			 err == -ENOTSUP     ? quit_advice
			 : err == -ETIMEDOUT ? "it does not answer"
					     : strerror(-err));
		return err;
	}
	fd = reach(&java);
	err = fd < 0 ? fd : java_attach_ask(fd, java.library, answer, sizeof(answer));
	if (err)
		snprintf(why, size, "it does not answer: %s", strerror(-err));
	else
		err = understand(answer, why, size);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

const struct user_task java_attach_task = {"attach", attach};

/* Finds the process's user. */
static int find_owner(pid_t pid, struct invoker *out)
{
	char status[4096], *uids, *gids;
	unsigned uid, gid;
	int err = proc_file_read((uint32_t)pid, "status", status, sizeof(status));

	if (err)
		return err;
	uids = strstr(status, "\nUid:");
	gids = strstr(status, "\nGid:");
	/* The effective ids, which the virtual machine compares. */
	if (!uids || !gids || sscanf(uids, "\nUid: %*u %u", &uid) != 1 ||
	    sscanf(gids, "\nGid: %*u %u", &gid) != 1)
		return -EBADMSG;
	*out = (struct invoker){.uid = uid, .gid = gid, .change = uid != geteuid()};
	return 0;
}

int java_attach(pid_t pid, int pidfd, const char *library, const struct invoker *user,
		struct problem *problem)
{
	struct java_input wanted = {.pid = pid};
	const struct user_input input = {&wanted, sizeof(wanted), pidfd};
	char why[256] = "";
	struct invoker owner;
	int err = find_owner(pid, &owner);

	snprintf(wanted.library, sizeof(wanted.library), "%s", library);
	if (err)
		snprintf(why, sizeof(why), "%s", strerror(-err));
	else if (user->uid && user->uid != owner.uid)
		err = -EPERM, snprintf(why, sizeof(why), "it is another user's");
	else if (!is_here(pid))
		err = -EXDEV, snprintf(why, sizeof(why), "it runs in a container");
	else if (forbids(pid))
		err = -EPERM, snprintf(why, sizeof(why), "-XX:+DisableAttachMechanism");
	else
		err = user_call(&owner, &java_attach_task, &input, why, sizeof(why));
	if (err == -ETIMEDOUT && !why[0])
		snprintf(why, sizeof(why), "the process that asks it does not answer");
	if (err >= 0) {
		close(err);
		return 0;
	}
	return problem_set(problem, err,
			   "process %d: the agent cannot be loaded: %s. To record the program with "
			   "it, start it with %s in LD_PRELOAD",
			   (int)pid, why[0] ? why : strerror(-err), library);
}
