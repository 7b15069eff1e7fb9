/* SPDX-License-Identifier: BSD-2-Clause */
/* needs.c: what the BPF programs need from a kernel, and the functions and types in its BTF. */
#include "needs.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

const struct need need_table[] = {
	{NEED_PROGRAM, BPF_PROG_TYPE_KPROBE, "BPF programs of probes", "4.1",
	 "report allocations and collections"},
	{NEED_PROGRAM, BPF_PROG_TYPE_PERF_EVENT, "BPF programs of perf events", "4.9",
	 "take timer samples"},
	{NEED_MAP, BPF_MAP_TYPE_RINGBUF, "BPF ring buffers", "5.8", "carry all records"},
	{NEED_MAP, BPF_MAP_TYPE_TASK_STORAGE, "BPF task storage", "5.11",
	 "holds the state of threads"},
	{NEED_ATOMIC, BPF_XCHG, "the atomic exchange of BPF programs", "5.12",
	 "keeps interrupted programs apart"},
	{NEED_HELPER, BPF_FUNC_get_task_stack, "bpf_get_task_stack()", "5.9",
	 "reads the kernel stacks of waiting threads"},
	{NEED_HELPER, BPF_FUNC_get_current_task_btf, "bpf_get_current_task_btf()", "5.11",
	 "finds the current thread"},
	{NEED_HELPER, BPF_FUNC_task_pt_regs, "bpf_task_pt_regs()", "5.15",
	 "finds where stacks begin"},
	{NEED_HELPER, BPF_FUNC_get_attach_cookie, "bpf_get_attach_cookie()", "5.15",
	 "tells probes apart"},
	{NEED_HELPER, BPF_FUNC_loop, "bpf_loop()", "5.17", "walks stacks"},
};
const size_t need_count = sizeof(need_table) / sizeof(need_table[0]);

static const struct bpf_insn nothing[] = {
	{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
	{.code = BPF_JMP | BPF_EXIT},
};

static bool loads(enum bpf_prog_type type, const struct bpf_insn *program, size_t n,
		  struct bpf_prog_load_opts *options)
{
	int fd = bpf_prog_load(type, NULL, "GPL", program, n, options);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool has_atomic(int operation)
{
	const struct bpf_insn program[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_STX | BPF_MEM | BPF_DW,
		 .dst_reg = BPF_REG_10,
		 .src_reg = BPF_REG_0,
		 .off = -8},
		{.code = BPF_STX | BPF_ATOMIC | BPF_DW,
		 .dst_reg = BPF_REG_10,
		 .src_reg = BPF_REG_0,
		 .off = -8,
		 .imm = operation},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return loads(BPF_PROG_TYPE_SOCKET_FILTER, program, sizeof(program) / sizeof(program[0]),
		     NULL);
}

/* What cannot be found out counts as present: loading the programs will tell. */
static bool is_present(const struct need *need)
{
	switch (need->kind) {
	case NEED_PROGRAM:
		return libbpf_probe_bpf_prog_type((enum bpf_prog_type)need->number, NULL) != 0;
	case NEED_MAP:
		return libbpf_probe_bpf_map_type((enum bpf_map_type)need->number, NULL) != 0;
	case NEED_HELPER:
		return libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, (enum bpf_func_id)need->number,
					       NULL) != 0;
	case NEED_ATOMIC:
		return has_atomic(need->number);
	}
	return true;
}

size_t needs_missing(const struct need *needs, size_t n, char *out, size_t size)
{
	size_t missing = 0, used = 0;

	for (size_t i = 0; i < n; i++) {
		if (is_present(&needs[i]))
			continue;
		if (used < size)
			used += (size_t)snprintf(out + used, size - used,
						 "%s%s (Linux %s), which %s", missing ? "; " : "",
						 needs[i].name, needs[i].since, needs[i].use);
		missing++;
	}
	return missing;
}

bool needs_calls_allowed(int disable, int enable)
{
	const struct bpf_insn program[] = {
		{.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL, .imm = disable},
		{.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = 3},
		{.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL, .imm = enable},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	struct bpf_func_info functions[] = {{.insn_off = 0}, {.insn_off = 5}};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .func_info = functions, .func_info_cnt = 2,
		    .func_info_rec_size = sizeof(functions[0]));
	struct btf *btf = btf__new_empty();
	bool allowed = false;
	int type;

	if (!btf)
		return false;
	btf__add_int(btf, "int", sizeof(int), BTF_INT_SIGNED);
	type = btf__add_func_proto(btf, 1);
	functions[0].type_id = (uint32_t)btf__add_func(btf, "caller", BTF_FUNC_STATIC, type);
	functions[1].type_id = (uint32_t)btf__add_func(btf, "callee", BTF_FUNC_GLOBAL, type);
	if (!btf__load_into_kernel(btf)) {
		options.prog_btf_fd = (uint32_t)btf__fd(btf);
		allowed = loads(BPF_PROG_TYPE_KPROBE, program, sizeof(program) / sizeof(program[0]),
				&options);
	}
	btf__free(btf);
	return allowed;
}

bool needs_sleep_allowed(int tracepoint)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_RAW_TP,
		    .attach_btf_id = (uint32_t)tracepoint, .prog_flags = BPF_F_SLEEPABLE);

	return loads(BPF_PROG_TYPE_TRACING, nothing, sizeof(nothing) / sizeof(nothing[0]),
		     &options);
}

