/* SPDX-License-Identifier: BSD-2-Clause */
/* opener_rig.h: an opener, a folder for it, and files in there. */
#ifndef GCPROF_OPENER_RIG_H
#define GCPROF_OPENER_RIG_H

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "test.h"
#include "record/world/files.h"
#include "record/opener/opener.h"

/* A file need not use all of it. */
#define RIG static __attribute__((unused))

static char folder[] = "/tmp/gcprof-opener-XXXXXX";

RIG struct opener *begin(void)
{
	struct opener *opener;

	CHECK(mkdtemp(folder) && !chdir(folder));
	CHECK_EQ(opener_create(true, &opener), 0);
	return opener;
}

RIG void end(struct opener *opener)
{
	char command[64];

	opener_free(opener);
	CHECK(!chdir("/"));
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	CHECK_EQ(system(command), 0);
}

RIG void make_file(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && !close(fd));
}

/* The file `name` of the folder as it would be if nobody had it mapped any more. */
RIG struct module_place place_of(const char *name)
{
	static char path[256];
	struct module_place place = {.path = path, .start = 0x1000, .end = 0x2000};
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	CHECK_EQ(stat(path, &st), 0);
	place.inode = st.st_ino;
	place.major = major(st.st_dev);
	place.minor = minor(st.st_dev);
	place.pid = 0x7ffffff0;
	return place;
}

RIG bool has_text(int fd, const char *text)
{
	char read[64] = "";
	bool same = fd >= 0 && pread(fd, read, sizeof(read) - 1, 0) >= 0 && !strcmp(read, text);

	if (fd >= 0)
		close(fd);
	return same;
}

/* What it complained of, "" if nothing. */
RIG const char *trouble_of(struct opener *opener)
{
	const char *text = opener_trouble(opener);

	return text ? text : "";
}

RIG void keep_result(void *context, const struct opener_result *result)
{
	*(struct opener_result *)context = *result;
}

/* Opens a file and waits: the descriptor or a negative errno. `out` may be NULL. */
RIG int open_now(struct opener *opener, const struct module_place *place, struct opener_file *out)
{
	struct opener_result result = {.err = -EINPROGRESS};
	int err = opener_open(opener, place, keep_result, &result);

	if (!err)
		opener_settle(opener, UINT64_C(60000000000));
	if (out)
		*out = result.file;
	return err ? err : result.err ? result.err : result.fd;
}

#endif
