/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* kernel.h: the kernel structures that the BPF programs read, relocated at load time. */
/*
 * Only the fields used are declared. Loading the object relocates their offsets by the running
 * kernel's BTF. struct pt_regs is ABI, so <asm/ptrace.h> defines it.
 */
#ifndef GCPROF_KERNEL_H
#define GCPROF_KERNEL_H

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/types.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "verifier.h"

typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
typedef __s16 int16_t;
typedef __s32 int32_t;
typedef __s64 int64_t;
typedef __u8 bool;
#define UINT64_C(x) x##ull
#define NULL        ((void *)0)

#define PF_EXITING 0x4
#define PF_KTHREAD 0x200000
#define TASK_DEAD  0x80 /* in task_struct.__state, in all versions */
#define PROT_EXEC  0x4

struct pid_namespace;
struct task_struct;

/*
 * Not relocated, since they never changed: to look up a structure in the kernel's BTF takes one to
 * three milliseconds.
 */

/* The number of a process in one of its namespaces. */
struct upid {
	int nr;
	struct pid_namespace *ns;
};

/* The context of the iterator over threads. */
struct bpf_iter_meta {
	void *seq;
	uint64_t session_id;
	uint64_t seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_info {
	uint32_t status;
};

struct thread_struct {
	unsigned long fsbase; /* base of thread-local storage */
};

/* As in /proc/PID/schedstat; a kernel may be built without it. */
struct sched_info {
	unsigned long long run_delay; /* ns runnable without a CPU */
};

enum { RSS_FILE, RSS_ANONYMOUS, RSS_SWAP, RSS_SHARED, RSS_KINDS };

/* Since Linux 6.2. In pages; leaves out what CPUs have not folded in yet. */
struct percpu_counter {
	int64_t count;
};

/* Not 0: locked, or waited for. */
struct rw_semaphore {
	struct {
		long counter;
	} count;
};

struct mm_struct {
	struct percpu_counter rss_stat[RSS_KINDS];
	struct rw_semaphore mmap_lock;
	unsigned long start_stack; /* top of the first thread's stack at program start */
	unsigned long arg_start, arg_end, env_end; /* command line, then environment */
};

/* Before Linux 6.2. */
struct mm_rss_stat {
	struct {
		int64_t counter;
	} count[RSS_KINDS];
};

struct mm_struct___6_1 {
	struct mm_rss_stat rss_stat;
};

struct pid {
	uint32_t level;
	struct upid numbers[1]; /* one per level, the initial namespace first */
};

struct kernfs_node {
	uint64_t id;
};

struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[1]; /* one per level, the last is the cgroup itself */
};

struct css_set {
	struct cgroup *dfl_cgrp; /* in the cgroup v2 hierarchy */
};

typedef struct {
	uint32_t val;
} kuid_t;

struct cred {
	kuid_t uid;
	kuid_t suid;
	kuid_t euid;
};

/* The run queue of a CPU. */
struct rq {
	uint64_t clock;      /* scheduler clock at its last update */
	uint64_t clock_task; /* without interrupt and stolen time */
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	uint64_t exec_start;       /* rq.clock_task at the last update of the next field */
	uint64_t sum_exec_runtime; /* CPU time, ns */
	struct cfs_rq *cfs_rq;     /* with scheduler groups only */
};

struct files_struct {
	void *fdt;
};

struct file {
	void *private_data;
	void *f_inode;
};

struct sock {
	uint32_t sk_max_ack_backlog;
};

struct unix_sock {
	void *addr; /* NULL: it has none */
};

struct task_struct {
	struct thread_info thread_info;
	uint32_t __state;
	uint32_t flags;
	int on_cpu;
	struct sched_entity se;
	struct sched_info sched_info;
	int exit_code;
	int pid;
	int tgid;
	unsigned int in_execve : 1;
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	struct pid *thread_pid;
	struct css_set *cgroups;
	struct mm_struct *mm;
	struct files_struct *files;
	struct cred *real_cred;
	unsigned long nvcsw;
	unsigned long nivcsw;
	unsigned long min_flt;
	unsigned long maj_flt;
	char comm[16];
	struct thread_struct thread;
};

struct linux_binprm {
	const char *filename;
};

#pragma clang attribute pop

