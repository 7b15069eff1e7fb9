/* SPDX-License-Identifier: BSD-2-Clause */
/* words.c: usual names of HotSpot's operations, collectors and types. */
#include "outcomes.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../../../gc/provider/probe_args.h"
#include "../runtime.h"

/* Makes "ZMarkStartYoung" Mark Start Young. */
void hotspot_operation(const char *operation, char *out, size_t room)
{
	static const char *const families[] = {"G1Pause", "G1", "Shenandoah", "X", "Z"};
	size_t used = 0;

	/* Some are several words: "Shenandoah Init Marking". */
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		if (strncmp(operation, families[i], strlen(families[i])) != 0)
			continue;
		operation += strlen(families[i]);
		operation += strspn(operation, " ");
		break;
	}
	for (const char *at = operation; *at && used + 2 < room; at++) {
		if (at > operation && isupper((unsigned char)*at) && islower((unsigned char)at[-1]))
			out[used++] = ' ';
		out[used++] = *at;
	}
	out[used] = '\0';
}

/* The note's flag is that of the operation, in which Serial and Parallel may collect twice. */
const char *hotspot_kind(const struct runtime_facts *facts, uint64_t full, const char *collector,
			 uint32_t *kind)
{
	static const struct {
		const char *collector, *title;
		uint32_t kind;
	} known[] = {
		{"Copy", NULL, GCPROF_GC_MINOR},
		{"PS Scavenge", NULL, GCPROF_GC_MINOR},
		{"MarkSweepCompact", NULL, GCPROF_GC_FULL},
		{"PS MarkSweep", NULL, GCPROF_GC_FULL},
		/* Cycles. */
		{"ZGC Cycles", "ZGC cycle", 0},
		{"ZGC Minor Cycles", "ZGC minor cycle", 0},
		{"ZGC Major Cycles", "ZGC major cycle", 0},
		{"Shenandoah Cycles", "Shenandoah cycle", 0},
	};

	(void)facts;
	*kind = full ? GCPROF_GC_FULL : GCPROF_GC_MINOR;
	if (!collector)
		*kind = GCPROF_GC_STOP;
	for (size_t i = 0; collector && i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(collector, known[i].collector) != 0)
			continue;
		if (known[i].kind)
			*kind = known[i].kind;
		return known[i].title ? known[i].title : collector;
	}
	return collector ? collector : "safepoint";
}

/* Makes "[[Ljava/lang/String;" java.lang.String[][]. */
void hotspot_type(const char *text, char *out, size_t room)
{
	static const struct {
		char letter;
		const char *name;
	} basic[] = {{'Z', "boolean"}, {'B', "byte"}, {'C', "char"},  {'S', "short"},
		     {'I', "int"},     {'J', "long"}, {'F', "float"}, {'D', "double"}};
	size_t arrays = strspn(text, "["), length = strlen(text) - arrays;
	const char *element = text + arrays;

	if (arrays && length > 1 && *element == 'L') {
		element++;
		length -= 2;
	}
	for (size_t i = 0; arrays && length == 1 && i < sizeof(basic) / sizeof(basic[0]); i++) {
		if (*element != basic[i].letter)
			continue;
		element = basic[i].name;
		length = strlen(element);
		break;
	}
	snprintf(out, room, "%.*s", (int)length, element);
	for (char *at = out; *at; at++)
		if (*at == '/')
			*at = '.';
	for (size_t used = strlen(out); arrays && used + 2 < room; arrays--, used += 2)
		memcpy(out + used, "[]", 3);
}
