/* SPDX-License-Identifier: BSD-2-Clause */
/* runtime.h: the tables of runtimes without gcprof probes. */
/*
 * The confined reader recognises a runtime in an ELF file. Its table names probe sites ("places")
 * in that file's code, and the locations of the arguments at each of them. The kernel side reads
 * these regardless of the runtime (bpf/place.h), and the recorder turns them into events
 * (record/ingest/places.c). A runtime that needs no stack walker of its own is a single file here,
 * and a test.
 *
 * All tables are constant; differences between files are in struct runtime_facts.
 */
#ifndef GCPROF_RUNTIME_H
#define GCPROF_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../bpf/config.h"
#include "../../bpf/cpython.h"
#include "../../bpf/events.h"
#include "../../bpf/pypy.h"
#include "../../bpf/ruby.h"
#include "../../bpf/v8.h"

struct name_reader;
struct runtime_file;

/* Numbers of runtimes are part of events; they are not stored in profiles. */
enum runtime_number {
	RUNTIME_NONE,
#define RUNTIME(number, NAME, name) RUNTIME_##NAME = number,
#include "list.def"
#undef RUNTIME
#define NAMED(number, NAME, ...) RUNTIME_##NAME = number,
#include "recognised.def"
#undef NAMED
	RUNTIMES
};

/* The event at a probe site. */
enum place_report {
	PLACE_SAMPLE,      /* an object was sampled: ADDRESS, TYPE, BYTES, PERIOD, COUNTER, DRAWN,
			      FORCES, SPAN, WEIGHT, KIND (enum gcprof_sample_kind; 0: foreign); HEAP
			      if its pauses end the objects of one heap of several */
	PLACE_FREED,       /* an object was freed: ADDRESS; ignored if WANTED is present and 0 */
	PLACE_SAMPLER,     /* a thread's sampler is switched on: PERIOD */
	PLACE_HEAP_END,    /* all objects of a HEAP are gone, before the program's end */
	PLACE_PAUSE_BEGIN, /* all threads are stopped: HEAP, KIND, REASON, PROMOTED; its text is for
			      kind_name() */
	PLACE_PAUSE_END, /* they resume, at TIME: HEAP, UNREACHABLE, BEFORE, USED, SIZE, PROMOTED */
	PLACE_CYCLE_DECIDED, /* in a pause that decides on the next cycle: HEAP, REASON */
	PLACE_CYCLE_BEGIN,   /* a concurrent cycle begins: HEAP, REASON, USED */
	PLACE_CYCLE_USED,    /* shortly before its end, where that does not report it: HEAP, USED */
	PLACE_CYCLE_END,     /* it ends: HEAP, USED, LIVE, GROWTH, LIMIT */
	PLACE_POOL_BEFORE,   /* in a pause: an area of the heap before it: USED, SIZE, LIMIT; its
				texts name the collector and the area */
	PLACE_POOL_AFTER,    /* the same, after the pause */
	PLACE_REASON,        /* in a pause or cycle: its REASON */
	PLACE_OPERATION, /* in a pause of HEAP: what its threads are stopped for: the first text, or
			    `title` */
	PLACE_THREAD,    /* a thread is about to give itself this name: a text */
	PLACE_OUTCOMES,  /* the headers of sampled objects say what became of them: `fates` */
	PLACE_REPORTS
};

