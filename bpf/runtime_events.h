/* SPDX-License-Identifier: BSD-2-Clause */
/* runtime_events.h: contract 2, what is reported of runtimes without probes of ours; part of
 * events.h. */
#ifndef GCPROF_RUNTIME_EVENTS_H
#define GCPROF_RUNTIME_EVENTS_H

#define PLACE_VALUES 13
#define PLACE_TEXTS  2

/* The kernel side knows nothing but how to read these: what they mean says the runtime's table. */
struct event_place {
	struct event_header header;
	struct event_stack stack; /* all zero, where the place wants none */
	uint16_t runtime;         /* enum runtime_number */
	uint16_t place;           /* row of its table of places */
	uint16_t text_size[PLACE_TEXTS];
	uint32_t failed; /* bits: values that could not be read, and are 0 */
	uint32_t reserved;
	uint64_t values[PLACE_VALUES];
	/* tail: the texts, each padded with zeroes to 8 bytes; then the stack */
};

struct event_freed {
	struct event_header header;
	uint64_t address;
	uint64_t age;     /* bytes allocated since; 0: unknown */
	uint32_t outcome; /* enum gcprof_outcome; 0: by the cycles that it outlasted */
	uint32_t reserved;
};

/* From the begin of a concurrent collector's work to its end, pauses and all. */
struct event_gc_cycle {
	struct event_header header; /* time: its end, or now if it is not over */
	uint64_t heap, cycle;
	uint64_t began;  /* CLOCK_MONOTONIC ns */
	uint64_t name;   /* of gc_name */
	uint64_t reason; /* as in event_gc_begin */
	/* Bytes of the heap in use at the begin, and at the end, and what of it was found alive;
	 * 0: unknown. */
	uint64_t heap_before, heap_after, live;
	uint64_t unfinished; /* 1: the recording ended before it */
};

/* A place that allocates as a runtime's own heap profile has it: sampled objects, not scaled. */
struct event_heap_site {
	struct event_header header; /* time: when it was read */
	struct event_stack stack;
	uint64_t objects, bytes;         /* not freed */
	uint64_t all_objects, all_bytes; /* since the program began */
	uint64_t rate;                   /* mean bytes between samples */
					 /* tail: the stack */
};

struct event_runtime {
	struct event_header header;
	uint16_t name_size, version_size, note_size, collector_size, compiler_size;
	uint16_t reserved[3];
	/* tail: its name ("go"), its version ("1.19.8"), a sentence on what its sampler does not
	 * see, and functions of its collector and its compiler, as struct runtime has them; each
	 * padded with zeroes to 8 bytes */
};

#define BYTECODE_TEXT_MAX  512   /* bytes of a name or file; longer ones are cut */
#define BYTECODE_TABLE_MAX 16384 /* bytes of a table; instructions beyond have no lines */

enum bytecode_runtime { BYTECODE_PYTHON, BYTECODE_V8 };

/* A function on an interpreter's stack, as it was when it was first met there. */
struct event_bytecode {
	struct event_header header;
	uint32_t number;     /* never used again; frames have it, see frame_place.h */
	uint32_t line;       /* where it begins */
	uint32_t table_size; /* bytes, as are the next; 0: it could not be read */
	uint16_t name_size, file_size;
	uint8_t name_width, file_width; /* bytes of a character: 1, 2 or 4 */
	uint8_t runtime;                /* enum bytecode_runtime */
	uint8_t reserved[5];
	/* tail: the characters of its name and of its file, and its table of lines, each padded to
	 * 8 bytes */
};

#define GC_NAMES_FIRST 16 /* smaller numbers are those of gc/provider/probe_args.h */

struct event_gc_name {
	struct event_header header;
	uint64_t number; /* from GC_NAMES_FIRST on, unique in the process */
	uint32_t name_size;
	uint32_t reserved;
	/* tail: the text, padded with zeroes to 8 bytes */
};

#endif
