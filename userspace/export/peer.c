/* SPDX-License-Identifier: BSD-2-Clause */
/* peer.c: whose program is at the other end of a connection within this machine. */
#include "peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Finds the socket in one of the kernel's tables; -1: it is not there. */
static long long owner_in(const char *table, unsigned from, unsigned to)
{
	char *line = NULL, loopback[16];
	long long owner = -1;
	size_t capacity = 0;
	FILE *file = fopen(table, "re");

	if (!file)
		return -1;
	snprintf(loopback, sizeof(loopback), "%08X", (unsigned)htonl(INADDR_LOOPBACK));
	while (owner < 0 && getline(&line, &capacity, file) > 0) {
		char address[40];
		unsigned local, remote, user;

		/* An IPv6 socket has the IPv4 address at the end of its own. */
		if (sscanf(line, " %*u: %36[0-9A-F]:%x %*36[0-9A-F]:%x %*x %*s %*s %*s %u", address,
			   &local, &remote, &user) == 4 &&
		    local == from && remote == to && strlen(address) >= strlen(loopback) &&
		    strcmp(address + strlen(address) - strlen(loopback), loopback) == 0)
			owner = user;
	}
	free(line);
	fclose(file);
	return owner;
}

bool peer_is_ours(int fd)
{
	struct sockaddr_in here, there;
	socklen_t size = sizeof(here), same = sizeof(there);
	long long owner;

	if (getsockname(fd, (struct sockaddr *)&here, &size) < 0 ||
	    getpeername(fd, (struct sockaddr *)&there, &same) < 0)
		return false;
	owner = owner_in("/proc/self/net/tcp", ntohs(there.sin_port), ntohs(here.sin_port));
	if (owner < 0)
		owner = owner_in("/proc/self/net/tcp6", ntohs(there.sin_port),
				 ntohs(here.sin_port));
	return owner == 0 || owner == (long long)getuid();
}
