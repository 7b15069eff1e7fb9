/* SPDX-License-Identifier: BSD-2-Clause */
/* runtime.h: what is known of runtimes that have no probes of ours: a table for each. */
/*
 * A runtime is recognised in an ELF file, by the confined reader. Its table names places in that
 * file's code, and for each place where its arguments are: the kernel side reads them, whatever
 * the runtime is (bpf/place.h), and the recorder makes events of them (record/ingest/places.c).
 * So a runtime that needs no stack walker of its own is one file here, and a test.
 *
 * All tables are constant; what differs from one file to another is in struct runtime_facts.
 */
#ifndef GCPROF_RUNTIME_H
#define GCPROF_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../bpf/config.h"
#include "../../bpf/cpython.h"
#include "../../bpf/v8.h"

struct runtime_file;

/* Numbers of runtimes travel in events; they are not stored. */
enum runtime_number {
	RUNTIME_NONE,
#define RUNTIME(number, NAME, name) RUNTIME_##NAME = number,
#include "list.def"
#undef RUNTIME
	RUNTIMES
};

/* What is reported at a place. */
enum place_report {
	PLACE_SAMPLE,      /* an object was sampled: ADDRESS, TYPE, BYTES, PERIOD, COUNTER, DRAWN,
			      FORCES, SPAN, WEIGHT, KIND (enum gcprof_sample_kind; 0: foreign) */
	PLACE_FREED,       /* an object was freed: ADDRESS; not if WANTED is there and 0 */
	PLACE_PAUSE_BEGIN, /* all threads are stopped: HEAP, KIND, REASON, PROMOTED */
	PLACE_PAUSE_END,   /* and go on: HEAP, UNREACHABLE, BEFORE, USED, SIZE, PROMOTED, and
			      TIME, if it was a little earlier */
	PLACE_CYCLE_BEGIN, /* a collector begins its work: HEAP, REASON, USED */
	PLACE_CYCLE_END,   /* and has done it: HEAP, USED, LIVE */
	PLACE_POOL_BEFORE, /* in a pause: a part of the heap before: USED, SIZE; its texts name the
			      collector and the part */
	PLACE_POOL_AFTER,  /* and after */
	PLACE_REASON,      /* in a pause: why: REASON */
	PLACE_REPORTS
};

/* What an argument of a place is. */
enum place_value {
	VALUE_NONE, /* only needed for others */
	VALUE_HEAP,
	VALUE_ADDRESS,
	VALUE_TYPE,
	VALUE_CODE, /* of a type that has no text: an address in the file that has its name */
	VALUE_BYTES,
	VALUE_PERIOD, /* mean bytes between samples, with which the next distance is drawn */
	VALUE_KIND,
	VALUE_REASON,
	VALUE_BEFORE, /* bytes in use before the pause */
	VALUE_USED,
	VALUE_SIZE,
	VALUE_LIVE,
	VALUE_PROMOTED,    /* bytes since some time before the pause */
	VALUE_UNREACHABLE, /* objects that the collection found */
	VALUE_WANTED,
	/* What counts down the distance to its next sample, for which PERIOD is kept; 0: PERIOD is
	 * that of the sample itself. */
	VALUE_COUNTER,
	VALUE_DRAWN,  /* the period of a counter's first distance; 0: there was none, and its first
			 sample is none */
	VALUE_FORCES, /* 1: a counter takes a sample, which is none, when PERIOD has changed */
	VALUE_TIME,   /* CLOCK_MONOTONIC ns */
	/* The object was sampled because of a point in so many bytes; 0: in its own. */
	VALUE_SPAN,
	/* Instead of PERIOD: one for each sampling point in the object, together. */
	VALUE_WEIGHT,
	VALUE_MORE, /* for convert() */
	PLACE_VALUE_KINDS
};

