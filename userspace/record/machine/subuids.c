/* SPDX-License-Identifier: BSD-2-Clause */
/* subuids.c: numbers of users that belong to another user, who pays for what they take. */
#include "subuids.h"

#include <ctype.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/invoker.h"

#define NAME_MAX_CHARS 256

/* Of the local users: others are not asked, since their server may not answer. */
static bool find_user(const char *name, uint32_t *out)
{
	FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *user = NULL;

	while (file && (user = fgetpwent(file)) && strcmp(user->pw_name, name) != 0)
		;
	if (user)
		*out = user->pw_uid;
	if (file)
		fclose(file);
	return user;
}

static bool parse(const char *line, struct user_range *out)
{
	char name[NAME_MAX_CHARS];

	if (sscanf(line, "%255[^:]:%" SCNu32 ":%" SCNu32, name, &out->first, &out->count) != 3)
		return false;
	if (isdigit((unsigned char)name[0]))
		out->owner = (uint32_t)strtoul(name, NULL, 10);
	else if (!find_user(name, &out->owner))
		return false;
	return out->owner;
}

size_t subuids_parse(const char *path, struct user_range out[USER_RANGES])
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0, n = 0;

	while (file && n < USER_RANGES && getline(&line, &size, file) > 0)
		n += parse(line, &out[n]);
	free(line);
	if (file)
		fclose(file);
	return n;
}

/* Root opens no file for tests that the environment of another user names. */
static const char *ranges_path(void)
{
	const char *test = getenv("GCPROF_TEST_SUBUID"), *variable;
	struct invoker invoker;

	if (test && !invoker_find(&invoker, &variable) && !invoker.change)
		return test;
	return "/etc/subuid";
}

const struct user_range *subuids(size_t *n)
{
	static struct user_range ranges[USER_RANGES];
	static size_t count;
	static bool is_read;

	if (!is_read)
		count = subuids_parse(ranges_path(), ranges);
	is_read = true;
	*n = count;
	return ranges;
}

uint32_t subuid_payer(uint32_t user)
{
	size_t n;
	const struct user_range *ranges = subuids(&n);

	for (size_t i = 0; i < n; i++)
		if (user - ranges[i].first < ranges[i].count)
			return ranges[i].owner;
	return user;
}
