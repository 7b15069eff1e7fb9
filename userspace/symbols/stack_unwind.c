// SPDX-License-Identifier: BSD-2-Clause
/* stack_unwind.c: unwinds a stack dump with libunwind, by the frame information of files. */
/*
 * Go programs have no information for libunwind: in these, unwinding uses rows, as the kernel side
 * does.
 *
 * libunwind requests memory word by word: from the dump, or from the file of a module. Frame
 * information is an untrusted program that may run forever, so the number of words per walk is
 * limited.
 */
#include <errno.h>
#include <libunwind.h>
#include <stdlib.h>
#include <string.h>

#include "stack_unwind.h"

#define WORDS_MAX   2000000 /* per walk; a deep stack with new tables needs a tenth */
#define MODULES_MAX 64
#define ENTRY_BYTES 64                  /* after the entry point of a file */
#define CACHED_MAX  2048                /* instructions with cached rules */
#define BEYOND_MAX  (UINT64_C(8) << 20) /* typical limit of stack size */

/* Searches a table such as .eh_frame_hdr through the accessors. Exported, but in no header. */
extern int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t *,
					      unw_proc_info_t *, int, void *);

struct stack_unwinder {
	unw_addr_space_t space;
	stack_find_module *find;
	void *context;
	struct stack_module modules[MODULES_MAX]; /* modules met so far, unordered */
	size_t n_modules;
	/* The current walk. */
	const struct event_copy *copy;
	const unsigned char *bytes;
	uint64_t registers[COPY_REGISTERS]; /* of the function at which libunwind begins */
	unsigned words;
	unsigned missing; /* number of instructions without frame information */
	bool beyond;      /* memory above the dump was requested */
	bool outermost;   /* the function has no caller */
};

/* --- callbacks of libunwind --------------------------------------------------------------- */

static const struct stack_module *module_of(struct stack_unwinder *unwinder, uint64_t ip)
{
	struct stack_module *module;

	for (size_t i = 0; i < unwinder->n_modules; i++) {
		if (ip >= unwinder->modules[i].start && ip < unwinder->modules[i].end)
			return &unwinder->modules[i];
	}
	if (unwinder->n_modules == MODULES_MAX)
		stack_unwinder_forget(unwinder);
	module = &unwinder->modules[unwinder->n_modules];
	if (!unwinder->find(unwinder->context, ip, module))
		return NULL;
	unwinder->n_modules++;
	return module;
}

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info,
			  int need_unwind_info, void *context)
{
	struct stack_unwinder *unwinder = context;
	const struct stack_module *module = module_of(unwinder, ip);
	const struct frame_table *table = module ? frame_image_table(module->image) : NULL;
	unw_dyn_info_t description = {0};
	int result = -UNW_ENOINFO;

	if (table && table->count) {
		description.format = UNW_INFO_FORMAT_REMOTE_TABLE;
		description.start_ip = module->start;
		description.end_ip = module->end;
		description.u.rti.segbase = table->header + module->bias;
		description.u.rti.table_data = table->entries + module->bias;
		description.u.rti.table_len = table->count * 8 / sizeof(unw_word_t);
		result = UNW_OBJ(dwarf_search_unwind_table)(space, ip, &description, info,
							    need_unwind_info, context);
	}
	/* Linkers give no frame information for their own entry point, where each program begins.
	 */
	unwinder->outermost = result == -UNW_ENOINFO && table && table->entry &&
			      ip - module->bias - table->entry < ENTRY_BYTES;
	if (result == -UNW_ENOINFO && !unwinder->outermost)
		unwinder->missing++;
	return result;
}

/* Nothing to do: libunwind frees its own data. */
static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *context)
{
	(void)space;
	(void)info;
	(void)context;
}

static int get_dyn_info_list_addr(unw_addr_space_t space, unw_word_t *address, void *context)
{
	(void)space;
	(void)address;
	(void)context;
	return -UNW_ENOINFO;
}

static bool module_word(struct stack_unwinder *unwinder, uint64_t address, uint64_t *word)
{
	for (size_t i = 0; i < unwinder->n_modules; i++) {
		const struct stack_module *module = &unwinder->modules[i];
		uint64_t low, high;

		frame_image_extent(module->image, &low, &high);
		if (address - module->bias >= low && address - module->bias < high)
			return frame_image_word(module->image, address - module->bias, word);
	}
	return false;
}

