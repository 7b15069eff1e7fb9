/* SPDX-License-Identifier: BSD-2-Clause */
/* ocaml.c: OCaml 4, in native programs and in the bytecode interpreter. */
/*
 * Programs export the runtime's functions for libraries that they load. A minor collection that has
 * work begins with caml_oldify_local_roots() and ends with caml_memprof_renew_minor_sample(), which
 * is also called outside of collections. The amount promoted is the growth of caml_allocated_words,
 * which counts allocation in the major heap. A slice of a major collection is one call of its
 * function, and so is the end of a forced one.
 */
#include <stdio.h>
#include <string.h>

#include "../../gc/provider/probe_args.h"
#include "find.h"
#include "returns.h"

enum { HEAP_MINOR = 1, HEAP_SLICE = 2, HEAP_FORCED = 3 }; /* they may be nested */
enum { KIND_MINOR, KIND_SLICE, KIND_FULL, KINDS };
enum { WORD_SHIFT = 3 };

#define HEAP(number_)                                                         \
	{                                                                     \
		.value = VALUE_HEAP, .from = FROM_NUMBER, .number = (number_) \
	}
#define KIND(number_)                                                         \
	{                                                                     \
		.value = VALUE_KIND, .from = FROM_NUMBER, .number = (number_) \
	}
/* Bytes promoted so far; `shift` is the number of the first argument of both. */
#define PROMOTED(shift)                                                                         \
	{.value = VALUE_NONE, .from = FROM_NUMBER, .number = WORD_SHIFT},                       \
	{                                                                                       \
		.value = VALUE_PROMOTED, .from = FROM_GLOBAL, .global = "caml_allocated_words", \
		.steps = {                                                                      \
			{STEP_READ, 8},                                                         \
			{STEP_SHIFT, .other = (shift)},                                         \
		}                                                                               \
	}

static const struct runtime_place places[] = {
	{.report = PLACE_PAUSE_BEGIN,
	 .where = PLACE_AT_ENTRY,
	 .name = "caml_oldify_local_roots",
	 .flags = PLACE_COLLECTOR | PLACE_PAUSES,
	 .arguments = {HEAP(HEAP_MINOR), KIND(KIND_MINOR), PROMOTED(2)}},
	{.report = PLACE_PAUSE_END,
	 .where = PLACE_AT_ENTRY,
	 .name = "caml_memprof_renew_minor_sample",
	 .flags = PLACE_COLLECTOR | PLACE_RESUMES,
	 .arguments = {HEAP(HEAP_MINOR), PROMOTED(1)}},
	{.report = PLACE_PAUSE_BEGIN,
	 .where = PLACE_AT_ENTRY,
	 .name = "caml_major_collection_slice",
	 .flags = PLACE_COLLECTOR | PLACE_PAUSES,
	 .arguments = {HEAP(HEAP_SLICE), KIND(KIND_SLICE)}},
	{.report = PLACE_PAUSE_END,
	 .where = PLACE_AT_RETURN,
	 .name = "caml_major_collection_slice",
	 .flags = PLACE_COLLECTOR | PLACE_RESUMES,
	 .arguments = {HEAP(HEAP_SLICE)}},
	{.report = PLACE_PAUSE_BEGIN,
	 .where = PLACE_AT_ENTRY,
	 .name = "caml_finish_major_cycle",
	 .flags = PLACE_COLLECTOR | PLACE_PAUSES,
	 .arguments = {HEAP(HEAP_FORCED), KIND(KIND_FULL)}},
	{.report = PLACE_PAUSE_END,
	 .where = PLACE_AT_RETURN,
	 .name = "caml_finish_major_cycle",
	 .flags = PLACE_COLLECTOR | PLACE_RESUMES,
	 .arguments = {HEAP(HEAP_FORCED)}},
};

static bool recognise(struct runtime_file *file, struct runtime_facts *out)
{
	uint64_t at;

	if (!runtime_exported(file, "caml_startup", &at) &&
	    !runtime_exported(file, "caml_main", &at))
		return false;
	snprintf(out->version, sizeof(out->version), "%s",
		 runtime_symbol(file, "caml_empty_minor_heap", &at) ? "4" : "5");
	return true;
}

static const char *kind_name(const struct runtime_facts *facts, uint64_t number,
			     const char *collector, uint32_t *kind)
{
	static const struct {
		const char *name;
		uint32_t kind;
	} kinds[KINDS] = {
		[KIND_MINOR] = {"minor", GCPROF_GC_MINOR},
		[KIND_SLICE] = {"major slice", GCPROF_GC_STEP},
		[KIND_FULL] = {"forced major", GCPROF_GC_FULL},
	};

	(void)facts;
	(void)collector;
	if (number >= KINDS)
		return NULL;
	*kind = kinds[number].kind;
	return kinds[number].name;
}

static const char *note(const struct runtime_facts *facts)
{
	return facts->version[0] == '5'
		       ? "collections of OCaml 5 are not known (OCAML_RUNTIME_EVENTS_START=1 "
			 "writes "
			 "them to a file)"
		       : "no allocation samples (in OCaml: Gc.Memprof); no sizes of its heap "
			 "(OCAMLRUNPARAM=v=0x400)";
}

const struct runtime runtime_ocaml = {
	.id = RUNTIME_OCAML,
	.name = "ocaml",
	.places = places,
	.n_places = sizeof(places) / sizeof(places[0]),
	.recognise = recognise,
	.returns = runtime_returns,
	.note = note,
	.kind_name = kind_name,
};
