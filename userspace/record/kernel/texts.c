/* SPDX-License-Identifier: BSD-2-Clause */
/* texts.c: tells the kernel side where processes have code with breakpoints (bpf/text.bpf.c). */
#include "session.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <string.h>

#include "../../../bpf/text.h"
#include "attach.h"
#include "session_parts.h"

void texts_begin(const struct session *session)
{
	const struct gcprof_bpf *skeleton = session->skeleton;

	if (session->stops)
		attach_stops(session->probes,
			     (const int[STOPPED_FDS]){
				     [STOPPED_PROGRAM] = bpf_link__fd(session->stops),
				     [STOPPED_TEXTS] = bpf_map__fd(skeleton->maps.stopped_texts),
				     [PROBED_TEXT] = bpf_map__fd(skeleton->maps.probed_text),
				     [STOPPED_RING] = bpf_map__fd(skeleton->maps.ring_stopped),
			     });
}

static bool get(const struct session *session, uint32_t process, struct probed_text *out)
{
	*out = (struct probed_text){0};
	return session->skeleton->bss->texts_known &&
	       !bpf_map_lookup_elem(session_table_fd(session, TABLE_TEXTS), &process, out);
}

static void put(const struct session *session, uint32_t process, const struct probed_text *text)
{
	session->skeleton->bss->texts_known = 1;
	(void)table_put(session, TABLE_TEXTS, process, text);
}

void texts_expect(const struct session *session, uint32_t process)
{
	struct probed_text text;

	if (!get(session, process, &text))
		put(session, process, &text);
}

void texts_add(const struct session *session, const struct event_mmap *event)
{
	const uint32_t process = event->header.process;
	const struct probed_range range = {
		.start = event->address,
		.end = event->address + event->length,
		.shift = event->address - event->offset,
		.inode = event->inode,
	};
	struct probed_text text;

	(void)get(session, process, &text);
	for (uint32_t i = 0; i < text.count && i < PROBED_RANGES; i++)
		if (!memcmp(&text.ranges[i], &range, sizeof(range)))
			return;
	text.latest = event->header.time;
	if (text.count < PROBED_RANGES)
		text.ranges[text.count] = range;
	if (text.count <= PROBED_RANGES)
		text.count++;
	put(session, process, &text);
}

void texts_inherit(const struct session *session, uint32_t parent, uint32_t child)
{
	struct probed_text text;

	if (!get(session, parent, &text))
		return;
	put(session, child, &text);
}

void texts_exec(const struct session *session, uint32_t process, uint64_t time)
{
	struct probed_text text;

	if (!get(session, process, &text) || text.latest > time)
		return;
	text.count = 0;
	put(session, process, &text);
}

bool texts_replaced(const struct session *session, const struct event_replaced *event)
{
	const uint32_t process = event->header.process;
	struct probed_text text;
	bool found = false;

	if (!get(session, process, &text))
		return false;
	text.known = event->header.time;
	put(session, process, &text);
	for (uint32_t i = 0; i < text.count && i < PROBED_RANGES; i++)
		found |= text.ranges[i].start < event->end && event->start < text.ranges[i].end;
	return found;
}

void texts_forget(const struct session *session, uint32_t process)
{
	if (!session->skeleton->bss->texts_known)
		return;
	(void)bpf_map_delete_elem(session_table_fd(session, TABLE_TEXTS), &process);
	(void)bpf_map_delete_elem(bpf_map__fd(session->skeleton->maps.stopped_texts), &process);
}
