// SPDX-License-Identifier: BSD-2-Clause
/* store_providers.c: tests of the names of providers on their way into a profile. */
#include "store_rig.h"

/* `place` is of the file in the events of its probes. */
static void send_provider(uint32_t process, uint32_t pid, uint8_t place, const char *name,
			  const char *version)
{
	size_t padded = (strlen(name) + 7) & ~(size_t)7;
	struct event_provider *provider =
		event(EVENT_provider, sizeof(*provider) + padded + strlen(version), process, pid);

	provider->header.provider = place;
	provider->name_size = (uint16_t)strlen(name);
	provider->version_size = (uint16_t)strlen(version);
	memcpy(provider + 1, name, strlen(name));
	memcpy((char *)(provider + 1) + padded, version, strlen(version));
	CHECK_EQ(send_event(), 0);
}

static void send_alloc_of(uint32_t process, uint32_t pid, uint8_t place)
{
	struct event_alloc *alloc = event(EVENT_alloc, sizeof(*alloc), process, pid);

	alloc->header.provider = place;
	alloc->provider = place;
	alloc->sample = alloc->bytes = alloc->period = 1;
	alloc->kind = GCPROF_SAMPLE_NURSERY;
	CHECK_EQ(send_event(), 0);
}

/* With its first sample, as types, in each process. */
TEST(providers_have_names)
{
	begin();
	send_provider(1, 100, 5, "never used", "");
	send_provider(1, 100, 6, "agent", "1.0");
	send_fork(1, 100, 2, 200);
	send_alloc_of(1, 100, 6);
	send_alloc_of(1, 100, 6);
	send_alloc_of(2, 200, 7);
	send_alloc_of(2, 200, 6);
	send_provider(2, 200, 7, "runtime", "");
	finish();
	CHECK_EQ(count(RECORD_runtime), 3);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(nth(RECORD_runtime, i)->runtime.process, i + 1);
		CHECK_EQ(nth(RECORD_runtime, i)->runtime.provider, 2);
		CHECK_STR(seen.strings[nth(RECORD_runtime, i)->runtime.name], "agent");
		CHECK_STR(seen.strings[nth(RECORD_runtime, i)->runtime.version], "1.0");
	}
	CHECK_STR(seen.strings[nth(RECORD_runtime, 2)->runtime.name], "runtime");
	CHECK_EQ(nth(RECORD_runtime, 2)->runtime.version, 0);
	CHECK_EQ(nth(RECORD_runtime, 2)->runtime.provider, 3);
}
