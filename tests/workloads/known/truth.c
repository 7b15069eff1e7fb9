/* SPDX-License-Identifier: BSD-2-Clause */
/* truth.c: what `known` did, as one line of JSON. */
#include <sys/syscall.h>
#include <unistd.h>

#include "known.h"

static const char *const function_names[N_FUNCTIONS] = {
	[ALLOC_SMALL] = "alloc_small", [ALLOC_MEDIUM] = "alloc_medium",
	[ALLOC_LARGE] = "alloc_large", [BURN_A] = "burn_a",
	[BURN_B] = "burn_b",           [BURN_C] = "burn_c",
	[DO_SYSCALLS] = "do_syscalls",
};

static const char *const call_names[N_CALLS] = {
	[CALL_GETPPID] = "getppid", [CALL_READ] = "read",   [CALL_WRITE] = "write",
	[CALL_OPENAT] = "openat",   [CALL_CLOSE] = "close", [CALL_NANOSLEEP] = "nanosleep",
};

/* The sums over all threads. */
static struct worker add_up(const struct known *known)
{
	struct worker sum = {0};
	for (uint32_t t = 0; t < known->threads; t++) {
		const struct worker *worker = &known->workers[t];
		for (int i = 0; i < N_KINDS; i++) {
			sum.objects[i] += worker->objects[i];
			sum.survivors[i] += worker->survivors[i];
		}
		for (int i = 0; i < N_FUNCTIONS; i++) {
			sum.alloc_bytes[i] += worker->alloc_bytes[i];
			sum.cpu_ns[i] += worker->cpu_ns[i];
		}
		for (int i = 0; i < N_CALLS; i++) {
			sum.calls[i] += worker->calls[i];
			sum.call_errors[i] += worker->call_errors[i];
		}
		sum.slept_ns += worker->slept_ns;
	}
	return sum;
}

static void print_types(FILE *out, const struct worker *sum)
{
	fputs("\"types\":{", out);
	for (int i = 0; i < N_KINDS; i++) {
		uint64_t objects = sum->objects[i];
		double survive = objects ? (double)sum->survivors[i] / (double)objects : 0;
		fprintf(out,
			"%s\"%s\":{\"objects\":%llu,\"bytes\":%llu,\"survive\":%.9g,"
			"\"survivors\":%llu}",
			i ? "," : "", kinds[i].name, (unsigned long long)objects,
			(unsigned long long)(objects * GC_ALIGN(kinds[i].size)), survive,
			(unsigned long long)sum->survivors[i]);
	}
	fputc('}', out);
}

static void print_functions(FILE *out, const struct worker *sum)
{
	fputs(",\"functions\":{", out);
	for (int i = 0; i < N_FUNCTIONS; i++)
		fprintf(out, "%s\"%s\":{\"alloc_bytes\":%llu,\"cpu_ns\":%llu}", i ? "," : "",
			function_names[i], (unsigned long long)sum->alloc_bytes[i],
			(unsigned long long)sum->cpu_ns[i]);
	fputc('}', out);
}

static void print_counts(FILE *out, const char *name, const uint64_t *counts)
{
	fprintf(out, ",\"%s\":{", name);
	for (int i = 0; i < N_CALLS; i++)
		fprintf(out, "%s\"%s\":%llu", i ? "," : "", call_names[i],
			(unsigned long long)counts[i]);
	fputc('}', out);
}

void truth_print(const struct known *known)
{
	struct worker sum = add_up(known);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		die("out of memory");
	sum.calls[CALL_WRITE]++; /* the one below */
	fputc('{', out);
	print_types(out, &sum);
	print_functions(out, &sum);
	print_counts(out, "syscalls", sum.calls);
	print_counts(out, "syscall_errors", sum.call_errors);
	fprintf(out, ",\"sleep_ns\":%llu,\"minor\":%llu,\"threads\":%u}\n",
		(unsigned long long)sum.slept_ns, (unsigned long long)known->minor, known->threads);
	if (fclose(out))
		die("out of memory");
	if (syscall(SYS_write, STDOUT_FILENO, text, size) != (long)size)
		die("cannot write the result in one piece: %s", strerror(errno));
	free(text);
}