static int access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *word, int write,
		      void *context)
{
	struct stack_unwinder *unwinder = context;
	uint64_t at = address - unwinder->copy->address, size = unwinder->copy->size, value;

	(void)space;
	if (write || ++unwinder->words > WORDS_MAX)
		return -UNW_EINVAL;
	if (size >= sizeof(value) && at <= size - sizeof(value))
		memcpy(&value, unwinder->bytes + at, sizeof(value));
	else if (!module_word(unwinder, address, &value)) {
		if (at < BEYOND_MAX)
			unwinder->beyond = true;
		return -UNW_EINVAL;
	}
	*word = value;
	return 0;
}

/* libunwind uses DWARF register numbers. */
static int access_reg(unw_addr_space_t space, unw_regnum_t number, unw_word_t *word, int write,
		      void *context)
{
	const struct stack_unwinder *unwinder = context;

	(void)space;
	if (write || number < 0 || number >= COPY_REGISTERS)
		return -UNW_EBADREG;
	*word = unwinder->registers[number];
	return 0;
}

static int access_fpreg(unw_addr_space_t space, unw_regnum_t number, unw_fpreg_t *value, int write,
			void *context)
{
	(void)space;
	(void)number;
	(void)value;
	(void)write;
	(void)context;
	return -UNW_EINVAL;
}

static int resume(unw_addr_space_t space, unw_cursor_t *cursor, void *context)
{
	(void)space;
	(void)cursor;
	(void)context;
	return -UNW_EINVAL;
}

/* --- walking --------------------------------------------------------------------------------- */

int stack_unwinder_create(stack_find_module *find, void *context, struct stack_unwinder **out)
{
	static unw_accessors_t accessors = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = put_unwind_info,
		.get_dyn_info_list_addr = get_dyn_info_list_addr,
		.access_mem = access_mem,
		.access_reg = access_reg,
		.access_fpreg = access_fpreg,
		.resume = resume,
	};
	struct stack_unwinder *unwinder = calloc(1, sizeof(*unwinder));

	if (!unwinder)
		return -ENOMEM;
	unwinder->find = find;
	unwinder->context = context;
	unwinder->space = unw_create_addr_space(&accessors, 0);
	if (!unwinder->space) {
		free(unwinder);
		return -ENOMEM;
	}
	/* Parsing everything anew is ten times as expensive. */
	unw_set_caching_policy(unwinder->space, UNW_CACHE_GLOBAL);
	unw_set_cache_size(unwinder->space, CACHED_MAX, 0);
	*out = unwinder;
	return 0;
}

void stack_unwinder_free(struct stack_unwinder *unwinder)
{
	if (!unwinder)
		return;
	unw_destroy_addr_space(unwinder->space);
	free(unwinder);
}

void stack_unwinder_forget(struct stack_unwinder *unwinder)
{
	unwinder->n_modules = 0;
	unw_flush_cache(unwinder->space, 0, 0);
}

/* --- by rows ------------------------------------------------------------------------------- */

struct walk_window {
	struct stack_unwinder *unwinder;
};

struct walk_rows {
	const struct unwind_file *file;
	uint64_t bias;
};

static long walk_read(struct walk_window *window, void *to, uint32_t size, uint64_t from)
{
	for (uint32_t at = 0; at < size; at += sizeof(unw_word_t)) {
		unw_word_t word;

		if (access_mem(NULL, from + at, &word, 0, window->unwinder))
			return -1;
		memcpy((char *)to + at, &word, sizeof(word));
	}
	return 0;
}

static int walk_rule(struct walk_rows *rows, uint64_t ip, struct unwind_rule *rule)
{
	*rule = *unwind_find(rows->file, ip - rows->bias);
	return rule->cfa != UNWIND_CFA_NONE;
}

#include "../../bpf/walk_native.h"

/* The position of the walk. */
struct spot {
	unw_cursor_t cursor;
	bool moved; /* it moved by rows: the cursor is elsewhere */
	struct walk_native native;
};

/* The rows of the Go program at `ip`; false: not in a Go program. */
static bool find_rows(struct stack_unwinder *unwinder, uint64_t ip, struct walk_rows *out)
{
	const struct stack_module *module = module_of(unwinder, ip);

	out->file = module ? frame_image_go_rows(module->image) : NULL;
	out->bias = module ? module->bias : 0;
	return out->file;
}

/* Steps to the caller, like unw_step(). */
static int step_by_rows(struct stack_unwinder *unwinder, struct spot *spot, struct walk_rows *rows,
			struct event_native *frame)
{
	struct walk_native *native = &spot->native;
	struct walk_window window = {unwinder};

