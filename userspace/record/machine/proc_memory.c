// SPDX-License-Identifier: BSD-2-Clause
/* proc_memory.c: reads a program's memory without holding its memory map lock. */
#include "proc_memory.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

ssize_t proc_memory_fetch(uint32_t pid, uint64_t address, void *room, size_t size)
{
	struct iovec here = {room, size}, there = {(void *)(uintptr_t)address, size};
	ssize_t n = process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0);

	return n < 0 ? -errno : n;
}

ssize_t proc_memory_read(int memory, uint32_t pid, uint64_t address, void *out, size_t size)
{
	ssize_t n = proc_memory_fetch(pid, address, out, size);

	if (n <= 0)
		return n;
	n = pread(memory, out, (size_t)n, (off_t)address);
	return n < 0 ? -errno : n ? n : -ESRCH;
}
