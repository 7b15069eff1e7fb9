/* SPDX-License-Identifier: BSD-2-Clause */
/* texts.c: tells the kernel side where processes have code with breakpoints (bpf/text.bpf.c). */
#include "texts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>

#include "session_parts.h"

static bool get(const struct session *session, uint32_t process, struct probed_text *out)
{
	*out = (struct probed_text){0};
	return session->skeleton->bss->texts_known &&
	       !bpf_map_lookup_elem(session_table_fd(session, TABLE_TEXTS), &process, out);
}

static void put(const struct session *session, uint32_t process, const struct probed_text *text)
{
	session->skeleton->bss->texts_known = 1;
	(void)bpf_map_update_elem(session_table_fd(session, TABLE_TEXTS), &process, text, BPF_ANY);
}

void texts_expect(const struct session *session, uint32_t process)
{
	struct probed_text text;

	if (!get(session, process, &text))
		put(session, process, &text);
}

/* With more ranges than there is room for, all code counts. */
void texts_add(const struct session *session, const struct event_mmap *event)
{
	const uint32_t process = event->header.process;
	const uint64_t end = event->address + event->length;
	struct probed_text text;

	(void)get(session, process, &text);
	for (uint32_t i = 0; i < text.count; i++)
		if (text.start[i] == event->address && text.end[i] == end)
			return;
	text.latest = event->header.time;
	if (text.count < PROBED_RANGES) {
		text.start[text.count] = event->address;
		text.end[text.count++] = end;
	} else {
		text.start[0] = 0;
		text.end[0] = UINT64_MAX;
	}
	put(session, process, &text);
}

void texts_inherit(const struct session *session, uint32_t parent, uint32_t child)
{
	struct probed_text text;

	if (!get(session, parent, &text))
		return;
	text.handled = 0;
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

void texts_go_on(const struct session *session, uint32_t process)
{
	struct process_state state;
	struct probed_text text;

	if (!get(session, process, &text) ||
	    bpf_map_lookup_elem(session_table_fd(session, TABLE_PROCESSES), &process, &state))
		return;
	text.handled = state.stops;
	put(session, process, &text);
}

void texts_forget(const struct session *session, uint32_t process)
{
	if (session->skeleton->bss->texts_known)
		(void)bpf_map_delete_elem(session_table_fd(session, TABLE_TEXTS), &process);
}