/* The meaning of an argument. */
enum place_value {
	VALUE_NONE, /* only used by steps of others */
	VALUE_HEAP,
	VALUE_ADDRESS,
	VALUE_TYPE,
	VALUE_CODE, /* of a type without a text: an address in the file that leads to its name */
	VALUE_BYTES,
	VALUE_PERIOD, /* mean bytes between samples for drawing the next distance */
	VALUE_KIND,
	VALUE_REASON,
	VALUE_BEFORE, /* bytes in use before the pause */
	VALUE_USED,
	VALUE_SIZE,
	VALUE_LIMIT, /* greatest SIZE, or of the program's memory; 0 or -1: none */
	VALUE_LIVE,
	VALUE_GROWTH,      /* percent of LIVE, as in a record of a cycle */
	VALUE_PROMOTED,    /* bytes since some moment before the pause */
	VALUE_UNREACHABLE, /* objects found by the collection */
	VALUE_WANTED,
	/* The counter (thread, processor) that counts down to its next sample, for which PERIOD is
	 * remembered; 0: PERIOD is the sample's own. */
	VALUE_COUNTER,
	VALUE_DRAWN,  /* the period of a counter's first distance; 0: none, and its first sample is
			 invalid */
	VALUE_FORCES, /* 1: a counter takes an invalid sample when PERIOD has changed */
	VALUE_TIME,   /* CLOCK_MONOTONIC ns */
	/* The object was sampled because of a point in this number of bytes; 0: in its own. */
	VALUE_SPAN,
	/* Replaces PERIOD: the total of the periods of all sampling points in the object. */
	VALUE_WEIGHT,
	/* All bytes that COUNTER has allocated, as the runtime counts them, some of them late. */
	VALUE_COUNTED,
	VALUE_OBJECT, /* address of an object that collections move */
	VALUE_MORE,   /* input of convert() */
	PLACE_VALUE_KINDS
};

/* How the address of a probe site is found. */
enum place_where {
	PLACE_AT_ENTRY, /* of the function `name` */
	PLACE_AT_NOTE, /* each SystemTap note with the name "provider:probe"; its semaphore, if any,
			  counts recorders */
	PLACE_BEHIND_CHECK, /* behind the stack check of a Go function */
	PLACE_AT_RETURN,    /* each ret of a function */
};

enum argument_from {
	FROM_REGISTER = 1, /* a word of struct pt_regs, by its number */
	FROM_NOTE,         /* an argument of the note, counted from 0 */
	FROM_GLOBAL,       /* the address of a variable in the same file */
	FROM_NUMBER,
};

enum runtime_area {
	AREA_HEAP,   /* a reported part of the heap */
	AREA_BESIDE, /* beside it, and collected with it */
	AREA_OTHER,  /* not to be recorded */
};

/* A step; `field`, if set, names an offset found by the runtime's field(), to which `offset` is
 * added: the first of several, separated by '|', that there is. */
struct argument_step {
	uint8_t kind, size, other;
	int32_t offset;
	const char *field;
};

struct place_argument {
	enum place_value value;
	enum argument_from from;
	uint8_t size;       /* valid bytes of a register; 0: 8 */
	int64_t number;     /* register, argument, or the number */
	const char *global; /* FROM_GLOBAL; or several, as in struct argument_step */
	struct argument_step steps[PROBE_STEPS];
};

struct runtime_place {
	enum place_report report;
	enum place_where where;
	const char *name;      /* or several, as in struct argument_step */
	uint32_t flags;        /* enum place_flag */
	uint32_t since, until; /* versions as numbered by recognise(); until 0: all later ones */
	bool optional;         /* its absence is not reported */
	const char *title;     /* name of a cycle or operation */
	struct place_text texts[2]; /* as in bpf/config.h, except that 0 means no text */
	struct fate_rule fates;     /* PLACE_FATES; its arguments: enum fate_argument */
	struct place_argument arguments[PROBE_ARGUMENTS];
};

enum write_when {
	WRITE_ALWAYS,   /* also in running programs */
	WRITE_AT_START, /* before a program started by the recorder runs, if its file has the
			   expected value; in running programs it is only restored */
	WRITE_AT_MAP    /* once, as soon as a recorded program maps the file */
};

/* A variable in a program's memory that switches its sampler on, or holds its period. */
struct runtime_write {
	const char *global;
	const char *title; /* its usual name; NULL: the same */
	uint8_t size;
	enum write_when when;
	uint64_t expected; /* required old value */
	uint64_t wanted;   /* 0: written only to change the period */
	bool is_period;    /* mean bytes between samples: the value written is passed through
			      runtime_mark() */
	uint64_t started; /* the value that a program itself sets if it was written to at its start;
			     0: none */
};

