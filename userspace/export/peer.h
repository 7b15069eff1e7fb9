/* SPDX-License-Identifier: BSD-2-Clause */
/* peer.h: whose program is at the other end of a connection within this machine. */
#ifndef GCPROF_PEER_H
#define GCPROF_PEER_H

#include <stdbool.h>

/*
 * Whether the other end of a TCP connection over the IPv4 loopback address belongs to this
 * process's user or to root. False also if that cannot be found out.
 */
bool peer_is_ours(int fd);

#endif
