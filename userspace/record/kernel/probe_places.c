/* SPDX-License-Identifier: BSD-2-Clause */
/* probe_places.c: files with probes, and their places in the kernel side's table. */
#include "attach.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../util/map.h"
#include "../machine/subuids.h"
#include "attach_parts.h"

enum { NOP = 0x90 };

struct probe_places {
	int table;
	uint32_t used; /* places */
	uint32_t providers;
	unsigned count[PROBES];
	struct map *first;  /* struct file_key to the first place */
	struct map *owners; /* owner of files to the number of their places */
	bool in_use[PROBE_PLACES_MAX];
	struct probed files[PROBE_PLACES_MAX]; /* by first place */
};

int probe_places_create(struct probe_places **out)
{
	struct probe_places *places = calloc(1, sizeof(*places));

	if (!places)
		return -ENOMEM;
	places->first = map_create(sizeof(struct file_key));
	places->owners = map_create(sizeof(uint64_t));
	if (!places->first || !places->owners) {
		probe_places_free(places);
		return -ENOMEM;
	}
	*out = places;
	return 0;
}

static void forget(struct probed *file)
{
	if (file->count)
		close(file->fd);
	free(file->sites);
	free(file->probes);
	*file = (struct probed){0};
}

void probe_places_free(struct probe_places *places)
{
	if (!places)
		return;
	for (uint32_t i = 0; i < PROBE_PLACES_MAX; i++)
		forget(&places->files[i]);
	map_free(places->first);
	map_free(places->owners);
	free(places);
}

void probe_places_begin(struct probe_places *places, int table)
{
	places->table = table;
}

/* The first of `count` consecutive free places. */
static uint32_t find_room(const struct probe_places *places, uint32_t count)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < PROBE_PLACES_MAX && i - first < count; i++)
		if (places->in_use[i])
			first = i + 1;
	return first + count <= PROBE_PLACES_MAX ? first : PLACES_NONE;
}

/* Writes the argument locations for the kernel side. */
static int put_places(const struct probe_places *places, const struct file *file, uint32_t first)
{
	for (uint32_t i = 0; i < file->facts.n_sites; i++) {
		uint32_t key = first + i;
		struct probe_place place = file->sites[i].place;
		int err;

		place.provider = file->provider;
		place.first = (uint16_t)first;
		err = bpf_map_update_elem(places->table, &key, &place, BPF_ANY);
		if (err)
			return err;
	}
	return 0;
}

void probe_places_silence(const struct probe_places *places, uint32_t first)
{
	const struct probe_place silent = {.probe = UINT32_MAX};

	for (uint32_t i = 0; i < places->files[first].count; i++) {
		uint32_t key = first + i;

		(void)bpf_map_update_elem(places->table, &key, &silent, BPF_ANY);
	}
}

static void set_site(struct attacher_site *out, const struct probe_site *site)
{
	*out = (struct attacher_site){.offset = site->offset,
				      .semaphore = site->semaphore,
				      .code = {NOP},
				      .code_size = 1};
	if (site->place.probe != PROBE_PLACE)
		return;
	memcpy(out->code, site->code, sizeof(out->code));
	out->code_size = sizeof(out->code);
}

/* A runtime's place counts as a probe of ours. */
static uint8_t counts_as(const struct probe_place *place)
{
	enum place_report report;

	if (place->probe != PROBE_PLACE)
		return (uint8_t)place->probe;
	report = runtime_get(place->runtime)->places[place->place].report;
	return report == PLACE_SAMPLE        ? PROBE_sample
	       : report == PLACE_PAUSE_BEGIN ? PROBE_gc_begin
	       : report == PLACE_PAUSE_END   ? PROBE_gc_end
					     : PROBES;
}

static int copy(struct probed *out, const struct file *file)
{
	uint32_t count = file->facts.n_sites;

	*out = (struct probed){.user = file->user, .key = file->key, .provider = file->provider};
	out->sites = calloc(count, sizeof(*out->sites));
	out->probes = calloc(count, sizeof(*out->probes));
	out->fd = out->sites && out->probes ? fcntl(file->fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (out->fd < 0) {
		int err = out->sites && out->probes ? -errno : -ENOMEM;

		forget(out);
		return err;
	}
	out->count = count;
	for (uint32_t i = 0; i < count; i++) {
		set_site(&out->sites[i], &file->sites[i]);
		out->probes[i] = counts_as(&file->sites[i].place);
	}
	return 0;
}

/* Places that the owner of a file may still use: a quarter in all, if not root. */
static uint32_t places_left(const struct probe_places *places, uint64_t user, uint64_t used)
{
	uint32_t all = PROBE_PLACES_MAX - places->used, share = PROBE_PLACES_MAX / 4;

	if (!user)
		return all;
	share = used < share ? share - (uint32_t)used : 0;
	return share < all ? share : all;
}

uint32_t probe_places_find(const struct probe_places *places, const struct file *file)
{
	const uint64_t *first = map_get(places->first, &file->key);

	return first ? (uint32_t)*first : PLACES_NONE;
}

int probe_places_take(struct probe_places *places, struct file *file, uint32_t *out)
{
	uint32_t count = file->facts.n_sites, first = find_room(places, count);
	uint64_t user = subuid_payer(file->user), *used = map_put(places->owners, &user, NULL),
		 *slot;
	int err;

	if (!used)
		return -ENOMEM;
	if (count > places_left(places, user, *used) || first == PLACES_NONE)
		return -E2BIG;
	file->provider = (uint8_t)(places->providers++ % PROVIDERS_MAX + 1);
	err = put_places(places, file, first);
	err = err ? err : copy(&places->files[first], file);
	if (err)
		return err;
	slot = map_put(places->first, &file->key, NULL);
	if (!slot) {
		forget(&places->files[first]);
		return -ENOMEM;
	}
	*slot = *out = first;
	memset(&places->in_use[first], true, count);
	places->used += count;
	*used += count;
	return 0;
}

struct probed *probe_places_at(struct probe_places *places, uint32_t first)
{
	return &places->files[first];
}

void probe_places_attached(struct probe_places *places, uint32_t first)
{
	struct probed *file = &places->files[first];

	for (uint32_t i = 0; !file->counted && i < file->count; i++)
		if (file->probes[i] < PROBES)
			places->count[file->probes[i]]++;
	file->counted = true;
}

void probe_places_leave(struct probe_places *places, uint32_t first)
{
	struct probed *file = &places->files[first];
	uint64_t *used = map_get(places->owners, &file->user);

	memset(&places->in_use[first], false, file->count);
	places->used -= file->count;
	if (used)
		*used -= file->count;
	map_remove(places->first, &file->key);
	forget(file);
}

unsigned probe_places_sites(const struct probe_places *places, enum probe_number probe)
{
	return places->count[probe];
}
