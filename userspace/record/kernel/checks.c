/* SPDX-License-Identifier: BSD-2-Clause */
/* checks.c: checks that the machine and the user can record: one table for record and doctor. */
#include "checks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "attach.h"
#include "needs.h"
#include "../machine/capabilities.h"
#include "../machine/cgroup.h"

#define BTF_PATH      "/sys/kernel/btf/vmlinux"
#define LOCKDOWN_PATH "/sys/kernel/security/lockdown"
#define CGROUP_PATH   "/sys/fs/cgroup"
#define TRACEFS_PATH  "/sys/kernel/tracing/events"

/* Descriptors that any recording may need; for each CPU: timer, page faults, mappings. */
enum { FILES_LEAST = 270, FILES_A_CPU = 6 };

static void conclude(struct finding *out, enum verdict verdict, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void conclude(struct finding *out, enum verdict verdict, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	out->verdict = verdict;
	out->error = verdict == VERDICT_IMPOSSIBLE ? -EOPNOTSUPP : 0;
	vsnprintf(out->found, sizeof(out->found), format, arguments);
	va_end(arguments);
}

static void advise(struct finding *out, const char *text)
{
	snprintf(out->advice, sizeof(out->advice), "%s", text);
}

/* The first line of a small file; false if there is none. */
static bool read_line(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	out[n] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return true;
}

/* Appends the names of the capabilities of `need` that are not usable; true if there are any. */
static bool list_missing(uint64_t usable, enum capability_need need, char *out, size_t size)
{
	size_t used = strlen(out);
	bool any = false;

	for (size_t i = 0; i < capability_count; i++) {
		const struct capability *row = &capability_table[i];

		if (row->need != need || usable >> row->number & 1)
			continue;
		if (used < size)
			used += (size_t)snprintf(out + used, size - used, "%s%s",
						 any ? ", " : "no ", row->name);
		any = true;
	}
	return any;
}

static void check_kernel(struct finding *out)
{
	struct utsname name = {0};
	char missing[640] = "", none[256] = "";

	uname(&name);
	if (list_missing(capabilities_usable(), CAPABILITY_ALL, none, sizeof(none))) {
		conclude(out, VERDICT_NOTE,
			 "Linux %s; what it has shows only with the rights to record",
			 name.release);
	} else if (needs_missing(need_table, need_count, missing, sizeof(missing))) {
		conclude(out, VERDICT_IMPOSSIBLE, "Linux %s lacks %s", name.release, missing);
		advise(out, "Record on Linux 6.1 or newer; the profile can be read here.");
	} else {
		conclude(out, VERDICT_GOOD, "Linux %s has all that recording needs", name.release);
	}
}

static void check_btf(struct finding *out)
{
	if (!access(BTF_PATH, R_OK)) {
		conclude(out, VERDICT_GOOD, BTF_PATH " exists");
		return;
	}
	conclude(out, VERDICT_IMPOSSIBLE,
		 BTF_PATH ": %s; recording needs the kernel's type information", strerror(errno));
	advise(out, "Use a kernel built with CONFIG_DEBUG_INFO_BTF=y.");
}

static void check_rights(struct finding *out)
{
	uint64_t usable = capabilities_usable();
	char missing[256] = "";

	if (capabilities_are_a_namespaces()) {
		conclude(out, VERDICT_IMPOSSIBLE,
			 "the rights of a user namespace do not count: the kernel lets only its "
			 "initial user namespace load BPF programs and attach probes");
		out->error = -EPERM;
		advise(out, "Record from outside of the container, with -p PID or --cgroup.");
	} else if (list_missing(usable, CAPABILITY_ALL, missing, sizeof(missing))) {
		conclude(out, VERDICT_IMPOSSIBLE,
			 "recording needs root: the kernel lets nobody else load BPF programs and "
			 "attach probes (%s)",
			 missing);
		out->error = -EPERM;
		advise(out, "Try 'sudo gcprof record -- COMMAND'; the program still runs as you. "
			    "Without root, perf can take timer samples of your own programs' "
			    "user code: 'perf record -e cpu-clock:u -g COMMAND'.");
	} else if (list_missing(usable, CAPABILITY_SOME, missing, sizeof(missing))) {
		conclude(out, VERDICT_LIMITED, "%s", missing);
		advise(out, "See gcprof-record(1), PRIVILEGES, for what needs each of them.");
	} else {
		conclude(out, VERDICT_GOOD, "all capabilities that recording uses");
	}
}

static void check_lockdown(struct finding *out)
{
	char line[128] = "";

	if (!read_line(LOCKDOWN_PATH, line, sizeof(line))) {
		conclude(out, VERDICT_GOOD, "none");
	} else if (strstr(line, "[confidentiality]")) {
		conclude(out, VERDICT_IMPOSSIBLE,
			 "the kernel is locked down for confidentiality: BPF programs cannot "
			 "read its memory");
		advise(out, "Boot without lockdown=confidentiality, or with lockdown=integrity.");
	} else {
		conclude(out, VERDICT_GOOD, "%s", line);
	}
}

/* The value of a setting in /proc/sys; `missing` if it cannot be read. */
static int64_t setting(const char *path, int64_t missing)
{
	char line[32];

	return read_line(path, line, sizeof(line)) ? strtoll(line, NULL, 10) : missing;
}

/*
 * CAP_PERFMON overrides the setting, except for the value 3 of Debian's kernels, their
 * default, which only CAP_SYS_ADMIN overrides. Before Linux 6.10 probes are perf events,
 * which need CAP_SYS_ADMIN whatever the setting.
 */
static void check_paranoid(struct finding *out)
{
	int64_t paranoid = setting("/proc/sys/kernel/perf_event_paranoid", -1);

	if (!capabilities_admin() && paranoid >= 3) {
		conclude(out, VERDICT_NOTE,
			 "kernel.perf_event_paranoid is %lld: without CAP_SYS_ADMIN, Debian's "
			 "kernels then refuse timers and mappings, and before Linux 6.10 probes",
			 (long long)paranoid);
		advise(out, "Set kernel.perf_event_paranoid to 2, or record with CAP_SYS_ADMIN.");
	} else if (!capabilities_admin() && !attach_multi_supported()) {
		conclude(out, VERDICT_NOTE,
			 "before Linux 6.10, attaching probes needs CAP_SYS_ADMIN");
		advise(out, "Record with CAP_SYS_ADMIN, or without allocations and collections.");
	} else {
		conclude(out, VERDICT_GOOD,
			 "kernel.perf_event_paranoid is %lld, which does not restrict a user who "
			 "may record",
			 (long long)paranoid);
	}
}

static void check_unprivileged(struct finding *out)
{
	conclude(out, VERDICT_GOOD,
		 "kernel.unprivileged_bpf_disabled is %lld; gcprof does not depend on it",
		 (long long)setting("/proc/sys/kernel/unprivileged_bpf_disabled", 0));
}

/* The kernel shows all addresses as 0 to users who may not see them, also those of BPF programs. */
static void check_kernel_addresses(struct finding *out)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[256];
	bool shown = false;

	for (int i = 0; file && i < 64 && !shown && fgets(line, sizeof(line), file); i++)
		shown = strtoull(line, NULL, 16) != 0;
	if (file)
		fclose(file);
	if (shown) {
		conclude(out, VERDICT_GOOD, "the kernel shows where the BPF programs are");
		return;
	}
	conclude(out, VERDICT_NOTE,
		 "the kernel hides where the BPF programs are (kernel.kptr_restrict is %lld): "
		 "their CPU time will count as the program's",
		 (long long)setting("/proc/sys/kernel/kptr_restrict", -1));
	advise(out, "Record with CAP_SYSLOG and kernel.kptr_restrict at most 1, or set "
		    "kernel.kptr_restrict to 0 and kernel.perf_event_paranoid to 1.");
}