/* Size of the data after a type's description: one element, or as many as it says. */
static size_t bytes_after(const struct btf_type *type)
{
	const size_t n = btf_vlen(type);

	switch (btf_kind(type)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return n * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return n * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return n * sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO:
		return n * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return n * sizeof(struct btf_var_secinfo);
	default:
		return 0;
	}
}

static void search(const struct btf_header *header, const char *const *names, int *const *numbers)
{
	const char *at = (const char *)header + header->hdr_len + header->type_off;
	const char *end = at + header->type_len;
	const char *strings = (const char *)header + header->hdr_len + header->str_off;

	for (int number = 1; at < end; number++) {
		const struct btf_type *type = (const void *)at;
		const bool named = btf_is_func(type) || btf_is_typedef(type);

		for (size_t i = 0; named && names[i]; i++)
			if (!strcmp(strings + type->name_off, names[i]))
				*numbers[i] = number;
		at += sizeof(*type) + bytes_after(type);
	}
}

void kernel_btf_find(const char *const *names, int *const *numbers)
{
	int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);
	void *map = MAP_FAILED;
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && st.st_size > 0)
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map != MAP_FAILED) {
		search(map, names, numbers);
		munmap(map, (size_t)st.st_size);
	}
	if (fd >= 0)
		close(fd);
}

/* The type that a pointer points to; NULL: it is none. */
static const struct btf_type *pointed_to(const struct btf *btf, uint32_t id)
{
	const struct btf_type *type = btf__type_by_id(btf, id);

	return type && btf_is_ptr(type) ? btf__type_by_id(btf, type->type) : NULL;
}

bool kernel_btf_has_task(const char *tracepoint)
{
	struct btf *btf = btf__load_vmlinux_btf();
	const struct btf_type *type = NULL;
	char name[64];
	int id;

	if (!btf)
		return false;
	/* A pointer to a function, whose first argument is the program's own. */
	snprintf(name, sizeof(name), "btf_trace_%s", tracepoint);
	id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
	if (id > 0)
		type = pointed_to(btf, btf__type_by_id(btf, (uint32_t)id)->type);
	if (type && btf_is_func_proto(type) && btf_vlen(type) > 1)
		type = pointed_to(btf, btf_params(type)[1].type);
	else
		type = NULL;
	id = type && btf_is_struct(type) &&
	     !strcmp(btf__name_by_offset(btf, type->name_off), "task_struct");
	btf__free(btf);
	return id;
}