	native->guessed = 0;
	if (!walk_native_find(native, rows))
		return -1;
	walk_native_get(native, &window, frame);
	spot->moved = true;
	if (walk_native_up(native, &window))
		return 1;
	return native->quality & STACK_USER_END ? -1 : 0;
}

/* --- by frame information ------------------------------------------------------------------ */

/* libunwind uses DWARF register numbers. */
static int cursor_place(struct stack_unwinder *unwinder, struct spot *spot)
{
	const struct walk_native *native = &spot->native;

	unwinder->registers[UNW_X86_64_RIP] = native->ip;
	unwinder->registers[UNW_X86_64_RSP] = native->sp;
	unwinder->registers[UNW_X86_64_RBP] = native->bp;
	unwinder->registers[UNW_X86_64_RBX] = native->bx;
	spot->moved = false;
	return unw_init_remote(&spot->cursor, unwinder->space, unwinder);
}

/* Reads the position after a step. Not all registers of a caller are known. */
static int cursor_get(struct spot *spot)
{
	struct walk_native *native = &spot->native;

	if (unw_get_reg(&spot->cursor, UNW_X86_64_RBP, &native->bp))
		native->bp = 0;
	if (unw_get_reg(&spot->cursor, UNW_X86_64_RBX, &native->bx))
		native->bx = 0;
	return unw_get_reg(&spot->cursor, UNW_X86_64_RIP, &native->ip) ||
			       unw_get_reg(&spot->cursor, UNW_X86_64_RSP, &native->sp)
		       ? -1
		       : 1;
}

static int step_by_info(struct stack_unwinder *unwinder, struct spot *spot,
			struct event_native *frame)
{
	struct walk_native *native = &spot->native;
	int more;

	if (spot->moved && cursor_place(unwinder, spot))
		return -1;
	native->guessed = 0;
	unwinder->missing = 0;
	more = unw_step(&spot->cursor);
	native->guessed = unwinder->missing != 0;
	if (unwinder->outermost)
		return 0;
	if (more > 0)
		more = cursor_get(spot);
	if (more > 0)
		frame->frame = native->sp - 16;
	native->called = 1;
	return more || !unwinder->missing ? more : -1;
}

/* --- walking ------------------------------------------------------------------------------- */

static bool stack_unwind_begin(struct stack_unwinder *unwinder, const struct event_copy *copy,
			       const void *bytes, struct spot *spot)
{
	unwinder->copy = copy;
	unwinder->bytes = bytes;
	unwinder->words = 0;
	unwinder->beyond = false;
	memcpy(unwinder->registers, copy->registers, sizeof(unwinder->registers));
	walk_native_begin(&spot->native, unwinder->registers[UNW_X86_64_RIP],
			  unwinder->registers[UNW_X86_64_RSP], unwinder->registers[UNW_X86_64_RBP],
			  unwinder->registers[UNW_X86_64_RBX]);
	return spot->native.ip && !cursor_place(unwinder, spot);
}

static void walk(struct stack_unwinder *unwinder, struct spot *spot, struct stack_walk *out)
{
	const struct walk_native *native = &spot->native;
	struct walk_rows rows;
	int more = 1;

	while (more > 0 && native->ip && out->count < STACK_DEPTH_MAX) {
		struct event_native *frame = &out->frames[out->count++];

		frame->ip = native->ip + (out->count > 1 && !native->called);
		frame->frame = 0;
		unwinder->outermost = false;
		more = find_rows(unwinder, native->ip - native->called, &rows)
			       ? step_by_rows(unwinder, spot, &rows, frame)
			       : step_by_info(unwinder, spot, frame);
		out->guessed += native->guessed;
	}
	out->cut_short = more < 0 && unwinder->beyond;
	if (out->cut_short || (more > 0 && native->ip))
		out->quality |= STACK_USER_CUT;
	else if (more < 0)
		out->quality |= STACK_USER_END;
	if (out->guessed)
		out->quality |= STACK_USER_GUESSED;
}

void stack_unwinder_walk(struct stack_unwinder *unwinder, const struct event_copy *copy,
			 const void *bytes, struct stack_walk *out)
{
	struct spot spot = {0};

	out->count = out->guessed = 0;
	out->quality = 0;
	out->cut_short = false;
	if (stack_unwind_begin(unwinder, copy, bytes, &spot))
		walk(unwinder, &spot, out);
	else
		out->quality = STACK_USER_FAILED;
}
