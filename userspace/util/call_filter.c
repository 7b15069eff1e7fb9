/* SPDX-License-Identifier: BSD-2-Clause */
/* call_filter.c: leaves this process only the system calls that its job needs. */
#include "call_filter.h"

#include <errno.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct call_allowed common[] = {
	/* Private memory without code. */
	{SCMP_SYS(mmap), 2, PROT_EXEC, 0, 3, MAP_TYPE, MAP_PRIVATE},
	{SCMP_SYS(mprotect), 2, PROT_EXEC, 0, 0, 0, 0},
	CALL_ANY(munmap),
	CALL_ANY(mremap),
	CALL_ANY(madvise),
	CALL_ANY(brk),
	/* qsort() asks for the amount of memory. */
	CALL_ANY(sysinfo),
	CALL_ANY(getrandom),
	CALL_ANY(clock_gettime),
	CALL_ANY(futex),
	CALL_ANY(rt_sigprocmask),
	CALL_ANY(rt_sigreturn),
	CALL_ANY(exit),
	CALL_ANY(exit_group),
#ifdef __SANITIZE_ADDRESS__ /* its report, written before the process ends */
	CALL_WITH(write, 0, STDERR_FILENO),
	CALL_ANY(sigaltstack),
	CALL_ANY(gettid),
	CALL_ANY(getpid),
	CALL_ANY(sched_yield),
#endif
};

static int add_rows(scmp_filter_ctx filter, const struct call_allowed *rows, size_t n)
{
	int err = 0;

	for (const struct call_allowed *row = rows; row < rows + n && !err; row++) {
		const struct scmp_arg_cmp compare[] = {
			{(unsigned)row->argument, SCMP_CMP_MASKED_EQ, row->mask, row->value},
			{(unsigned)row->second, SCMP_CMP_MASKED_EQ, row->second_mask,
			 row->second_value},
		};
		unsigned count = row->argument < 0 ? 0 : row->second_mask ? 2 : 1;

		err = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, row->call, count, compare);
		if (err == -EEXIST) /* allowed already */
			err = 0;
	}
	return err;
}

int call_filter_enter(const struct call_allowed *rows, size_t n)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	int err = filter ? add_rows(filter, rows, n) : -ENOMEM;

	if (!err)
		err = add_rows(filter, common, sizeof(common) / sizeof(common[0]));
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}
