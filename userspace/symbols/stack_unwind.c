// SPDX-License-Identifier: BSD-2-Clause
/* stack_unwind.c: walks a copy of a stack by the frame information of files, with libunwind. */
/*
 * libunwind asks for memory word by word. What lies in the copy comes from
 * there, what lies in a module from its file. Frame information is a program
 * that somebody else wrote, and it may have been written to run for ever: a walk
 * gets a limited number of words.
 */
#include <errno.h>
#include <libunwind.h>
#include <stdlib.h>
#include <string.h>

#include "stack_unwind.h"

#define WORDS_MAX   2000000 /* read in one walk; a deep one whose tables are new needs a tenth */
#define MODULES_MAX 64
#define ENTRY_BYTES 64                  /* behind the entry point of a file */
#define CACHED_MAX  2048                /* instructions whose rules are kept */
#define BEYOND_MAX  (UINT64_C(8) << 20) /* stacks are no bigger, usually */

/* Searches a table like that of .eh_frame_hdr through the accessors. Exported, but in no header. */
extern int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t *,
					      unw_proc_info_t *, int, void *);

struct stack_unwinder {
	unw_addr_space_t space;
	stack_find_module *find;
	void *context;
	struct stack_module modules[MODULES_MAX]; /* that were met, in no order */
	size_t n_modules;
	/* The walk under way. */
	const struct event_copy *copy;
	const unsigned char *bytes;
	unsigned words;
	unsigned missing; /* instructions without frame information */
	bool beyond;      /* memory above the copy was asked for */
	bool outermost;   /* the function has no caller */
};

/* --- what libunwind asks for -------------------------------------------------------------- */

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
	/* Linkers have no frame information for their own entry, where each program begins. */
	unwinder->outermost = result == -UNW_ENOINFO && table && table->entry &&
			      ip - module->bias - table->entry < ENTRY_BYTES;
	if (result == -UNW_ENOINFO && !unwinder->outermost)
		unwinder->missing++;
	return result;
}

/* Nothing to do: libunwind frees what it made. */
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

/* libunwind numbers them as debuggers do. */
static int access_reg(unw_addr_space_t space, unw_regnum_t number, unw_word_t *word, int write,
		      void *context)
{
	const struct stack_unwinder *unwinder = context;

	(void)space;
	if (write || number < 0 || number >= COPY_REGISTERS)
		return -UNW_EBADREG;
	*word = unwinder->copy->registers[number];
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
	/* Parsing all anew costs ten times as much. */
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

/* Why the walk ended after a step that led nowhere. */
static void end(const struct stack_unwinder *unwinder, bool failed, struct stack_walk *out)
{
	out->cut_short = failed && unwinder->beyond;
	if (out->cut_short)
		out->quality |= STACK_USER_CUT;
	else if (failed)
		out->quality |= STACK_USER_END;
}

void stack_unwinder_walk(struct stack_unwinder *unwinder, const struct event_copy *copy,
			 const void *bytes, struct stack_walk *out)
{
	unw_cursor_t cursor;
	unw_word_t ip, sp;
	int more = 1;

	out->count = out->guessed = 0;
	out->quality = 0;
	out->cut_short = false;
	unwinder->copy = copy;
	unwinder->bytes = bytes;
	unwinder->words = 0;
	unwinder->beyond = false;
	if (unw_init_remote(&cursor, unwinder->space, unwinder) ||
	    unw_get_reg(&cursor, UNW_REG_IP, &ip) || !ip) {
		out->quality = STACK_USER_FAILED;
		return;
	}
	while (more > 0 && ip && out->count < STACK_DEPTH_MAX) {
		struct event_native *frame = &out->frames[out->count++];

		frame->ip = ip;
		frame->frame = 0;
		unwinder->missing = 0;
		unwinder->outermost = false;
		more = unw_step(&cursor);
		if (unwinder->outermost)
			break;
		if (more > 0 && (unw_get_reg(&cursor, UNW_REG_IP, &ip) ||
				 unw_get_reg(&cursor, UNW_REG_SP, &sp)))
			more = -1;
		if (more > 0)
			frame->frame = sp - 16;
		out->guessed += unwinder->missing != 0;
		if (more <= 0)
			end(unwinder, more < 0 || unwinder->missing, out);
	}
	if (more > 0 && ip && !unwinder->outermost)
		out->quality |= STACK_USER_CUT;
	if (out->guessed)
		out->quality |= STACK_USER_GUESSED;
}
