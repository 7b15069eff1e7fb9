/* SPDX-License-Identifier: BSD-2-Clause */
/* iterate.c: runs a BPF iterator. */
#include "iterate.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

int iterate_once(const struct bpf_link *iterator)
{
	char nothing[64];
	ssize_t n;
	int fd = bpf_iter_create(bpf_link__fd(iterator));

	if (fd < 0)
		return fd;
	/* The program prints nothing; reading runs it. */
	do
		n = read(fd, nothing, sizeof(nothing));
	while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	n = n < 0 ? -errno : 0;
	close(fd);
	return (int)n;
}
