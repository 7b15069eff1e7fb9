/* SPDX-License-Identifier: BSD-2-Clause */
/* syscall_text.c: a system call as text: name(arguments) = result. */
#include "syscall_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../../bpf/events.h"
#include "../../../bpf/syscall_args.h"
#include "../model.h"
#include "arena.h"
#include "tree.h"
#include "world.h"

enum { HERE = -100 /* AT_FDCWD */, FUTEX_COMMAND = 127, ERRNO_MAX = 4095 };

static const struct {
	bool known;
	enum syscall_arg kinds[SYSCALL_ARGS_MAX];
} calls[] = {
#define SYSCALL_ARGS(number, name, a, b, c) [number] = {true, {ARG_##a, ARG_##b, ARG_##c}},
#include "../../../bpf/syscall_args_x86_64.def"
#undef SYSCALL_ARGS
};

static const char *const futex_operations[] = {
	"wait",           "wake",        NULL,          "requeue",
	"cmp_requeue",    "wake_op",     "lock_pi",     "unlock_pi",
	"trylock_pi",     "wait_bitset", "wake_bitset", "wait_requeue_pi",
	"cmp_requeue_pi", "lock_pi2",
};

static int put_futex(char *out, size_t size, uint64_t value)
{
	uint64_t operation = value & FUTEX_COMMAND;

	if (operation < sizeof(futex_operations) / sizeof(*futex_operations) &&
	    futex_operations[operation])
		return snprintf(out, size, "%s", futex_operations[operation]);
	return snprintf(out, size, "0x%" PRIx64, value);
}

/* An argument of a kind that has words. */
struct word {
	enum syscall_arg kind;
	uint32_t mask, value;
	const char *name;
};

#define ALL UINT32_MAX
static const struct word words[] = {
#define WORD(kind, mask, value, name) {ARG_##kind, mask, value, #name},
#include "syscall_words.def"
#undef WORD
};
#undef ALL

static bool has_words(enum syscall_arg kind)
{
	return kind >= ARG_OPEN;
}

/* "O_RDWR|O_CREAT|0x40000000": words, and the bits that have none. Returns the length needed. */
static int put_words(char *out, size_t size, enum syscall_arg kind, uint32_t value)
{
	uint32_t rest = value;
	int used = 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words) && (size_t)used < size; i++) {
		const struct word *word = &words[i];

		if (word->kind != kind || (value & word->mask) != word->value ||
		    (word->value && (rest & word->value) != word->value))
			continue;
		used += snprintf(out + used, size - (size_t)used, "%s%s", used ? "|" : "",
				 word->name);
		rest &= ~word->mask;
	}
	if (!rest && !used)
		return snprintf(out, size, "0");
	if (rest && (size_t)used < size)
		used += snprintf(out + used, size - (size_t)used, "%s0x%" PRIx32, used ? "|" : "",
				 rest);
	return used;
}

static int put_argument(char *out, size_t size, enum syscall_arg kind, uint64_t value,
			const char *path)
{
	if (has_words(kind))
		return put_words(out, size, kind, (uint32_t)value);
	switch (kind) {
	case ARG_DIRFD:
		if ((int32_t)value == HERE)
			return snprintf(out, size, "AT_FDCWD");
		return snprintf(out, size, "%" PRId32, (int32_t)value);
	case ARG_FD:
	case ARG_SIGNED:
		return snprintf(out, size, "%" PRId32, (int32_t)value);
	case ARG_PATH:
		if (path)
			return snprintf(out, size, "\"%.160s\"", path);
		return snprintf(out, size, "0x%" PRIx64, value);
	case ARG_SIZE:
	case ARG_COUNT:
	case ARG_NUMBER:
		return snprintf(out, size, "%" PRIu64, value);
	case ARG_MODE:
		return snprintf(out, size, "0%" PRIo64, value);
	case ARG_FUTEX:
		return put_futex(out, size, value);
	default:
		return snprintf(out, size, "0x%" PRIx64, value);
	}
}

/* Returns the length needed, which may exceed `size`. */
static size_t put_arguments(const struct syscall_call *call, char *out, size_t size)
{
	uint64_t number = call->number;
	bool known = number < sizeof(calls) / sizeof(*calls) && calls[number].known;
	unsigned count = syscall_args_of(number);
	size_t used = 0;

	*out = 0;
	if (!call->arguments)
		return (size_t)snprintf(out, size, "...");
	for (unsigned i = 0; i < count && used < size; i++) {
		enum syscall_arg kind = known ? calls[number].kinds[i] : ARG_ADDRESS;

		if (i)
			used += (size_t)snprintf(out + used, size - used, ", ");
		if (used < size)
			used += (size_t)put_argument(out + used, size - used, kind, call->args[i],
						     call->path);
	}
	return used;
}

