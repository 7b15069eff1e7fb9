/* SPDX-License-Identifier: BSD-2-Clause */
/* runtime_events.h: contract 2: reports about runtimes without our probes; part of events.h. */
#ifndef GCPROF_RUNTIME_EVENTS_H
#define GCPROF_RUNTIME_EVENTS_H

#define PLACE_VALUES 13
#define PLACE_TEXTS  2

/* The kernel side only knows how to read these values. The runtime's table defines them. */
struct event_place {
	struct event_header header;
	struct event_stack stack; /* all zero if the location wants none */
	uint16_t runtime;         /* enum runtime_number */
	uint16_t place;           /* row in its table of places */
	uint16_t text_size[PLACE_TEXTS];
	uint32_t failed; /* bits: values that could not be read and are 0 */
	uint32_t reserved;
	uint64_t rss_bytes; /* of the process, at the end of a pause; else 0 */
	uint64_t values[PLACE_VALUES];
	/* tail: the texts, each padded with zeroes to 8 bytes; then the stack */
};

struct event_freed {
	struct event_header header;
	uint64_t address; /* or a heap */
	uint64_t age;     /* bytes allocated since then; 0: unknown */
	uint32_t outcome; /* enum gcprof_outcome; 0: decided by the cycles that it survived */
	uint32_t is_heap; /* 1: all objects of the heap at `address` */
};

/*
 * A cycle of a concurrent collector, from begin to end, pauses included. The probes cycle_begin and
 * cycle_end report the begin, with `unfinished`, and the end, with `began` 0; the recorder pairs
 * them.
 */
struct event_gc_cycle {
	struct event_header header; /* time: its end, or now if it is unfinished */
	uint64_t heap, cycle;
	uint64_t began;  /* CLOCK_MONOTONIC ns */
	uint64_t name;   /* of gc_name */
	uint64_t reason; /* as in event_gc_begin */
	/* Heap bytes in use at the begin and at the end, and bytes found live; 0: unknown. */
	uint64_t heap_before, heap_after, live;
	uint64_t unfinished; /* 1: the recording ended first */
};

enum heap_area_flag {
	HEAP_AREA_BEFORE = 1, /* `before` is known */
	HEAP_AREA_AFTER = 2,  /* `after` is known */
	HEAP_AREA_CYCLE = 4,  /* of a gc_cycle, else of a gc_end */
	HEAP_AREA_BESIDE = 8, /* not part of the heap, nor of its sums */
};

/* A named area of a heap at a collection. It follows the gc_end or gc_cycle. */
struct event_heap_area {
	struct event_header header; /* that of the gc_end or gc_cycle */
	uint64_t heap, cycle;       /* the same */
	uint64_t name;              /* of a gc_name */
	uint32_t flags;             /* enum heap_area_flag */
	uint32_t reserved;
	/* Bytes in use before and after, used or not, and at most; limit 0: none. */
	uint64_t before, after, size, limit;
};

/* An allocation site in a runtime's own heap profile: sampled objects, not scaled. */
struct event_heap_site {
	struct event_header header; /* time: when the profile was read */
	struct event_stack stack;
	uint64_t objects, bytes;         /* not yet freed */
	uint64_t all_objects, all_bytes; /* since the program began */
	uint64_t rate;                   /* mean bytes between samples */
					 /* tail: the stack */
};

struct event_runtime {
	struct event_header header;
	uint16_t name_size, version_size, note_size, collector_size, compiler_size;
	uint16_t unsampled; /* 1: its samples cannot be read, and the sentence says why */
	uint16_t names_size, names_file;
	/*
	 * tail: name ("go"), version ("1.19.8"), a sentence on what its sampler misses, functions
	 * of its collector and its compiler, a sentence on names (names_file: 1 if these are in its
	 * file), as in struct runtime; each padded with zeroes to 8 bytes
	 */
};

#define BYTECODE_TEXT_MAX  512   /* bytes of a name or file; longer ones are cut */
#define BYTECODE_TABLE_MAX 16384 /* bytes of a line table; instructions beyond have no lines */

enum bytecode_runtime { BYTECODE_PYTHON, BYTECODE_V8, BYTECODE_RUBY };

/* An interpreted function, as it was when first found on a stack. */
struct event_bytecode {
	struct event_header header;
	uint32_t number;     /* never reused; frames refer to it, see frame_place.h */
	uint32_t line;       /* where the function begins */
	uint32_t table_size; /* bytes, as are the next two; 0: it could not be read */
	uint16_t name_size, file_size;
	uint8_t name_width, file_width; /* bytes per character: 1, 2 or 4; 0: UTF-8 */
	uint8_t runtime;                /* enum bytecode_runtime */
	uint8_t reserved;
	uint32_t words; /* of Ruby: of its code */
	/* tail: the characters of name and file, and the line table, each padded to 8 bytes */
};

#define GC_NAMES_FIRST \
	GCPROF_GC_NAMES_FIRST /* smaller numbers: enums of gc/provider/probe_args.h */

struct event_gc_name {
	struct event_header header;
	uint64_t number; /* from GC_NAMES_FIRST, unique within the process */
	uint32_t name_size;
	uint32_t reserved;
	/* tail: the text, padded with zeroes to 8 bytes */
};

struct event_thread_name {
	struct event_header header;
	uint32_t name_size;
	uint32_t reserved;
	/* tail: the name, padded with zeroes to 8 bytes */
};

#endif
