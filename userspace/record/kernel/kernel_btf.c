/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_btf.c: finds functions, typedefs and tracepoints in the kernel's own BTF. */
#include "kernel_btf.h"

#include <bpf/btf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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