/* How the code address of a place is found. */
enum place_where {
	PLACE_AT_ENTRY,     /* of the function `name` */
	PLACE_AT_NOTE,      /* each SystemTap note with the name "provider:probe"; its semaphore, if
			       it has one, counts the recorders */
	PLACE_BEHIND_CHECK, /* of a Go function */
	PLACE_AT_RETURN,    /* each ret of a function */
};

enum argument_from {
	FROM_REGISTER = 1, /* a word of struct pt_regs */
	FROM_NOTE,         /* an argument of the note, from 0 */
	FROM_GLOBAL,       /* the address of a variable of the same file */
	FROM_NUMBER,
};

/* A step as in struct probe_step; `field`, if there is one, names an offset that the runtime's
 * field() finds, to which `offset` is added. */
struct argument_step {
	uint8_t kind, size, other;
	int32_t offset;
	const char *field;
};

struct place_argument {
	enum place_value value;
	enum argument_from from;
	uint8_t size;       /* bytes of a register that count; 0: 8 */
	int64_t number;     /* register, argument, or the number */
	const char *global; /* FROM_GLOBAL */
	struct argument_step steps[PROBE_STEPS];
};

struct runtime_place {
	enum place_report report;
	enum place_where where;
	const char *name;
	uint32_t flags;             /* enum place_flag */
	uint32_t since, until;      /* versions, as recognise() numbers them; until 0: all later */
	bool optional;              /* without it nothing is missing */
	const char *title;          /* what a cycle is called */
	struct place_text texts[2]; /* as bpf/config.h has them, but for 0, which is no text */
	struct place_argument arguments[PROBE_ARGUMENTS];
};

/* A variable in a program's memory that switches its sampler on, or says how often it takes one. */
struct runtime_write {
	const char *global;
	const char *title; /* as people write it; NULL: like that */
	uint8_t size;
	uint8_t at_start;  /* 1: before a program of ours runs, if its file has what is expected; in
			      running programs it is only put back. 0: in running programs */
	uint64_t expected; /* it is written only if it is this */
	uint64_t wanted;   /* 0: it is only written if other samples are asked for */
	bool is_period;    /* mean bytes between samples: what is written is runtime_mark()ed */
	uint64_t started;  /* what the program itself makes it if it was written to at its start; 0:
			      it does not */
};

#define RUNTIME_WRITES_MAX    4
#define RUNTIME_CONSTANTS_MAX 64
#define RUNTIME_VERSION_MAX   32
#define RUNTIME_OWN_MAX       16
#define RUNTIME_REASONS_MAX   40
#define RUNTIME_REASON_BYTES  40

/* Code of the runtime's own, from `begin` to `end`. */
struct runtime_code {
	uint64_t begin, end;
};

/* What was found in a file, passed from the reader to the recorder. */
struct runtime_facts {
	uint32_t runtime; /* enum runtime_number; RUNTIME_NONE: none, and the rest is 0 */
	uint32_t number;  /* of the version, for comparisons */
	char version[RUNTIME_VERSION_MAX];
	uint64_t writes[RUNTIME_WRITES_MAX]; /* addresses as the linker knows them; 0: not found */
	int32_t constants[RUNTIME_CONSTANTS_MAX]; /* as the runtime's constants() found them */
	/* Functions in which an allocation is the work of their caller: they are left out where a
	 * sample's stack begins. `sampled` is the address of the place that reports samples. */
	struct runtime_code own[RUNTIME_OWN_MAX];
	uint32_t n_own, has_frames; /* 1: stacks have its functions, where the table says `walks` */
	struct cpython_layout cpython; /* what the walker must know: with has_frames */
	struct v8_layout v8;           /* likewise */
	struct fiber_path fiber; /* as bpf/config.h has it, but for `since`; no steps: unknown */
	uint64_t sampled;
	/* Variables: the first place of a heap profile that the runtime keeps itself, and the mean
	 * distance of its samples in bytes; 0: it has none that is known. */
	uint64_t heap_list, heap_rate;
	/* What reasons are called, by number, where the file says so. */
	char reasons[RUNTIME_REASONS_MAX][RUNTIME_REASON_BYTES];
	char missing[128]; /* a sentence about the first thing that was not found; "": all was */
};

