/* SPDX-License-Identifier: BSD-2-Clause */
/* codes.c: the managed functions of the process, for frames in profiles. */
#include "internal.h"

#include <stdlib.h>

struct code {
	char *name;
	char *file; /* or NULL */
	uint32_t line;
};

/* Like their ids, codes belong to the process and are never taken back. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct code *codes;
static uint32_t count, capacity;

static void announce(uint32_t index)
{
	probe_code(&(struct probe_code){
		.code = index + 1,
		.name = codes[index].name,
		.file = codes[index].file,
		.line = codes[index].line,
	});
}

static bool grow(void)
{
	uint32_t more = capacity ? capacity * 2 : 64;
	struct code *larger;

	if (count < capacity)
		return true;
	larger = more > capacity ? realloc(codes, more * sizeof(*codes)) : NULL;
	if (!larger)
		return false;
	codes = larger;
	capacity = more;
	return true;
}

uint32_t gc_code(const char *name, const char *file, uint32_t line)
{
	struct code code = {strdup(name), file ? strdup(file) : NULL, line};
	uint32_t id = 0;

	pthread_mutex_lock(&lock);
	if (code.name && (!file || code.file) && grow()) {
		codes[count++] = code;
		id = count;
		announce(count - 1);
	}
	pthread_mutex_unlock(&lock);
	if (!id) {
		free(code.name);
		free(code.file);
	}
	return id;
}

/* In the child of a fork: whoever held the lock is not here. */
void codes_forked(void)
{
	pthread_mutex_init(&lock, NULL);
}

/* All of them, to a profiler that came later. */
void codes_announce(void)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < count; i++)
		announce(i);
	pthread_mutex_unlock(&lock);
}