static void put_error(char *out, size_t size, int number)
{
	const char *name = strerrorname_np(number);

	if (name)
		snprintf(out, size, ") = %s", name);
	else
		snprintf(out, size, ") = error %d", number);
}

void syscall_arguments(const struct syscall_call *call, char *out, size_t size)
{
	put_arguments(call, out, size);
}

void syscall_text(const struct syscall_call *call, char *out, size_t size)
{
	size_t used = (size_t)snprintf(out, size, "%.64s(", call->name);

	used += used < size ? put_arguments(call, out + used, size - used) : 0;
	if (used >= size)
		return;
	if (call->unfinished)
		snprintf(out + used, size - used, ") never returned");
	else if (call->result < 0 && call->result >= -ERRNO_MAX)
		put_error(out + used, size - used, (int)-call->result);
	else if (call->result < 0 || call->result > UINT32_MAX)
		snprintf(out + used, size - used, ") = 0x%" PRIx64, (uint64_t)call->result);
	else
		snprintf(out + used, size - used, ") = %" PRId64, call->result);
}

bool syscall_executes(const struct model *model, const struct record_syscall *record)
{
	const char *name = record->flags & SYSCALL_COMPAT
				   ? NULL
				   : syscall_name(model->run.machine, record->number);

	return name && record->result == 0 &&
	       (strcmp(name, "execve") == 0 || strcmp(name, "execveat") == 0);
}

const char *syscall_describe(const struct model *model, uint64_t number)
{
	char text[SYSCALL_LABEL];
	const char *label = syscall_label(model->run.machine, number, text);
	char *name;

	if (label != text)
		return label;
	name = arena_alloc(model->arena, SYSCALL_LABEL);
	return name ? strcpy(name, text) : NULL;
}

const char *syscall_to_text(const struct world *world, struct syscall_call call)
{
	char *text = arena_alloc(world->model->arena, SYSCALL_TEXT);

	call.name = syscall_describe(world->model, call.number);
	call.arguments = world->arguments;
	if (!text || !call.name)
		return NULL;
	syscall_text(&call, text, SYSCALL_TEXT);
	return text;
}

struct syscall_call syscall_of_record(const struct world *world,
				      const struct record_syscall *record)
{
	uint64_t compat = record->flags & SYSCALL_COMPAT ? SYSCALL_NUMBER_COMPAT : 0;

	return (struct syscall_call){
		.number = (record->number & INT32_MAX) | compat,
		.path = record->path ? tree_text(&world->tree, record->path) : NULL,
		.args = {record->arg0, record->arg1, record->arg2},
		.result = record->result,
		.unfinished = record->flags & SYSCALL_UNFINISHED,
		.arguments = world->arguments,
	};
}

static const char *const x86_64[] = {
#define SYSCALL(number, name, arguments) [number] = #name,
#include "../../../bpf/syscalls_x86_64.def"
#undef SYSCALL
};

const char *syscall_name(const char *machine, uint64_t number)
{
	if (machine && strcmp(machine, "x86_64") != 0)
		return NULL;
	if (number == SYSCALL_LOCK)
		return "futex(GIL)";
	if (number == SYSCALL_UNKNOWN)
		return "(unknown)";
	return number < sizeof(x86_64) / sizeof(*x86_64) ? x86_64[number] : NULL;
}

/* Calls of 32-bit programs: the number of the first, and names that follow it. */
static const struct {
	uint64_t first;
	const char *names;
} i386[] = {
#define SYSCALLS(first, names) {first, names},
#include "../../../bpf/syscalls_i386.def"
#undef SYSCALLS
};

/* The length of a name in the table of 32-bit calls; 0: there is none. */
static int find_i386(uint64_t number, const char **name)
{
	size_t line = sizeof(i386) / sizeof(i386[0]);

	while (line && i386[line - 1].first > number)
		line--;
	if (!line)
		return 0;
	*name = i386[line - 1].names;
	for (uint64_t at = i386[line - 1].first; at < number && **name; at++)
		*name += strcspn(*name, " ") + strspn(*name + strcspn(*name, " "), " ");
	return (int)strcspn(*name, " ");
}

const char *syscall_label(const char *machine, uint64_t number, char text[SYSCALL_LABEL])
{
	bool compat = number & SYSCALL_NUMBER_COMPAT;
	const char *name = compat ? NULL : syscall_name(machine, number);
	int length;

	if (name)
		return name;
	number &= ~SYSCALL_NUMBER_COMPAT;
	length = compat ? find_i386(number, &name) : 0;
	if (length)
		snprintf(text, SYSCALL_LABEL, "%.*s (32-bit)", length, name);
	else
		snprintf(text, SYSCALL_LABEL, "syscall%s_%" PRIu64, compat ? "32" : "", number);
	return text;
}
