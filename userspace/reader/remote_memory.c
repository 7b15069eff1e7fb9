// SPDX-License-Identifier: BSD-2-Clause
/* remote_memory.c: reads the memory of a program through a privileged helper process. */
/*
 * Each answer costs two process switches, so pages are cached, and consecutive ones are requested
 * several at a time. Larger batches would only touch pages that the program itself does not use.
 */
#include "remote_memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

enum {
	PAGE = 4096,
	PAGES = 256, /* cached */
	AHEAD = 8,   /* pages requested if the previous page is cached */
	ANSWER_PAGES = REMOTE_ANSWER_MAX / PAGE,
};

struct page {
	uint64_t address;
	size_t size; /* readable bytes from its start */
	bool known;
};

struct remote {
	int socket, err;
	uint64_t number; /* of the last request */
	struct page pages[PAGES];
	/* Not initialised: clearing them would take longer than most answers. */
	char bytes[PAGES][PAGE];
	char answer[REMOTE_ANSWER_MAX];
};

/* A killed reader may have left answers in the socket, so numbers start with the time. */
int remote_open(int socket, struct remote **out)
{
	struct remote *memory = malloc(sizeof(*memory));
	struct timespec now;

	if (!memory)
		return -ENOMEM;
	memset(memory, 0, offsetof(struct remote, bytes));
	clock_gettime(CLOCK_MONOTONIC, &now);
	memory->number = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
	memory->socket = socket;
	*out = memory;
	return 0;
}

void remote_close(struct remote *memory)
{
	free(memory);
}

void remote_forget(struct remote *memory)
{
	memset(memory->pages, 0, sizeof(memory->pages));
}

int remote_error(const struct remote *memory)
{
	return memory->err;
}

/* Receives the next answer: the number of bytes in memory->answer. The socket has a timeout. */
static size_t receive(struct remote *memory)
{
	struct remote_answer head;
	struct iovec parts[] = {{&head, sizeof(head)}, {memory->answer, sizeof(memory->answer)}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	ssize_t n;

	do
		n = recvmsg(memory->socket, &message, 0);
	while ((n < 0 && errno == EINTR) ||
	       (n >= (ssize_t)sizeof(head) && head.number != memory->number));
	/* If it can, the process ends itself in this case. */
	if (n < (ssize_t)sizeof(head)) {
		memory->err = -ETIMEDOUT;
		return 0;
	}
	return head.err ? 0 : (size_t)n - sizeof(head);
}

static size_t remote_memory_ask(struct remote *memory, uint64_t address, size_t size)
{
	const struct remote_request request = {
		.number = ++memory->number, .address = address, .size = (uint32_t)size};

	if (memory->err)
		return 0;
	if (send(memory->socket, &request, sizeof(request), MSG_NOSIGNAL) < 0) {
		memory->err = -ETIMEDOUT;
		return 0;
	}
	return receive(memory);
}

static size_t slot_of(uint64_t address)
{
	return address / PAGE % PAGES;
}

static bool remote_memory_is_known(const struct remote *memory, uint64_t address)
{
	const struct page *page = &memory->pages[slot_of(address)];

	return page->known && page->address == address;
}

/* Requests a page and the following ones for `size` bytes, or more of them. */
static void fetch(struct remote *memory, uint64_t address, size_t size)
{
	size_t count = (size + PAGE - 1) / PAGE, n;

	if (count < AHEAD && remote_memory_is_known(memory, address - PAGE))
		count = AHEAD;
	if (count > ANSWER_PAGES)
		count = ANSWER_PAGES;
	n = remote_memory_ask(memory, address, count * PAGE);
	for (size_t at = 0; at == 0 || at < n; at += PAGE) {
		size_t slot = slot_of(address + at);
		struct page *page = &memory->pages[slot];
		size_t part = n - at < PAGE ? n - at : PAGE;

		memcpy(memory->bytes[slot], memory->answer + at, part);
		page->address = address + at;
		page->size = part;
		page->known = true;
	}
}

size_t remote_read(struct remote *memory, uint64_t address, void *out, size_t size)
{
	size_t done = 0;

	/* Kernel addresses, and addresses that would wrap around. */
	if (address > INT64_MAX - REMOTE_ANSWER_MAX || size > INT64_MAX - address)
		return 0;
	while (done < size) {
		uint64_t at = (address + done) / PAGE * PAGE;
		size_t offset = (size_t)(address + done - at), part = size - done;
		const struct page *page = &memory->pages[slot_of(at)];

		if (!remote_memory_is_known(memory, at))
			fetch(memory, at, offset + part);
		if (page->size <= offset)
			return done;
		if (part > page->size - offset)
			part = page->size - offset;
		memcpy((char *)out + done, memory->bytes[slot_of(at)] + offset, part);
		done += part;
	}
	return done;
}
