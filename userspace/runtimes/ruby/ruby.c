/* SPDX-License-Identifier: BSD-2-Clause */
/* ruby.c: the Ruby interpreter (CRuby), in its own program or in libruby. */
/*
 * Distributions build it with SystemTap notes (provider ruby), behind semaphores. A mark is one
 * pause, and each step of the lazy sweep is another, the first of which is inside the mark. The
 * notes have no arguments. The reason for a collection, and whether it marks the whole heap, is in
 * a word of its objspace that GC.latest_gc_info shows. rb_gc_count() reads another word of that
 * structure, so its code shows the location.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../gc/provider/probe_args.h"
#include "../find.h"
#include "../../symbols/elf_file.h"
#include "../../../bpf/ruby.h"

/* --- layouts of Ruby interpreter structures, by version ------------------------------------- */

/*
 * There is a row per minor release, compared with that release as Debian builds it, and run. What
 * small exported functions of a file read there is compared with the row, since a build may have
 * other layouts. The interpreter must be in a shared library, which finds its thread-local storage
 * by a pair of words that the dynamic linker fills in.
 */

#define STORAGES_MAX 1024 /* thread-local variables of a file that are searched */

static const struct row {
	const char *version; /* with the '.' in front of the third number */
	uint16_t at[RUBY_ITEMS];
} rows[] = {
	{"3.1.",
	 {[RUBY_FRAME_BYTES] = 64,
	  [RUBY_TAG_LABEL] = 24,
	  [RUBY_TAG_PREVIOUS] = 56,
	  [RUBY_BODY_CODE] = 8,
	  [RUBY_BODY_FILE] = 64,
	  [RUBY_BODY_NAME] = 80,
	  [RUBY_BODY_LINE] = 88,
	  [RUBY_BODY_ENTRIES] = 120,
	  [RUBY_BODY_INDEX] = 144}},
};

/* Functions that begin by reading the body of a function object, and this item of it. */
static const struct {
	const char *name;
	enum ruby_item item;
} readers[] = {
	{"rb_iseq_path", RUBY_BODY_FILE},
	{"rb_iseq_label", RUBY_BODY_NAME},
	{"rb_iseq_first_lineno", RUBY_BODY_LINE},
};

static bool reads_as(struct runtime_file *file, const char *name, uint16_t offset)
{
	const uint8_t wanted[] = {0x48, 0x8b, 0x47, RUBY_CODE_BODY * sizeof(uint64_t), /* n(%rdi) */
				  0x48, 0x8b, 0x40, (uint8_t)offset};                  /* n(%rax) */
	uint8_t code[sizeof(wanted)];
	uint64_t at;

	return runtime_exported(file, name, &at) && runtime_read(file, at, code, sizeof(code)) &&
	       !memcmp(code, wanted, sizeof(wanted));
}

/* The same for the size of a frame: rb_vm_get_ruby_level_next_cfp() goes up by it. */
static bool goes_up_by(struct runtime_file *file, uint16_t bytes)
{
	const uint8_t wanted[] = {0x48, 0x83, 0xc6, (uint8_t)bytes}; /* add $n,%rsi */
	uint8_t code[48];
	uint64_t at;

	return runtime_exported(file, "rb_vm_get_ruby_level_next_cfp", &at) &&
	       runtime_read(file, at, code, sizeof(code)) &&
	       memmem(code, sizeof(code), wanted, sizeof(wanted));
}

struct storage_search {
	const char *name;
	unsigned left; /* thread-local variables still to look at */
	uint64_t found;
};

/* The same in a table of relocations. */
static bool storage_in(struct storage_search *search, Elf *elf, Elf_Scn *section,
		       const GElf_Shdr *header)
{
	Elf_Scn *linked = elf_getscn(elf, header->sh_link);
	Elf_Data *data = elf_section_data(section), *symbols = elf_section_data(linked), *strings;
	GElf_Rela relocation;
	GElf_Shdr table;
	GElf_Sym symbol;

	if (!data || !symbols || !gelf_getshdr(linked, &table))
		return false;
	strings = elf_section_data(elf_getscn(elf, table.sh_link));
	for (int i = 0; strings && search->left && gelf_getrela(data, i, &relocation); i++) {
		const char *name;

		if (GELF_R_TYPE(relocation.r_info) != R_X86_64_DTPMOD64)
			continue;
		search->left--;
		if (!gelf_getsym(symbols, (int)GELF_R_SYM(relocation.r_info), &symbol))
			continue;
		name = elf_string(strings, symbol.st_name);
		search->found = relocation.r_offset;
		if (name && !strcmp(name, search->name))
			return true;
	}
	return false;
}

/* Where the dynamic linker stores the module and the offset of a thread-local variable. */
static bool storage_of(Elf *elf, const char *name, uint64_t *out)
{
	struct storage_search search = {.name = name, .left = STORAGES_MAX};
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA ||
		    !storage_in(&search, elf, section, &header))
			continue;
		*out = search.found;
		return true;
	}
	return false;
}

