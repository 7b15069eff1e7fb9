/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* count.bpf.c: the smallest program that counts system calls by number, for comparison. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#define NUMBERS 512

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NUMBERS);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

SEC("raw_tp/sys_enter")
int count_call(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 number = ctx->args[1] & (NUMBERS - 1);
	__u64 *count = bpf_map_lookup_elem(&counts, &number);

	if (count)
		++*count;
	return 0;
}
