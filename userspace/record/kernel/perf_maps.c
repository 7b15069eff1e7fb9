/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_maps.c: executable mappings of traced processes, from the kernel's perf rings. */
/*
 * One event per CPU that counts nothing. Opened on the started program and inherited by its
 * children, it reports only their mappings. For running programs it would take one event per
 * thread; the event is then opened for all processes, and the receiver filters.
 */
#include "perf_maps.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Of each CPU's ring: a power of two, and fewer if there are many CPUs. */
enum { RING_PAGES_MAX = 1024, RING_PAGES_MIN = 256, RING_PAGES_ALL = 4096 };
enum { RECORDS_MAX = 8192 }; /* per ring and call: 7 ms, or more if of many processes */

struct ring {
	struct perf_event_mmap_page *control;
	const unsigned char *data;
};

struct perf_maps {
	struct ring *rings;
	int *fds;
	size_t count;
	size_t page, pages; /* bytes; of a ring */
	uint64_t lost, bad;
	const struct perf_maps_visitor *visitor;
	/* Records are copied here, because they may wrap around the end of the ring. */
	union {
		struct perf_event_header header;
		unsigned char bytes[1 << 16];
	} record;
};

/* PERF_RECORD_MMAP2 up to the file name. */
struct mmap2 {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t address, length, offset;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t protection, flags;
};

/* What sample_type appends to every record. */
struct trailer {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
};

#define SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

static int ring_open(struct perf_maps *maps, pid_t pid, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = SAMPLE_TYPE,
		.inherit = pid != PERF_MAPS_ALL,
		.mmap = 1,
		.mmap2 = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		/* Wakes us at once, since a mapped file may have probes. (wakeup_events counts
		 * samples only.) */
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	size_t bytes = (1 + maps->pages) * maps->page;
	int fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	void *memory;

	if (fd < 0)
		return -errno;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		int err = -errno;
		close(fd);
		return err;
	}
	maps->rings[maps->count] = (struct ring){
		.control = memory,
		.data = (const unsigned char *)memory + maps->page,
	};
	maps->fds[maps->count++] = fd;
	return 0;
}

int perf_maps_open(pid_t pid, struct perf_maps **out, struct problem *problem)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct perf_maps *maps = calloc(1, sizeof(*maps));
	int err = -ENOMEM;

	if (!maps || cpus < 1)
		goto out;
	maps->page = (size_t)sysconf(_SC_PAGESIZE);
	maps->pages = RING_PAGES_MAX;
	while (maps->pages > RING_PAGES_MIN && maps->pages * (size_t)cpus > RING_PAGES_ALL)
		maps->pages /= 2;
	maps->rings = calloc((size_t)cpus, sizeof(maps->rings[0]));
	maps->fds = calloc((size_t)cpus, sizeof(maps->fds[0]));
	if (!maps->rings || !maps->fds)
		goto out;
	for (int cpu = 0; cpu < cpus; cpu++) {
		err = ring_open(maps, pid, cpu);
		if (err && err != -ENODEV)
			goto out;
	}
	err = maps->count ? 0 : -ENODEV;
out:
	if (err) {
		perf_maps_free(maps);
		return problem_set(problem, err, "mappings cannot be watched: %s", strerror(-err));
	}
	*out = maps;
	return 0;
}

/* Converts a mapping to the form of other events: with a header and a zero-padded name. */
static void convert(struct perf_maps *maps, const struct mmap2 *from, const char *name,
		    const struct trailer *trailer)
{
	struct {
		struct event_mmap event;
		char name[NAME_BYTES_MAX + 8];
	} to = {0};
	size_t length = strlen(name);

	if (length > NAME_BYTES_MAX)
		length = NAME_BYTES_MAX;
	to.event.header = (struct event_header){
		.size = (uint32_t)(sizeof(to.event) + ((length + 7) & ~(size_t)7)),
		.code = EVENT_mmap,
		.cpu = (uint16_t)trailer->cpu,
		.time = trailer->time,
		.pid = from->pid,
		.tid = from->pid,
	};
	to.event.address = from->address;
	to.event.length = from->length;
	to.event.offset = from->offset;
	to.event.inode = from->inode;
	to.event.major = from->major;
	to.event.minor = from->minor;
	to.event.protection = from->protection;
	to.event.name_size = (uint32_t)length;
	memcpy(to.name, name, length);
	maps->visitor->mapping(maps->visitor->context, &to.event, name);
}