/* A reported value that convert() may change. */
struct place_values {
	uint64_t of[PLACE_VALUE_KINDS];
};

struct runtime {
	uint32_t id;         /* enum runtime_number */
	const char *name;    /* for --runtime, reports and exports */
	const char *library; /* that a program loads itself, as seen from its directory; or NULL */
	/* Functions, with blanks between them, in which a thread collects or compiles beside the
	 * program, with all that they call; NULL: there are none. Names go up to a '(' or '.'. */
	const char *collector, *compiler;
	bool walks; /* not of each version are stacks known to have its functions */
	const struct runtime_place *places;
	size_t n_places;
	const struct runtime_write *writes;
	size_t n_writes;

	/* In the reader. Is it this runtime? Sets `number` and `version` of *out. */
	bool (*recognise)(struct runtime_file *file, struct runtime_facts *out);
	/* The address of a function or variable that has no symbol; NULL: it always has one. */
	bool (*locate)(struct runtime_file *file, const char *name, uint64_t *address);
	/* The place behind the stack check of the function at an address, or that check's jump. */
	bool (*behind_check)(struct runtime_file *file, uint64_t address, uint64_t *behind);
	/* Where it returns: how many, or a negative number if that is more than `max`. */
	int (*returns)(struct runtime_file *file, uint64_t address, uint64_t *out, size_t max);
	bool (*field)(struct runtime_file *file, const char *name, int32_t *offset);
	void (*constants)(struct runtime_file *file, struct runtime_facts *out);

	/* In the recorder. */
	/* A sentence: where its own sampler is biased or blind; NULL: nowhere. */
	const char *(*note)(const struct runtime_facts *facts);
	/* Makes of what was read (PROBE_ARGUMENTS words) what the place reports; NULL: it is that.
	 */
	void (*convert)(const struct runtime_facts *facts, const struct runtime_place *place,
			const uint64_t *read, struct place_values *values);
	/* Why nothing can be known of the sampled object, for a warning; NULL: it can. */
	const char *(*unreadable)(const uint64_t *read);
	/* What a kind or reason is called; NULL: it has no name. Of a kind also enum gcprof_gc_kind
	 * in *kind. */
	const char *(*kind_name)(const struct runtime_facts *facts, uint64_t number,
				 const char *collector, uint32_t *kind);
	const char *(*reason_name)(const struct runtime_facts *facts, uint64_t number);
	/* Is a frame of a form of the runtime's own (stack_events.h) of its own code? NULL: none.
	 */
	bool (*is_own_frame)(uint64_t ip);
	/* A type's name as people write it, from the text that came with its first sample; NULL: as
	 * it is. */
	void (*type_name)(const char *text, char *out, size_t room);
	/* Does a part of what the collector reports belong to the heap? NULL: all do. */
	bool (*is_heap)(const char *part);
	bool threads_count; /* COUNTER is the thread, whose first distance is drawn as it begins */
};

/* Periods that gcprof writes into programs: the next one takes over what a killed one left. */
#define RUNTIME_MARK_STEP 64

static inline uint64_t runtime_mark(uint64_t period)
{
	return period / RUNTIME_MARK_STEP * RUNTIME_MARK_STEP + 1;
}

static inline bool runtime_is_marked(uint64_t period)
{
	return period > RUNTIME_MARK_STEP && period % RUNTIME_MARK_STEP == 1;
}

/* The table of a runtime; NULL: there is none with that number or name. */
const struct runtime *runtime_get(uint32_t number);
const struct runtime *runtime_find(const char *name);

/* Does a place report a value? */
bool runtime_place_has(const struct runtime_place *place, enum place_value value);

#define RUNTIME_TEXT_MAX 64

/* Name and version of what was found, as "go 1.19.8"; false, with the text unchanged: nothing was.
 */
bool runtime_describe(const struct runtime_facts *facts, char text[RUNTIME_TEXT_MAX]);

#endif
