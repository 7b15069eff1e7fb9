/* SPDX-License-Identifier: BSD-2-Clause */
/* invoker.c: the user who called gcprof, and running with only that user's rights. */
#include "invoker.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "options.h"

/* Environment variables set by programs that make other users root. By default each program clears
 * those of the others. */
static const struct {
	const char *user;  /* a number or a name */
	const char *group; /* a number; NULL: the one in the user's passwd entry */
} callers[] = {
	{"SUDO_UID", "SUDO_GID"},
	{"PKEXEC_UID", NULL},
	{"DOAS_USER", NULL},
};

/* --- finding the user -------------------------------------------------------- */

static bool parse_id(const char *text, uint32_t *out)
{
	uint64_t value;

	/* The kernel takes the greatest value for "unchanged". */
	if (!text || parse_number(text, &value) || value >= UINT32_MAX)
		return false;
	*out = (uint32_t)value;
	return true;
}

/* Fills *out from the environment and the passwd entry, which is optional for a numeric user. */
static bool read_caller(const char *user, const char *group, struct invoker *out)
{
	bool number = parse_id(user, &out->uid), grouped = parse_id(group, &out->gid);
	const struct passwd *entry = number ? getpwuid(out->uid) : getpwnam(user);

	if (!entry)
		return number && grouped;
	out->uid = entry->pw_uid;
	if (!grouped)
		out->gid = entry->pw_gid;
	if (strlen(entry->pw_name) < sizeof(out->name))
		strcpy(out->name, entry->pw_name);
	return true;
}

int invoker_find(struct invoker *out, const char **variable)
{
	*out = (struct invoker){.uid = getuid(), .gid = getgid()};
	/* Anybody can set the environment: trust it only if the real user is root. */
	for (size_t i = 0; i < sizeof(callers) / sizeof(*callers) && getuid() == 0; i++) {
		const char *user = getenv(callers[i].user);
		const char *group = callers[i].group ? getenv(callers[i].group) : NULL;

		if (!user)
			continue;
		if (!read_caller(user, group, out)) {
			*variable = callers[i].user;
			return -EINVAL;
		}
		break;
	}
	out->change = out->uid != geteuid();
	return 0;
}

/* --- becoming that user ------------------------------------------------------ */

static int change_user(const struct invoker *invoker)
{
	int err = invoker->name[0] ? initgroups(invoker->name, invoker->gid)
				   : setgroups(1, &invoker->gid);

	if (err || setresgid(invoker->gid, invoker->gid, invoker->gid) ||
	    setresuid(invoker->uid, invoker->uid, invoker->uid))
		return -errno;
	return 0;
}

int invoker_become(const struct invoker *invoker)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};
	int err = invoker->change ? change_user(invoker) : 0;

	if (err || invoker->uid == 0)
		return err;
	/* A change of user leaves some capabilities, and file capabilities arrive without a change.
	 */
	if (syscall(SYS_capset, &header, none))
		return -errno;
	/* Regaining root must be impossible. */
	return setuid(0) == 0 ? -EPERM : 0;
}

/* --- acting as that user temporarily ----------------------------------------- */

/* Room for a message with one descriptor. */
union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

/* A child's answer: two parts, and possibly a descriptor. */
struct answer {
	int result; /* not negative: the message carries a descriptor */
	struct iovec pieces[2];
	union control control;
	struct msghdr message;
};

static void answer_prepare(struct answer *answer, char *text, size_t size)
{
	*answer = (struct answer){
		.pieces = {{&answer->result, sizeof(answer->result)}, {text, size}},
		.message = {.msg_iov = answer->pieces,
			    .msg_iovlen = 2,
			    .msg_control = &answer->control,
			    .msg_controllen = sizeof(answer->control)},
	};
}

static _Noreturn void child_run(const struct invoker *invoker, invoker_task *task,
				const void *context, struct answer *answer, int channel)
{
	char *text = answer->pieces[1].iov_base;
	int err = invoker_become(invoker);
	struct cmsghdr *header = &answer->control.header;

	answer->result = err ? err : task(context, text, answer->pieces[1].iov_len);
	if (answer->result >= 0) {
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &answer->result, sizeof(int));
	} else {
		answer->message.msg_control = NULL;
		answer->message.msg_controllen = 0;
	}
	_exit(sendmsg(channel, &answer->message, MSG_NOSIGNAL) < 0);
}

/* Returns a duplicate of the child's descriptor, or an error. */
static int receive(struct answer *answer, int channel)
{
	const struct cmsghdr *header;
	ssize_t n;
	int fd;

	do
		n = recvmsg(channel, &answer->message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)(sizeof(answer->result) + answer->pieces[1].iov_len))
		return n < 0 ? -errno : -EIO;
	if (answer->result < 0)
		return answer->result;
	header = CMSG_FIRSTHDR(&answer->message);
	if (!header || header->cmsg_type != SCM_RIGHTS || header->cmsg_len < CMSG_LEN(sizeof(int)))
		return -EIO;
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

int invoker_call(const struct invoker *invoker, invoker_task *task, const void *context, char *text,
		 size_t size)
{
	struct answer answer;
	int pair[2], result;
	pid_t pid;

	if (invoker->uid == 0 && !invoker->change)
		return task(context, text, size);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	answer_prepare(&answer, text, size);
	pid = fork();
	if (pid == 0)
		child_run(invoker, task, context, &answer, pair[1]);
	result = pid < 0 ? -errno : 0;
	close(pair[1]);
	if (!result)
		result = receive(&answer, pair[0]);
	close(pair[0]);
	if (pid > 0)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	return result;
}