#define RUNTIME_WRITES_MAX    4
#define RUNTIME_CONSTANTS_MAX 64
#define RUNTIME_VERSION_MAX   32
#define RUNTIME_OWN_MAX       16
#define RUNTIME_REASONS_MAX   40
#define RUNTIME_REASON_BYTES  40

struct runtime_code {
	uint64_t begin, end;
};

/* Facts found in a file, passed from the reader to the recorder. */
struct runtime_facts {
	uint32_t runtime; /* enum runtime_number; RUNTIME_NONE: none, and all other fields are 0 */
	uint32_t number;  /* of the version, for comparisons */
	char version[RUNTIME_VERSION_MAX];
	uint64_t writes[RUNTIME_WRITES_MAX];      /* link-time addresses; 0: not found */
	int32_t constants[RUNTIME_CONSTANTS_MAX]; /* set by the runtime's constants() */
	/* Functions that allocate on behalf of their caller: they are left out at the start of a
	 * sample's stack. `sampled` is the address of the probe site that reports samples. */
	struct runtime_code own[RUNTIME_OWN_MAX];
	/* Of a runtime whose functions are on stacks: all code of its file, which is left out as
	 * well between the sampled object and such a function. */
	struct runtime_code around;
	uint32_t no_agent;             /* 1: the runtime's agent cannot sample this build */
	uint32_t follows;              /* 1: there are places for outcomes */
	uint32_t n_own, has_frames;    /* 1: stacks show its functions, if the table has `walks` */
	struct cpython_layout cpython; /* for the walker, with has_frames */
	struct v8_layout v8;           /* the same */
	struct ruby_layout ruby;       /* the same */
	struct pypy_layout pypy;       /* the same */
	struct fiber_path fiber;       /* as in bpf/config.h, without `since`; no steps: unknown */
	uint64_t sampled;
	/* Addresses of variables: the first site of the runtime's own heap profile, and the mean
	 * bytes between its samples; 0: none known. */
	uint64_t heap_list, heap_rate;
	/* Names of reasons, by number, if the file has them. */
	char reasons[RUNTIME_REASONS_MAX][RUNTIME_REASON_BYTES];
	/* Set by the recorder, for note(): a process that ran before, or may not be written to,
	 * read its variables of WRITE_AT_MAP as in the file. */
	uint32_t is_unprepared;
	uint64_t reports;  /* since when its places report, ns; set by the recorder, 0: unknown */
	char missing[128]; /* a sentence about the first thing not found; "": nothing is missing */
};

/* Reported values, which convert() may change. */
struct place_values {
	uint64_t of[PLACE_VALUE_KINDS];
};

struct runtime {
	uint32_t id;         /* enum runtime_number */
	const char *name;    /* for --runtime, reports and exports */
	const char *library; /* that a program loads itself, relative to its directory; or NULL */
	/* Functions, separated by blanks, in which a thread collects, parts of that, or compiles.
	 * Names end before a '(' or '.'; one with a final '*' stands for all that begin so. */
	const char *collector, *parts[GC_PARTS], *compiler;
	/* The same: functions in which a thread waits for a lock, and for work or by its own wish.
	 * The innermost on the stack counts; one after '?' if no other of the two lists is there.
	 */
	const char *locks, *rests;
	enum gc_pacing pacing;
	const char *plain; /* types that have no references, separated by blanks; NULL: not known */
	const char *last_thread; /* that it starts before the program runs; NULL: none */
	const struct name_reader *name_reader; /* NULL: names are not in memory */
	const char *names;  /* how its compiled functions get names, unless stacks show them */
	bool names_file;    /* these functions are in the program's file */
	bool keeps_frames;  /* all of its code keeps frame pointers */
	const char *agent;  /* for --agent: reports samples or their end; NULL: none */
	bool agent_samples; /* only it switches on the sampler that places report */
	const char *copies; /* an option, up to its value, that makes it copy its code; or NULL */
	bool walks;         /* only for some versions stacks show its functions: see has_frames */
	const struct runtime_place *places;
	size_t n_places;
	const struct runtime_write *writes;
	size_t n_writes;

