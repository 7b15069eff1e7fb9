/* SPDX-License-Identifier: BSD-2-Clause */
/* symbols_rig.h: makes files with symbols in a scratch folder and looks names up in them. */
#ifndef GCPROF_SYMBOLS_RIG_H
#define GCPROF_SYMBOLS_RIG_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"
#include "symbols/symbols.h"

/* Goes to a scratch folder, which rig_leave() removes. */
static inline void rig_enter(void)
{
	char folder[] = "/tmp/gcprof-symbols-XXXXXX";

	/* What a file names is opened if everybody may read it. */
	CHECK(mkdtemp(folder) != NULL && !chmod(folder, 0755));
	CHECK_EQ(chdir(folder), 0);
}

static inline void rig_leave(void)
{
	CHECK_EQ(system("rm -rf \"$PWD\""), 0);
	CHECK_EQ(chdir("/"), 0);
}

static inline void rig_run(const char *command)
{
	if (system(command) != 0)
		test_fail(__FILE__, __LINE__, "failed: %s", command);
}

static inline void rig_write(const char *path, const char *const *lines)
{
	FILE *file = fopen(path, "w");

	CHECK(file != NULL);
	for (; file && *lines; lines++)
		fprintf(file, "%s\n", *lines);
	if (file)
		fclose(file);
}

/* The first line that a command prints. */
static inline const char *rig_output(const char *command)
{
	static char line[4096];
	FILE *pipe = popen(command, "r");

	if (!pipe || !fgets(line, sizeof(line), pipe))
		line[0] = 0;
	if (pipe)
		pclose(pipe);
	line[strcspn(line, "\n")] = 0;
	return line;
}

/* Where the first function whose symbol matches (a regular expression) lies in the file. */
static inline uint64_t rig_offset(const char *file, const char *function)
{
	uint64_t address, offset = 0, start = 0;
	char command[512];

	snprintf(command, sizeof(command), "nm %s | awk '$3 ~ /^(%s)$/ {print $1; exit}'", file,
		 function);
	address = strtoull(rig_output(command), NULL, 16);
	CHECK(address > 0);
	snprintf(command, sizeof(command),
		 "readelf -lW %s | awk '/LOAD/ && / R E / {print $2, $3; exit}'", file);
	CHECK_EQ(sscanf(rig_output(command), "%" SCNx64 " %" SCNx64, &offset, &start), 2);
	return address - start + offset;
}

/* The outermost function at an offset. */
static inline struct symbol rig_find(struct symbols *symbols, const char *file, const void *id,
				     size_t size, uint64_t offset)
{
	struct symbol found[SYMBOLS_MAX];

	return symbols_native(symbols, file, id, size, offset, found) ? found[0]
								      : (struct symbol){0};
}

/* Fails unless the function at the offset has this name (NULL: none). */
static inline void rig_expect(const char *file, uint64_t offset, const char *name)
{
	struct symbols *symbols;
	struct symbol symbol;

	CHECK_EQ(symbols_create(NULL, &symbols), 0);
	symbol = rig_find(symbols, file, NULL, 0, offset);
	CHECK_STR(symbol.name ? symbol.name : "(none)", name ? name : "(none)");
	symbols_free(symbols);
}

#endif