static void record_handle(struct perf_maps *maps, size_t size)
{
	const unsigned char *bytes = maps->record.bytes;
	struct trailer trailer;
	struct mmap2 mapping;
	uint64_t lost;

	switch (maps->record.header.type) {
	case PERF_RECORD_MMAP2:
		if (size < sizeof(mapping) + sizeof(trailer) + 1)
			break;
		memcpy(&mapping, bytes, sizeof(mapping));
		memcpy(&trailer, bytes + size - sizeof(trailer), sizeof(trailer));
		if (!memchr(bytes + sizeof(mapping), '\0',
			    size - sizeof(mapping) - sizeof(trailer)))
			break;
		convert(maps, &mapping, (const char *)bytes + sizeof(mapping), &trailer);
		return;
	case PERF_RECORD_LOST:
		if (size < sizeof(struct perf_event_header) + 16)
			break;
		memcpy(&lost, bytes + sizeof(struct perf_event_header) + 8, sizeof(lost));
		maps->lost += lost;
		return;
	default:
		return; /* thread exits, throttling and the like */
	}
	maps->bad++;
}

static void ring_copy(struct perf_maps *maps, const struct ring *ring, uint64_t at, size_t size)
{
	size_t bytes = maps->pages * maps->page;
	size_t start = at & (bytes - 1);
	size_t first = size < bytes - start ? size : bytes - start;

	memcpy(maps->record.bytes, ring->data + start, first);
	memcpy(maps->record.bytes + first, ring->data, size - first);
}

/* False if some is left. */
static bool ring_drain(struct perf_maps *maps, struct ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->control->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->control->data_tail;
	int budget = RECORDS_MAX;

	while (head - tail >= sizeof(struct perf_event_header) && budget-- > 0) {
		size_t size;

		ring_copy(maps, ring, tail, sizeof(struct perf_event_header));
		size = maps->record.header.size;
		if (size < sizeof(struct perf_event_header) || size > head - tail) {
			maps->bad++;
			tail = head;
			break;
		}
		ring_copy(maps, ring, tail, size);
		record_handle(maps, size);
		tail += size;
	}
	__atomic_store_n(&ring->control->data_tail, tail, __ATOMIC_RELEASE);
	return head - tail < sizeof(struct perf_event_header);
}

bool perf_maps_drain(struct perf_maps *maps, const struct perf_maps_visitor *visitor)
{
	bool emptied = true;

	maps->visitor = visitor;
	for (size_t i = 0; i < maps->count; i++)
		emptied &= ring_drain(maps, &maps->rings[i]);
	return emptied;
}

uint64_t perf_maps_lost(const struct perf_maps *maps)
{
	return maps->lost;
}

uint64_t perf_maps_bad(struct perf_maps *maps)
{
	uint64_t bad = maps->bad;

	maps->bad = 0;
	return bad;
}

size_t perf_maps_fds(const struct perf_maps *maps, const int **fds)
{
	*fds = maps->fds;
	return maps->count;
}

void perf_maps_free(struct perf_maps *maps)
{
	if (!maps)
		return;
	for (size_t i = 0; i < maps->count; i++) {
		munmap(maps->rings[i].control, (1 + maps->pages) * maps->page);
		close(maps->fds[i]);
	}
	free(maps->rings);
	free(maps->fds);
	free(maps);
}
