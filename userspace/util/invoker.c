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
#include <sys/syscall.h>
#include <unistd.h>

#include "options.h"

/* Environment variables set by programs that make other users root. Some of these programs can be
 * told to keep the caller's environment, so a variable may be the caller's own invention. */
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
	struct invoker found;
	size_t sources = 0;

	*out = (struct invoker){.uid = getuid(), .gid = getgid()};
	/* Anybody can set the environment: trust it only if the real user is root. */
	for (size_t i = 0; i < sizeof(callers) / sizeof(*callers) && getuid() == 0; i++) {
		const char *user = getenv(callers[i].user);
		const char *group = callers[i].group ? getenv(callers[i].group) : NULL;

		if (!user)
			continue;
		found = (struct invoker){.uid = UINT32_MAX};
		*variable = callers[i].user;
		if (!read_caller(user, group, &found))
			return -EINVAL;
		if (sources++ && found.uid != out->uid)
			return -EPERM;
		/* A group that one of them names may be invented; the last source is not SUDO_GID,
		 * so its group is that of the passwd entry. */
		*out = found;
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