	/* --- called in the reader --- */

	/* Is it this runtime? Sets `number` and `version` of *out. */
	bool (*recognise)(struct runtime_file *file, struct runtime_facts *out);
	/* The address of a function or variable without a symbol; NULL: all have symbols. */
	bool (*locate)(struct runtime_file *file, const char *name, uint64_t *address);
	/* The instruction after the stack check of a function, or that check's jump. */
	bool (*behind_check)(struct runtime_file *file, uint64_t address, uint64_t *behind);
	/* Its return instructions: their number, or a negative number for more than `max`. */
	int (*returns)(struct runtime_file *file, uint64_t address, uint64_t *out, size_t max);
	bool (*field)(struct runtime_file *file, const char *name, int32_t *offset);
	void (*constants)(struct runtime_file *file, struct runtime_facts *out);

	/* --- called in the recorder --- */

	/* A sentence about bias or gaps of its own sampler or its stacks, or how to get what is
	 * missing; NULL: none. */
	const char *(*note)(const struct runtime_facts *facts);
	/* Computes what is reported of the PROBE_ARGUMENTS words read; NULL: the same words. */
	void (*convert)(const struct runtime_facts *facts, const struct runtime_place *place,
			const uint64_t *read, struct place_values *values);
	/* Why nothing is known about the sampled object; 0: it is readable. */
	enum unsampled (*unreadable)(const uint64_t *read);
	/* The name of a kind or reason; NULL: none. *kind becomes an enum gcprof_gc_kind. `text`:
	 * of the pause's begin or its first part, such as a collector; or NULL. */
	const char *(*kind_name)(const struct runtime_facts *facts, uint64_t number,
				 const char *text, uint32_t *kind);
	const char *(*reason_name)(const struct runtime_facts *facts, uint64_t number);
	/* The name of a pause without a known collector, from its PLACE_OPERATION. */
	void (*operation_name)(const char *operation, char *out, size_t room);
	/* Is a frame in the runtime's format (events.h) of the runtime itself? NULL: none. */
	bool (*is_own_frame)(uint64_t ip);
	/* A type's usual name, from the text in its first sample; NULL: unchanged. */
	void (*type_name)(const char *text, char *out, size_t room);
	/* A collector whose cycles functions report: it reports areas around pauses in them. NULL:
	 * none. */
	const char *cycle_collector;
	/* What a reported area is, by its name; NULL: all are of the heap. */
	enum runtime_area (*area)(const char *name);
	bool threads_count; /* COUNTER is the thread, which draws its first distance at its start */
};

/* The table of a runtime; NULL: no such number or name. */
const struct runtime *runtime_get(uint32_t number);
const struct runtime *runtime_find(const char *name);

/* Is it a `last_thread`? */
bool runtime_is_last_thread(const char *name);

/* Does a probe site report a value? */
bool runtime_place_has(const struct runtime_place *place, enum place_value value);

/* Is this link-time address, or encoded frame, of the runtime's own code? */
bool runtime_is_own(const struct runtime_facts *facts, uint64_t place);

/* Do arguments or an environment make a runtime copy its code, where breakpoints are fatal? */
bool runtimes_copy(const char *text, size_t size);

#define RUNTIME_TEXT_MAX 96

/* "go 1.19.8 reports none", of a stream; false, with the text unchanged: there is no runtime. */
bool runtime_reports_none(const struct runtime_facts *facts, char text[RUNTIME_TEXT_MAX]);
/* Whether all code of one of these (bits) keeps frame pointers. */
bool runtimes_keep_frames(uint32_t runtimes);

#endif
