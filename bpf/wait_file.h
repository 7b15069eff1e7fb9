/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* wait_file.h: what kind of file the first argument of a system call names. */
/*
 * Whether a thread that waits for a socket serves a client or asks a server is decided by who
 * opened the connection: what accept() returns inherits the backlog of its listener (TCP) or its
 * address (Unix), which a connecting socket lacks.
 */
#ifndef GCPROF_WAIT_FILE_H
#define GCPROF_WAIT_FILE_H

#include "kernel.h"
#include "wait_events.h"

#define CALL_POLL  7
#define CALL_PPOLL 271

enum { FAMILY_UNIX = 1, FAMILY_INET = 2, FAMILY_INET6 = 10, SOCKET_STREAM = 1 };

enum {
	MODE_KIND = 0170000,
	MODE_PIPE = 0010000,
	MODE_DEVICE = 0020000,
	MODE_FOLDER = 0040000,
	MODE_BLOCKS = 0060000,
	MODE_FILE = 0100000,
	MODE_SOCKET = 0140000
};

/* Not relocated, since they never changed: see kernel.h. */
struct fd_table {
	unsigned int max_fds;
	void **fd;
};

struct inode_begin {
	uint16_t i_mode;
};

struct socket_begin {
	int state;
	int16_t type;
	unsigned long flags;
	void *file;
	struct sock *sk;
};

struct sock_begin {
	uint8_t addresses[12];
	uint16_t peer_port; /* big-endian; 0: not connected */
	uint16_t port;
	uint16_t family;
};

static __always_inline enum wait_file wait_socket(const struct socket_begin *from)
{
	struct socket_begin socket = {0};
	struct sock_begin begin = {0};
	struct sock *sk;

	if (bpf_probe_read_kernel(&socket, sizeof(socket), from) ||
	    bpf_probe_read_kernel(&begin, sizeof(begin), socket.sk))
		return WAIT_SOCKET;
	sk = socket.sk; /* no relocation of the structure above */
	if (begin.family == FAMILY_UNIX && bpf_core_field_exists(struct unix_sock, addr))
		return BPF_CORE_READ((struct unix_sock *)sk, addr) ? WAIT_CLIENT : WAIT_SOCKET;
	if (begin.family != FAMILY_INET && begin.family != FAMILY_INET6)
		return WAIT_SOCKET;
	if (socket.type != SOCKET_STREAM)
		return begin.peer_port ? WAIT_SERVER : WAIT_SOCKET;
	return BPF_CORE_READ(sk, sk_max_ack_backlog) ? WAIT_CLIENT : WAIT_SERVER;
}

static __always_inline enum wait_file wait_file_kind(struct file *file)
{
	const struct inode_begin *inode = (const void *)BPF_CORE_READ(file, f_inode);
	struct inode_begin begin = {0};

	if (bpf_probe_read_kernel(&begin, sizeof(begin), inode))
		return WAIT_NO_FILE;
	switch (begin.i_mode & MODE_KIND) {
	case MODE_FILE:
	case MODE_FOLDER:
	case MODE_BLOCKS:
		return WAIT_DISK_FILE;
	case MODE_PIPE:
		return WAIT_PIPE;
	case MODE_DEVICE:
		return WAIT_DEVICE;
	case MODE_SOCKET:
		return wait_socket(BPF_CORE_READ(file, private_data));
	default:
		return WAIT_OTHER_FILE;
	}
}

/* The descriptor that the call waits for; -1: none, or several. Only the current thread's memory
 * can be read. */
static __always_inline int wait_descriptor(uint32_t number, const uint64_t args[3], bool current)
{
	int descriptor = -1;

	if (number != CALL_POLL && number != CALL_PPOLL)
		return (int)args[0];
	if (current && args[1] == 1)
		bpf_probe_read_user(&descriptor, sizeof(descriptor), (const void *)args[0]);
	return descriptor;
}

/* The kind of file of a descriptor; `table`: the address of the thread's descriptors. A function of
 * its own, which the verifier checks once. WAIT_NO_FILE: none, or it was closed. */
__noinline uint32_t wait_file_at(uint64_t table, int descriptor)
{
	struct fd_table fds = {0};
	struct file *file = NULL;

	if (descriptor < 0 || bpf_probe_read_kernel(&fds, sizeof(fds), (const void *)table) ||
	    (unsigned int)descriptor >= fds.max_fds ||
	    bpf_probe_read_kernel(&file, sizeof(file), &fds.fd[descriptor]) || !file)
		return WAIT_NO_FILE;
	return wait_file_kind(file);
}

/* Of a call by this thread, with its user registers. */
static __always_inline uint32_t wait_file_of(struct task_struct *task, const struct pt_regs *regs,
					     uint32_t number, bool current)
{
	uint64_t args[3] = {0};

	call_args(regs, call_is_compat(task), args);
	return wait_file_at((uint64_t)BPF_CORE_READ(task, files, fdt),
			    wait_descriptor(number, args, current));
}

#endif
