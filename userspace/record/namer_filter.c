// SPDX-License-Identifier: BSD-2-Clause
/* namer_filter.c: the few system calls that the process which finds names may make. */
/*
 * The table is turned into a program for the kernel's seccomp filter: for each row
 * a comparison of the call's number and, where there are flags that must not be
 * given, one of its third argument. That is little enough to need no library.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "namer_filter.h"

#define WRITING (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND)

static const struct row {
	uint32_t number;
	uint32_t refused; /* bits of the third argument */
} rows[] = {
	/* Requests and answers; messages of the C library on standard error. */
	{SYS_recvmsg, 0},
	{SYS_poll, 0},
	{SYS_sendto, 0},
	{SYS_write, 0},
	/* Files. Where they are opened the kernel asks for the rights of nobody. */
	{SYS_openat, WRITING},
	{SYS_pread64, 0},
	{SYS_read, 0},
	{SYS_lseek, 0},
	{SYS_fstat, 0},
	{SYS_newfstatat, 0},
	{SYS_readlink, 0},
	{SYS_close, 0},
	{SYS_fcntl, 0},
	/* Memory, none of it code. */
	{SYS_mmap, PROT_EXEC},
	{SYS_mprotect, PROT_EXEC},
	{SYS_munmap, 0},
	{SYS_mremap, 0},
	{SYS_madvise, 0},
	{SYS_brk, 0},
	/* The C library: sorting asks how much memory there is, abort() for the thread. */
	{SYS_sysinfo, 0},
	{SYS_getrandom, 0},
	{SYS_clock_gettime, 0},
	{SYS_futex, 0},
	{SYS_sched_yield, 0},
	{SYS_getpid, 0},
	{SYS_gettid, 0},
	{SYS_tgkill, 0},
	{SYS_rt_sigprocmask, 0},
	{SYS_rt_sigaction, 0},
	{SYS_rt_sigreturn, 0},
	{SYS_sigaltstack, 0},
	{SYS_exit, 0},
	{SYS_exit_group, 0},
};

#define ROWS        (sizeof(rows) / sizeof(rows[0]))
#define ROW_STEPS   5 /* at most */
#define OTHER_STEPS 5

#define REFUSE (SECCOMP_RET_ERRNO | ENOSYS)

struct program {
	struct sock_filter steps[ROWS * ROW_STEPS + OTHER_STEPS];
	unsigned short count;
};

static void put(struct program *program, uint16_t code, uint32_t value, uint8_t yes, uint8_t no)
{
	program->steps[program->count++] = (struct sock_filter){code, yes, no, value};
}

static void put_load(struct program *program, uint32_t offset)
{
	put(program, BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
}

static void put_result(struct program *program, uint32_t result)
{
	put(program, BPF_RET | BPF_K, result, 0, 0);
}

/* With the call's number loaded; goes on to what follows if it is another one. */
static void put_row(struct program *program, const struct row *row)
{
	put(program, BPF_JMP | BPF_JEQ | BPF_K, row->number, 0, row->refused ? 4 : 1);
	if (row->refused) {
		/* The low half: flags have no bits beyond it. */
		put_load(program, offsetof(struct seccomp_data, args[2]));
		put(program, BPF_JMP | BPF_JSET | BPF_K, row->refused, 0, 1);
		put_result(program, REFUSE);
	}
	put_result(program, SECCOMP_RET_ALLOW);
}

int namer_filter_enter(void)
{
	struct program program = {.count = 0};
	struct sock_fprog whole = {.filter = program.steps};

	/* Other tables of numbers, of 32-bit calls, would make others of these. */
	put_load(&program, offsetof(struct seccomp_data, arch));
	put(&program, BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	put_result(&program, REFUSE);
	put_load(&program, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < ROWS; i++)
		put_row(&program, &rows[i]);
	put_result(&program, REFUSE);
	whole.len = program.count;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole, 0, 0) ? -errno : 0;
}
