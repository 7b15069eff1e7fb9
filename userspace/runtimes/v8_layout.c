/* SPDX-License-Identifier: BSD-2-Clause */
/* v8_layout.c: layouts of V8 objects, from the constants that its file exports for debuggers. */
/*
 * V8 exports constants for post-mortem debuggers (v8dbg_*): offsets of fields, with the field's
 * type in the name, and types of objects. Names have changed with the types.
 */
#include "v8_layout.h"

#include <stdio.h>
#include <string.h>

#include "find.h"

#define NAMES_MAX  3
#define NAME_BYTES 128

/* The names of an item's constant, and what is added to its value. */
static const struct row {
	enum v8_item item;
	uint16_t add;
	const char *names[NAMES_MAX]; /* the first one present is used */
} rows[] = {
	{V8_MAP_TYPE, 0, {"class_Map__instance_type__uint16_t"}},
	{V8_FUNCTION_SHARED, 0, {"class_JSFunction__shared__SharedFunctionInfo"}},
	{V8_SHARED_NAME,
	 0,
	 {"class_SharedFunctionInfo__name_or_scope_info__Object",
	  "class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_",
	  "class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_"}},
	{V8_SHARED_SCRIPT,
	 0,
	 {"class_SharedFunctionInfo__script_or_debug_info__HeapObject",
	  "class_SharedFunctionInfo__script_or_debug_info__Object",
	  "class_SharedFunctionInfo__raw_script__Tagged_Object_"}},
	{V8_SHARED_LENGTH, 0, {"class_SharedFunctionInfo__length__uint16_t"}},
	{V8_SCRIPT_SOURCE, 0, {"class_Script__source__Object"}},
	{V8_SCRIPT_NAME, 0, {"class_Script__name__Object"}},
	{V8_SCRIPT_ID, V8_WORD, {"class_Script__line_ends__Object"}}, /* after that */
	{V8_SCOPE_LOCALS, V8_WORD, {"scopeinfo_idx_ncontextlocals"}},
	{V8_SCOPE_FIRST, V8_WORD, {"scopeinfo_idx_first_vars"}},
	{V8_STRING_LENGTH, 0, {"class_String__length__int32_t"}},
	{V8_STRING_CHARS, 0, {"class_SeqOneByteString__chars__char"}},
	{V8_STRING_OTHER, 0, {"class_ConsString__first__String"}},
	{V8_STRING_OFFSET, 0, {"class_SlicedString__offset__SMI"}},
	{V8_STRING_OUTSIDE, V8_WORD, {"class_ExternalString__resource__Object"}}, /* after that */
	{V8_TYPE_SHARED, 0, {"type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE"}},
	{V8_TYPE_SCRIPT, 0, {"type_Script__SCRIPT_TYPE"}},
	{V8_TYPE_SCOPE, 0, {"type_ScopeInfo__SCOPE_INFO_TYPE"}},
	{V8_TYPE_NO_STRING, 0, {"FirstNonstringType"}},
};

/* What the walker assumes (v8.h). */
static const struct {
	const char *name;
	int32_t value;
} same[] = {
	{"TaggedSize", V8_WORD},
	{"HeapObjectTag", V8_TAG},
	{"HeapObjectTagMask", V8_TAG_BITS},
	{"SmiShiftSize", V8_SMI_SHIFT - 1},
	{"class_ThinString__actual__String", 16},
	{"class_ConsString__first__String", 16},
	{"class_SlicedString__parent__String", 16},
	{"ConsStringTag", V8_JOINED},
	{"ExternalStringTag", V8_OUTSIDE},
	{"SlicedStringTag", V8_SLICED},
	{"ThinStringTag", V8_THIN},
	{"OneByteStringTag", V8_STRING_ONE_BYTE},
	{"StringRepresentationMask", V8_STRING_FORM},
	{"off_fp_context", -8},
	{"off_fp_function", -V8_FRAME_BYTES},
};

static bool number_of(struct runtime_file *file, const char *name, int32_t *out)
{
	char symbol[NAME_BYTES];
	uint64_t at;

	snprintf(symbol, sizeof(symbol), "v8dbg_%s", name);
	return runtime_exported(file, symbol, &at) && runtime_read(file, at, out, sizeof(*out));
}

static bool item_of(struct runtime_file *file, const struct row *row, uint16_t *out)
{
	int32_t number;

	for (size_t i = 0; i < NAMES_MAX && row->names[i]; i++) {
		if (!number_of(file, row->names[i], &number))
			continue;
		if (number < 0 || number > INT16_MAX)
			return false;
		*out = (uint16_t)number;
		if (row->item == V8_SCOPE_LOCALS || row->item == V8_SCOPE_FIRST)
			*out = (uint16_t)(number % INT8_MAX * V8_WORD);
		*out = (uint16_t)(*out + row->add);
		return true;
	}
	return false;
}

/* Does it fit into what the walker reads of a shared function at once? */
static bool is_within(const struct v8_layout *layout)
{
	static const enum v8_item items[] = {V8_SHARED_NAME, V8_SHARED_SCRIPT, V8_SHARED_LENGTH};

	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++)
		if (layout->at[items[i]] % V8_WORD ||
		    layout->at[items[i]] >= V8_SHARED_WORDS * V8_WORD)
			return false;
	return true;
}

bool v8_layout_of(struct runtime_file *file, struct v8_layout *out)
{
	struct v8_layout layout = {0};
	int32_t number;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		if (!number_of(file, same[i].name, &number) || number != same[i].value)
			return false;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!item_of(file, &rows[i], &layout.at[rows[i].item]))
			return false;
	if (!is_within(&layout))
		return false;
	*out = layout;
	return true;
}
