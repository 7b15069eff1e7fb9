/* SPDX-License-Identifier: BSD-2-Clause */
/* walk_images.c: the walkers on stored stacks of real programs: the frames are those expected. */
#include <dirent.h>

#include "test.h"
#include "../unwind/replay.h"

#define FOLDER "tests/unwind/images"

typedef void check_image(const struct image *image, const struct replay *found);

static void with_image(const char *name, check_image *check)
{
	static struct replay found;
	struct image *image;
	char path[512];

	snprintf(path, sizeof(path), FOLDER "/%s", name);
	image = image_load(path);
	CHECK(image != NULL);
	if (image) {
		printf("%s: %s\n", name, image->about);
		replay(image, &found);
		check(image, &found);
	}
	image_free(image);
}

/* Each image whose name begins with `prefix`; says how many there are. */
static unsigned with_images(const char *prefix, check_image *check)
{
	unsigned count = 0;
	struct dirent *entry;
	DIR *folder = opendir(FOLDER);

	if (!folder)
		test_fail(__FILE__, __LINE__, FOLDER ": run this in the project's folder");
	while ((entry = readdir(folder))) {
		if (*entry->d_name == '.' || strncmp(entry->d_name, prefix, strlen(prefix)))
			continue;
		with_image(entry->d_name, check);
		count++;
	}
	closedir(folder);
	return count;
}

static void check_frames(const struct image *image, const struct replay *found)
{
	for (unsigned i = 0; i < found->n_native && i < image->n_native; i++)
		if (found->native[i].ip != image->native[i])
			test_fail(__FILE__, __LINE__, "frame %u is %" PRIx64 ", not %" PRIx64, i,
				  found->native[i].ip, image->native[i]);
	CHECK_EQ(found->n_native, image->n_native);
	CHECK_EQ(found->quality, 0);
	CHECK_EQ(found->n_managed, image->n_managed);
	for (unsigned i = 0; i < found->n_managed; i++) {
		CHECK_EQ(found->managed[i].code, image->managed[i].code);
		CHECK_EQ(found->managed[i].pc, image->managed[i].pc);
		CHECK_EQ(found->managed[i].address, image->managed[i].address);
	}
}

TEST(stored_stacks_have_the_frames_that_another_unwinder_found)
{
	CHECK(with_images("", check_frames) >= 20);
}

/* Each lies between two native ones, and there are several functions between some of them. */
static void check_interleaved(const struct image *image, const struct replay *found)
{
	unsigned native = 0, between = 0;

	CHECK(image->n_managed > 3);
	for (unsigned i = 0; i < found->n_managed; i++) {
		unsigned before = native;

		while (native < found->n_native &&
		       found->native[native].frame < found->managed[i].address)
			native++;
		CHECK(native < found->n_native);
		between += native > before;
	}
	CHECK(between > 3);
}

TEST(managed_frames_lie_between_native_ones)
{
	CHECK(with_images("lisp", check_interleaved) >= 1);
}

/* Without rows, most of these stacks end early: the rows are what is tested here. */
static unsigned ended_early;

static void check_without_rows(const struct image *image, const struct replay *found)
{
	static struct image bare;
	static struct replay again;

	bare = *image;
	bare.table.count = 0;
	replay(&bare, &again);
	CHECK_EQ(again.native[0].ip, found->native[0].ip);
	ended_early += again.n_native < found->n_native;
}

TEST(rows_are_needed_for_stored_stacks)
{
	unsigned images = with_images("", check_without_rows);

	CHECK(ended_early * 2 > images);
}

/* A walk that is cut off anywhere, or that reads anything, ends, and says why. */
static uint64_t damage_seed;

static void check_damaged(const struct image *image, const struct replay *found)
{
	static struct replay again;

	(void)found;
	for (unsigned round = 0; round < 50; round++) {
		const struct image_stretch *stretch =
			&image->stretches[test_random(&damage_seed) % image->n_stretches];
		uint64_t at = test_random(&damage_seed) % (stretch->size / 8) * 8;
		uint64_t kept, value = test_random(&damage_seed) % 4096 - 2048;

		memcpy(&kept, stretch->bytes + at, sizeof(kept));
		value += kept;
		memcpy(stretch->bytes + at, &value, sizeof(value));
		replay(image, &again);
		CHECK(again.n_native >= 1 && again.n_native <= STACK_DEPTH_MAX);
		CHECK_EQ(again.native[0].ip, image->ip);
		memcpy(stretch->bytes + at, &kept, sizeof(kept));
	}
}

TEST(damaged_stored_stacks_end)
{
	damage_seed = test_seed();
	with_images("", check_damaged);
}