static const struct row *row_of(struct runtime_file *file, const char *version)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool matches = !strncmp(version, rows[i].version, strlen(rows[i].version)) &&
			       goes_up_by(file, rows[i].at[RUBY_FRAME_BYTES]);

		for (size_t j = 0; matches && j < sizeof(readers) / sizeof(readers[0]); j++)
			matches = reads_as(file, readers[j].name, rows[i].at[readers[j].item]);
		if (matches)
			return &rows[i];
	}
	return NULL;
}

/* The layout for the walker; `version` is the interpreter's, such as "3.1.2". False, and all 0: an
 * unsupported version or build. */
static bool ruby_layout_of(struct runtime_file *file, const char *version, struct ruby_layout *out)
{
	const struct row *row = row_of(file, version);
	struct ruby_layout layout = {0};

	memset(out, 0, sizeof(*out));
	if (!row || !runtime_exported(file, "rb_vm_exec", &layout.loop) ||
	    !runtime_symbol_size(file, layout.loop, &layout.loop_size) ||
	    !storage_of(file->elf, "ruby_current_ec", &layout.storage))
		return false;
	memcpy(layout.at, row->at, sizeof(layout.at));
	*out = layout;
	return true;
}

/* --- places of the interpreter -------------------------------------------------------------- */

enum { HEAP_MARK = 1, HEAP_SWEEP = 2 }; /* the first step of a sweep is inside its mark */
enum { KIND_MINOR, KIND_MAJOR, KIND_MARK, KIND_SWEEP, KINDS };
/* Values of `number` in the facts. */
enum { WITHOUT_REASONS, WITH_REASONS };

/* Bits of the word: the reason for a collection, and the reason for marking the whole heap; 0: it
 * does not. */
#define MAJOR_MASK 0xffu

static const struct {
	uint32_t bit;
	const char *name; /* as in GC.latest_gc_info */
} reasons[] = {
	{0x1, "nofree"},     {0x2, "oldgen"},    {0x4, "shady"},    {0x8, "force"},
	{0x20, "oldmalloc"}, {0x100, "newobj"},  {0x200, "malloc"}, {0x400, "method"},
	{0x800, "capi"},     {0x1000, "stress"},
};

#define INFORMATION                                                 \
	.from = FROM_GLOBAL, .global = "ruby_current_vm_ptr",       \
	.steps = {                                                  \
		{STEP_READ, 8},                                     \
		{STEP_READ, 8, .field = "vm.objspace"},             \
		{STEP_READ, 4, .field = "objspace.latest_gc_info"}, \
	}

static const struct runtime_place places[] = {
	{.report = PLACE_PAUSE_BEGIN,
	 .where = PLACE_AT_NOTE,
	 .name = "ruby:gc__mark__begin",
	 .flags = PLACE_COLLECTOR | PLACE_PAUSES,
	 .since = WITH_REASONS,
	 .arguments = {{.value = VALUE_HEAP, .from = FROM_NUMBER, .number = HEAP_MARK},
		       {.value = VALUE_REASON, INFORMATION}}},
	{.report = PLACE_PAUSE_BEGIN,
	 .where = PLACE_AT_NOTE,
	 .name = "ruby:gc__mark__begin",
	 .flags = PLACE_COLLECTOR | PLACE_PAUSES,
	 .until = WITH_REASONS,
	 .arguments = {{.value = VALUE_HEAP, .from = FROM_NUMBER, .number = HEAP_MARK},
		       {.value = VALUE_KIND, .from = FROM_NUMBER, .number = KIND_MARK}}},
	{.report = PLACE_PAUSE_END,
	 .where = PLACE_AT_NOTE,
	 .name = "ruby:gc__mark__end",
	 .flags = PLACE_COLLECTOR | PLACE_RESUMES,
	 .arguments = {{.value = VALUE_HEAP, .from = FROM_NUMBER, .number = HEAP_MARK}}},
	{.report = PLACE_PAUSE_BEGIN,
	 .where = PLACE_AT_NOTE,
	 .name = "ruby:gc__sweep__begin",
	 .flags = PLACE_COLLECTOR | PLACE_PAUSES,
	 .arguments = {{.value = VALUE_HEAP, .from = FROM_NUMBER, .number = HEAP_SWEEP},
		       {.value = VALUE_KIND, .from = FROM_NUMBER, .number = KIND_SWEEP}}},
	{.report = PLACE_PAUSE_END,
	 .where = PLACE_AT_NOTE,
	 .name = "ruby:gc__sweep__end",
	 .flags = PLACE_COLLECTOR | PLACE_RESUMES,
	 .arguments = {{.value = VALUE_HEAP, .from = FROM_NUMBER, .number = HEAP_SWEEP}}},
};

/* --- the file ----------------------------------------------------------------------------- */

/*
 * rb_gc_count() loads the address of ruby_current_vm_ptr, reads it, the objspace from there, and
 * profile.count from that. Zero bytes of the mask are operands; false if the code differs.
 */
