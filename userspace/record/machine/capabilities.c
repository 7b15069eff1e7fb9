/* SPDX-License-Identifier: BSD-2-Clause */
/* capabilities.c: the capabilities that recording uses, the effect of missing ones, and dropping
 * them. */
#include "capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

const struct capability capability_table[] = {
	{CAP_BPF, "CAP_BPF", CAPABILITY_ALL, true, true, "no BPF program can be loaded"},
	{CAP_PERFMON, "CAP_PERFMON", CAPABILITY_ALL, true, true,
	 "no BPF program may read stacks, no timer and no probe can be attached"},
	{CAP_SYS_PTRACE, "CAP_SYS_PTRACE", CAPABILITY_SOME, true, false,
	 "what other users' processes have mapped cannot be read: with -p, --system and --cgroup "
	 "their functions have no names and their probes are not found"},
	{CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", CAPABILITY_SOME, true, false,
	 "programs and libraries that you cannot read have no names and no probes"},
	{CAP_SYSLOG, "CAP_SYSLOG", CAPABILITY_SOME, true, true,
	 "the CPU time of the BPF programs counts as the program's, unless kernel.kptr_restrict is "
	 "0 and "
	 "kernel.perf_event_paranoid at most 1"},
	{CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE", CAPABILITY_SOME, true, true,
	 "programs deleted on disk while they run have no names and no probes"},
	{CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE", CAPABILITY_SOME, true, false,
	 "-R and --ceiling do not reach running programs of other users"},
	{CAP_KILL, "CAP_KILL", CAPABILITY_SOME, true, false,
	 "programs of other users are recorded without probes: one that copies its code could not "
	 "be stopped until the copy has no breakpoints"},
	{CAP_IPC_LOCK, "CAP_IPC_LOCK", CAPABILITY_SOME, false, false,
	 "the rings that report mappings count against ulimit -l and "
	 "kernel.perf_event_mlock_kb"},
	{CAP_SYS_NICE, "CAP_SYS_NICE", CAPABILITY_SOME, false, false,
	 "the recorder gets no priority: on a busy machine it starts late, and --system may lose "
	 "events"},
};
const size_t capability_count = sizeof(capability_table) / sizeof(capability_table[0]);

static const struct __user_cap_header_struct capability_header = {
	.version = _LINUX_CAPABILITY_VERSION_3,
};

static uint64_t effective(void)
{
	struct __user_cap_header_struct header = capability_header;
	struct __user_cap_data_struct data[2] = {{0}};

	if (syscall(SYS_capget, &header, data))
		return 0;
	return (uint64_t)data[1].effective << 32 | data[0].effective;
}

bool capabilities_are_a_namespaces(void)
{
	enum { INITIAL = 0xeffffffd }; /* never changed: PROC_USER_INIT_INO */
	struct stat status;

	return !stat("/proc/self/ns/user", &status) && status.st_ino != INITIAL;
}

static uint64_t bit(int number)
{
	return UINT64_C(1) << number;
}

uint64_t capabilities_usable(void)
{
	uint64_t have = capabilities_are_a_namespaces() ? 0 : effective(), usable = 0;

	for (size_t i = 0; i < capability_count; i++) {
		const struct capability *row = &capability_table[i];

		if (have & bit(row->number) || (row->admin && have & bit(CAP_SYS_ADMIN)))
			usable |= bit(row->number);
	}
	return usable;
}

bool capabilities_admin(void)
{
	return effective() & bit(CAP_SYS_ADMIN) && !capabilities_are_a_namespaces();
}

bool capabilities_kill(void)
{
	return effective() & bit(CAP_KILL);
}

/* Capabilities to keep: CAP_SYS_ADMIN only if it replaces a missing one. */
static uint64_t kept(uint64_t have)
{
	/* So that a reader can become another user (reader/confine.c). */
	uint64_t keep = have & (bit(CAP_SETUID) | bit(CAP_SETGID));

	for (size_t i = 0; i < capability_count; i++) {
		const struct capability *row = &capability_table[i];

		if (!row->kept)
			continue;
		keep |= have & bit(row->number);
		if (row->need == CAPABILITY_ALL && !(have & bit(row->number)))
			keep |= have & bit(CAP_SYS_ADMIN);
	}
	return keep;
}

int capabilities_keep(uint64_t keep, bool given)
{
	struct __user_cap_header_struct header = capability_header;
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

/* Without CAP_SYS_PTRACE the kernel shows what a process has mapped only to one with at least its
 * capabilities, as those of one container have them. */
int capabilities_keep_reading(uint64_t keep, bool given)
{
	return capabilities_keep(effective() & bit(CAP_SYS_PTRACE) ? keep : UINT64_MAX, given);
}

int capabilities_drop(bool opens_files)
{
	uint64_t files = opens_files ? bit(CAP_DAC_OVERRIDE) : 0;

	/* Executing a program would give root everything; no longer. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return capabilities_keep_reading(kept(effective()) | files, false);
}

/* Programs without file capabilities inherit ambient ones, which must be inheritable. */
void capabilities_lend(bool lent)
{
	struct __user_cap_header_struct header = capability_header;
	struct __user_cap_data_struct data[2] = {{0}};

	if (syscall(SYS_capget, &header, data))
		return;
	for (int i = 0; i < 2; i++)
		data[i].inheritable = lent ? data[i].permitted : 0;
	if (syscall(SYS_capset, &header, data) || !lent)
		return;
	for (int number = 0; number <= CAP_LAST_CAP; number++)
		(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number, 0, 0);
}