static void check_limits(struct finding *out)
{
	const rlim_t least = FILES_LEAST + FILES_A_CPU * (rlim_t)sysconf(_SC_NPROCESSORS_CONF);
	struct rlimit lock = {0}, files = {0};
	char text[32] = "unlimited";

	getrlimit(RLIMIT_MEMLOCK, &lock);
	getrlimit(RLIMIT_NOFILE, &files);
	if (lock.rlim_cur != RLIM_INFINITY)
		snprintf(text, sizeof(text), "%llu KiB", (unsigned long long)lock.rlim_cur / 1024);
	conclude(out, VERDICT_GOOD,
		 "ulimit -l %s (BPF maps do not count against it), ulimit -n %llu", text,
		 (unsigned long long)files.rlim_cur);
	if (files.rlim_cur >= 256 && files.rlim_cur >= least)
		return;
	if (files.rlim_cur < least)
		conclude(out, VERDICT_IMPOSSIBLE,
			 "ulimit -n %llu is too low: recording takes up to %llu descriptors here, "
			 "and more for many files with probes",
			 (unsigned long long)files.rlim_cur, (unsigned long long)least);
	else
		out->verdict = VERDICT_LIMITED;
	advise(out, "Raise it (ulimit -n 1024): each map, probe and CPU takes descriptors.");
}