static bool read_offsets(struct runtime_file *file, int32_t *objspace, int32_t *count)
{
	static const uint8_t wanted[] = {0x48, 0x8b, 0x05, 0, 0, 0, 0, /* mov n(%rip),%rax */
					 0x48, 0x8b, 0x00,             /* mov (%rax),%rax */
					 0x48, 0x8b, 0x80, 0, 0, 0, 0, /* mov n(%rax),%rax */
					 0x48, 0x8b, 0x80, 0, 0, 0, 0, /* mov n(%rax),%rax */
					 0xc3};
	enum { OBJSPACE = 13, COUNT = 20 };
	uint8_t code[sizeof(wanted)];
	uint64_t at;

	if (!runtime_symbol(file, "rb_gc_count", &at) ||
	    !runtime_read(file, at, code, sizeof(code)))
		return false;
	memcpy(objspace, code + OBJSPACE, sizeof(*objspace));
	memcpy(count, code + COUNT, sizeof(*count));
	memset(code + 3, 0, 4);
	memset(code + OBJSPACE, 0, 4);
	memset(code + COUNT, 0, 4);
	return !memcmp(code, wanted, sizeof(wanted));
}

/* Distance from latest_gc_info to count in release 3.1. */
#define INFO_BEFORE_COUNT 0x64

static bool ruby_field(struct runtime_file *file, const char *name, int32_t *offset)
{
	int32_t objspace, count;

	if (!read_offsets(file, &objspace, &count))
		return false;
	*offset = strcmp(name, "vm.objspace") ? count - INFO_BEFORE_COUNT : objspace;
	return true;
}

static bool ruby_recognise(struct runtime_file *file, struct runtime_facts *out)
{
	uint64_t vm, version;
	int32_t objspace, count;

	if (!runtime_exported(file, "ruby_current_vm_ptr", &vm))
		return false;
	if (runtime_exported(file, "ruby_version", &version))
		runtime_text(file, version, out->version, sizeof(out->version));
	out->number = !strncmp(out->version, "3.1.", 4) && read_offsets(file, &objspace, &count)
			      ? WITH_REASONS
			      : WITHOUT_REASONS;
	return true;
}

#define VERSIONS "its functions are known of 3.1 in a shared library"

static void ruby_constants(struct runtime_file *file, struct runtime_facts *out)
{
	out->has_frames = ruby_layout_of(file, out->version, &out->ruby);
	if (out->missing[0])
		return;
	if (out->number == WITHOUT_REASONS)
		snprintf(out->missing, sizeof(out->missing),
			 "kinds and reasons of its collections are known of 3.1");
	else if (!out->has_frames)
		snprintf(out->missing, sizeof(out->missing), VERSIONS);
}

/* --- arguments ---------------------------------------------------------------------------- */

static void ruby_convert(const struct runtime_facts *facts, const struct runtime_place *place,
			 const uint64_t *read, struct place_values *values)
{
	(void)facts;
	(void)read;
	if (place->since == WITH_REASONS)
		values->of[VALUE_KIND] = values->of[VALUE_REASON] & MAJOR_MASK ? KIND_MAJOR
									       : KIND_MINOR;
}

static const char *ruby_kind_name(const struct runtime_facts *facts, uint64_t number,
				  const char *collector, uint32_t *kind)
{
	static const struct {
		const char *name;
		uint32_t kind;
	} kinds[KINDS] = {
		[KIND_MINOR] = {"minor mark", GCPROF_GC_MINOR},
		[KIND_MAJOR] = {"major mark", GCPROF_GC_FULL},
		[KIND_MARK] = {"mark", GCPROF_GC_FULL},
		[KIND_SWEEP] = {"sweep", GCPROF_GC_STEP},
	};

	(void)facts;
	(void)collector;
	if (number >= KINDS)
		return NULL;
	*kind = kinds[number].kind;
	return kinds[number].name;
}

/* The reason for marking the whole heap, or else the reason for the collection. */
static const char *reason_name(const struct runtime_facts *facts, uint64_t number)
{
	(void)facts;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (number & reasons[i].bit)
			return reasons[i].name;
	return NULL;
}

#define GAPS                                                                              \
	"no allocation samples (in Ruby: ObjectSpace.trace_object_allocations); a major " \
	"mark that goes on in steps is reported up to its first one (GC.stat(:time) has all)"

static const char *ruby_note(const struct runtime_facts *facts)
{
	return facts->has_frames ? GAPS : VERSIONS "; " GAPS;
}

const struct runtime runtime_ruby = {
	.id = RUNTIME_RUBY,
	.name = "ruby",
	.places = places,
	.n_places = sizeof(places) / sizeof(places[0]),
	.walks = true,
	.recognise = ruby_recognise,
	.field = ruby_field,
	.constants = ruby_constants,
	.note = ruby_note,
	.convert = ruby_convert,
	.kind_name = ruby_kind_name,
	.reason_name = reason_name,
};
