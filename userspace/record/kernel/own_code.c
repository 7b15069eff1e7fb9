/* SPDX-License-Identifier: BSD-2-Clause */
/* own_code.c: separates the time of recording from the program's own, by kernel stack. */
/*
 * The kernel reveals where its machine code of our programs is. Between a tracepoint or breakpoint
 * and a program are at least two functions that only call such programs, for instance
 *
 *	bpf_prog_..._syscall_exit <- bpf_trace_run2 <- __bpf_trace_sys_exit <- syscall_exit_work
 *
 * A thread in the first of them has a return address into the second on its stack. Stacks with one
 * of our programs show these addresses. Programs of other tracers at the same place count as
 * recording too, once they have a frame: they are not the program's either.
 */
#include "session.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "../../util/buffer.h"

enum {
	CALLERS_MAX = 64,    /* more than there are callers */
	FUNCTIONS_MAX = 256, /* per program */
	CALLER_DEPTH = 2,    /* frames from our outermost one to the return address */
};

struct range {
	uint64_t begin, end;
};

struct own_code {
	struct buffer ranges; /* struct range[] */
	uint64_t callers[CALLERS_MAX];
	size_t n_callers;
};

int own_code_create(struct own_code **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void own_code_free(struct own_code *own)
{
	if (!own)
		return;
	buffer_free(&own->ranges);
	free(own);
}

int own_code_add(struct own_code *own, uint64_t begin, uint64_t length)
{
	struct range range = {begin, begin + length};

	return buffer_append(&own->ranges, &range, sizeof(range));
}

int own_code_add_program(struct own_code *own, const struct bpf_program *program)
{
	uint64_t begins[FUNCTIONS_MAX] = {0}; /* stay so if the kernel hides addresses */
	uint32_t lengths[FUNCTIONS_MAX], size, count;
	struct bpf_prog_info info = {
		.jited_ksyms = (uintptr_t)begins,
		.nr_jited_ksyms = FUNCTIONS_MAX,
		.jited_func_lens = (uintptr_t)lengths,
		.nr_jited_func_lens = FUNCTIONS_MAX,
	};
	int fd = bpf_program__fd(program), err = 0;

	size = sizeof(info);
	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		return 0;
	count = info.nr_jited_ksyms < info.nr_jited_func_lens ? info.nr_jited_ksyms
							      : info.nr_jited_func_lens;
	for (uint32_t i = 0; i < count && i < FUNCTIONS_MAX && !err; i++)
		if (begins[i])
			err = own_code_add(own, begins[i], lengths[i]);
	return err;
}

bool own_code_is_known(const struct own_code *own)
{
	return own->ranges.size > 0;
}

static bool is_own(const struct own_code *own, uint64_t address)
{
	const struct range *ranges = (const void *)own->ranges.data;

	for (size_t i = 0; i < own->ranges.size / sizeof(*ranges); i++)
		if (address >= ranges[i].begin && address <= ranges[i].end)
			return true;
	return false;
}

static bool is_caller(const struct own_code *own, uint64_t address)
{
	for (size_t i = 0; i < own->n_callers; i++)
		if (own->callers[i] == address)
			return true;
	return false;
}

bool own_code_has(struct own_code *own, const uint64_t *frames, size_t count)
{
	for (size_t i = count; i > 0; i--) {
		uint64_t frame = frames[i - 1];

		if (is_caller(own, frame))
			return true;
		if (!is_own(own, frame))
			continue;
		/* A function of ours that was just entered has no frame yet, so its caller is not
		 * found. */
		if (i > 1 && i - 1 + CALLER_DEPTH < count && own->n_callers < CALLERS_MAX)
			own->callers[own->n_callers++] = frames[i - 1 + CALLER_DEPTH];
		return true;
	}
	return false;
}