static void check_cgroups(struct finding *out)
{
	char mount[PATH_MAX];

	if (!cgroup_mount(mount, sizeof(mount))) {
		conclude(out, VERDICT_LIMITED,
			 "version 2 is not mounted: --cgroup cannot be used, all else works");
		advise(out, "Boot with systemd.unified_cgroup_hierarchy=1.");
	} else if (strcmp(mount, CGROUP_PATH) != 0) {
		conclude(out, VERDICT_NOTE,
			 "version 2 is mounted on %.128s: --cgroup takes its groups, but none of "
			 "version 1",
			 mount);
	} else {
		conclude(out, VERDICT_GOOD, "version 2, as --cgroup needs");
	}
}

static void check_tracefs(struct finding *out)
{
	conclude(out, VERDICT_GOOD, "%s; gcprof does not need it",
		 access(TRACEFS_PATH, R_OK) ? "not mounted, or not accessible" : "mounted");
}

static void check_libbpf(struct finding *out)
{
	conclude(out, VERDICT_GOOD, "libbpf %u.%u", libbpf_major_version(), libbpf_minor_version());
	if (libbpf_major_version() >= 1)
		return;
	out->verdict = VERDICT_LIMITED;
	advise(out, "gcprof is built for libbpf 1.1 or newer.");
}

const struct check check_table[] = {
	{"rights", true, check_rights},
	{"kernel", true, check_kernel},
	{"BTF", true, check_btf},
	{"lockdown", true, check_lockdown},
	{"libbpf", false, check_libbpf},
	{"limits", true, check_limits},
	{"kernel addresses", false, check_kernel_addresses},
	{"perf", false, check_paranoid},
	{"unprivileged BPF", false, check_unprivileged},
	{"cgroups", false, check_cgroups},
	{"tracefs", false, check_tracefs},
};
const size_t check_count = sizeof(check_table) / sizeof(check_table[0]);

int rights_check(struct problem *problem)
{
	for (size_t i = 0; i < check_count; i++) {
		struct finding finding = {0};

		if (!check_table[i].vital)
			continue;
		check_table[i].run(&finding);
		if (finding.verdict == VERDICT_IMPOSSIBLE)
			return problem_set(problem, finding.error,
					   "%s\n%s\n'gcprof doctor' shows more.", finding.found,
					   finding.advice);
	}
	return 0;
}

/* --- other recorders ---------------------------------------------------------------------- */

/* Every recorder loads the program with this name (bpf/gc.bpf.c). */
static bool is_recorders(uint32_t id)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(id);
	bool found;

	if (fd < 0)
		return false;
	found = !bpf_obj_get_info_by_fd(fd, &info, &size) && strcmp(info.name, "probe_fired") == 0;
	close(fd);
	return found;
}

bool others_may_record(void)
{
	unsigned recorders = 0;
	uint32_t id = 0;

	while (recorders < 2 && !bpf_prog_get_next_id(id, &id))
		recorders += is_recorders(id);
	/* If not even our own program is visible, others may be hidden, too. */
	return recorders != 1;
}