#define PAGE_BYTES 4096

/*
 * A macro, because the relocation needs `kind` as a constant. It tests for the field, not the type:
 * for an unknown type libbpf searches the modules' BTF, which requires CAP_SYS_ADMIN.
 */
#define RSS_PAGES(mm, kind)                                                                    \
	(bpf_core_field_exists(((struct mm_struct___6_1 *)(mm))->rss_stat)                     \
		 ? BPF_CORE_READ((struct mm_struct___6_1 *)(mm), rss_stat.count[kind].counter) \
		 : BPF_CORE_READ(mm, rss_stat[kind].count))

/* Resident set size of the current process in bytes; 0 if it has no memory of its own. */
static __always_inline uint64_t rss_bytes(void)
{
	struct mm_struct *mm = BPF_CORE_READ(bpf_get_current_task_btf(), mm);
	int64_t pages;

	if (!mm)
		return 0;
	pages = RSS_PAGES(mm, RSS_FILE) + RSS_PAGES(mm, RSS_ANONYMOUS) + RSS_PAGES(mm, RSS_SHARED);
	return pages > 0 ? (uint64_t)pages * PAGE_BYTES : 0;
}

/* Registers for a stack walk, in the order of struct event_copy. */
struct user_regs {
	uint64_t ax, dx, cx, bx, si, di, bp, sp, r8, r9, r10, r11, r12, r13, r14, r15, ip;
	uint64_t narrow; /* 1: in 32-bit code */
};

#ifdef __TARGET_ARCH_x86

#define TS_COMPAT          0x2 /* thread_info.status: in a 32-bit call */
#define USER32_CS          0x23
#define CALL_EXECVE        59
#define CALL_EXECVEAT      322
#define CALL_MMAP          9
#define CALL_MPROTECT      10
#define CALL_MREMAP        25
#define CALL_PKEY_MPROTECT 329
#define CALL_FUTEX         202
#define CALL_EXIT          60 /* wakes threads that join this one */
#define CALL_EXIT_GROUP    231
#define CALL_FUTEX_WAKE    454
#define CALL_FUTEX_REQUEUE 456

static __always_inline bool regs_user_mode(const struct pt_regs *regs)
{
	return (regs->cs & 3) == 3;
}

/* Only those that the walkers need. */
static __always_inline void regs_user(const struct pt_regs *regs, struct user_regs *out)
{
	out->ip = regs->rip;
	out->narrow = regs->cs == USER32_CS;
	out->sp = regs->rsp;
	out->bp = regs->rbp;
	out->bx = regs->rbx;
	out->ax = regs->rax;
	out->di = regs->rdi;
	out->r13 = regs->r13;
}

/* The others, for stack dumps. */
static __always_inline void regs_user_rest(const struct pt_regs *regs, struct user_regs *out)
{
	out->dx = regs->rdx;
	out->cx = regs->rcx;
	out->si = regs->rsi;
	out->r8 = regs->r8;
	out->r9 = regs->r9;
	out->r10 = regs->r10;
	out->r11 = regs->r11;
	out->r12 = regs->r12;
	out->r14 = regs->r14;
	out->r15 = regs->r15;
}

static __always_inline uint64_t thread_storage(struct task_struct *task)
{
	return BPF_CORE_READ(task, thread.fsbase);
}

static __always_inline bool call_is_compat(struct task_struct *task)
{
	return !!(task->thread_info.status & TS_COMPAT);
}

/* The current system call, or -1: the thread entered the kernel otherwise. */
static __always_inline int64_t call_number(const struct pt_regs *regs)
{
	return (int32_t)regs->orig_rax;
}

static __always_inline void call_args(const struct pt_regs *regs, bool compat, uint64_t args[3])
{
	args[0] = compat ? (uint32_t)regs->rbx : regs->rdi;
	args[1] = compat ? (uint32_t)regs->rcx : regs->rsi;
	args[2] = compat ? (uint32_t)regs->rdx : regs->rdx;
}

/* The fourth and fifth, of a 64-bit call. */
static __always_inline void call_args_rest(const struct pt_regs *regs, uint64_t args[2])
{
	args[0] = regs->r10;
	args[1] = regs->r8;
}

#else
#error "registers and call numbers of this machine are not known yet"
#endif

#endif
