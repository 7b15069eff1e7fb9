/* SPDX-License-Identifier: BSD-2-Clause */
/* syscalls.h: system calls, summed over processes; names of their numbers. */
#ifndef GCPROF_SYSCALLS_H
#define GCPROF_SYSCALLS_H

#include "../../bpf/events.h"
#include "../profile/record.h"
#include "call_windows.h"
#include "divide.h"
#include "model.h"

struct map;
struct pass;

/* Of one call in one process, or of one call in all. */
struct call {
	uint64_t number; /* bit 31: of the 32-bit table */
	uint64_t count, errors, total_ns, max_ns, gc_count, gc_ns;
	uint64_t waits, wait_ns, wait_max;   /* off the CPU; only in totals */
	uint64_t histogram[SYSCALL_BUCKETS]; /* of records: each as often as it stands for */
	struct call_part part;               /* of records, where some are selected */
};

struct calls {
	struct call *items; /* number 0 is none */
	size_t count, capacity;
	struct map *index; /* {process, number} -> number of the item */
};

/* Totals that the kernel side kept, and sums of the records themselves. */
struct syscalls {
	struct record_syscall slow[SLOW_CALLS]; /* longest first */
	size_t n_slow;
	bool arguments; /* are recorded */
	struct calls totals;
	struct calls records;
	struct call_windows windows;
	struct map *cpu; /* number -> CPU time in the call by timer samples, ns */
};

/* Histograms as profiles store them: FORMAT.md. What makes no sense ends it. */
void histogram_read(struct bytes data, uint64_t histogram[SYSCALL_BUCKETS]);
uint64_t histogram_middle(uint32_t bucket);

/* Adds figures and histogram. */
void call_merge(struct call *into, const struct call *from);

/* As it is, without estimates. The name is NULL without memory. */
struct model_syscall syscall_row(const struct call *call, const struct model *model);

int syscalls_init(struct syscalls *syscalls);
void syscalls_free(struct syscalls *syscalls);

int syscalls_record(struct pass *pass, const struct record_syscall *record);
int syscalls_total(struct pass *pass, const struct record_syscall_total *record);
int syscalls_cpu(struct pass *pass, const struct record_call_cpu *record);
int syscalls_window(struct pass *pass, const struct record_call_window *record);

/*
 * Rows into model->syscalls. For each call of each process the kernel's total
 * counts; the records instead where there are more of them, as after the recorder
 * was killed between two totals. What was not traced is estimated (call_windows.h), unless
 * only a part of the profile is selected.
 */
int syscalls_finish(struct pass *pass);

/* Bit of a call's number that says that it is of the 32-bit table. */
#define SYSCALL_NUMBER_COMPAT (UINT64_C(1) << 31)

/* The name of a call, "syscall_1234" if it has none; lives as long as the model. NULL: no memory.
 */
const char *syscall_describe(const struct model *model, uint64_t number);

/* One call, to be shown. */
struct syscall_call {
	uint64_t number; /* bit 31: of the 32-bit table, whose arguments are not known */
	const char *name;
	const char *path; /* among the arguments; NULL: unknown */
	uint64_t args[3];
	int64_t result;
	bool unfinished;
	bool arguments; /* are known */
};

enum { SYSCALL_TEXT = 320 };

/* The call of a record. Its name is NULL. */
struct syscall_call syscall_of_record(const struct pass *pass, const struct record_syscall *record);

/* "AT_FDCWD, \"/etc/passwd\", 0x80000", cut to `size` with its final zero. */
void syscall_arguments(const struct syscall_call *call, char *out, size_t size);

/* "openat(AT_FDCWD, \"/etc/passwd\", 0x80000) = 3", cut to `size` with its final zero. */
void syscall_text(const struct syscall_call *call, char *out, size_t size);

/* That text, which lives as long as the model; name and arguments are filled in. NULL: no memory.
 */
const char *syscall_tell(const struct pass *pass, struct syscall_call call);

/* NULL: not known. `machine` as uname -m tells it. */
const char *syscall_name(const char *machine, uint64_t number);

#endif
