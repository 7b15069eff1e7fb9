/* SPDX-License-Identifier: BSD-2-Clause */
/* fate_table.h: sampled objects that are followed through collections, and how: see fates.h. */
#ifndef GCPROF_FATE_TABLE_H
#define GCPROF_FATE_TABLE_H

#ifndef __bpf__
#include <stdint.h>
#endif

/* What is read of followed objects at a place with PLACE_FATES. */
enum fate_mode {
	FATES_COPIED = 1, /* a collection has copied what it found in the area of new objects */
	FATES_MIXED,      /* the one in progress copies old objects, too */
	FATES_MARKED,     /* the headers say which objects live; they move later */
	FATES_MOVED,      /* the headers say to where objects move; others stay */
	FATES_BITMAP, /* bits, one per word of the heap, say which objects live; they move later */
	FATES_FREED,  /* regions without objects have been freed */
};

/* How it is known whether an address is in the area of new objects. */
enum fate_area {
	FATES_ALL_NEW, /* every object that was not copied was there */
	FATES_RANGE,   /* FATE_LOW, FATE_SIZE */
	FATES_REGIONS, /* by the tag of its region: FATE_TABLE to FATE_OLD */
};

/* Arguments of such a place. It counts only if the first two are equal, and all can be read. */
enum fate_argument {
	FATE_IS,
	FATE_WANTED,
	/* The class of an object is FATE_BASE + (the 4 bytes at FATE_CLASS << FATE_SHIFT). */
	FATE_CLASS,
	FATE_SHIFT,
	FATE_BASE,
	FATE_AREA,
	/* FATES_RANGE */
	FATE_WORD = FATE_AREA, /* log2 of the unit of FATE_SIZE */
	FATE_LOW,
	FATE_SIZE,
	/* With FATES_COPIED: unless these are equal, the area was not emptied, because there was no
	 * room. Headers are as they were then, whether their objects were copied or not. */
	FATE_TOP,
	FATE_BOTTOM,
	/* FATES_REGIONS: pointers to regions, by address >> FATE_REGION. The tag of one has 4
	 * bytes at FATE_TAG, and is 0 of a free one. */
	FATE_TABLE = FATE_AREA,
	FATE_REGION,
	FATE_TAG,
	FATE_NEW,  /* the tag of regions for new objects */
	FATE_OLD,  /* a bit of the tags of old ones */
	FATE_HUGE, /* of those that have one object, which is not copied */
	/* FATES_BITMAP: the address of the first bit's object, and of the bits. */
	FATE_FIRST = FATE_AREA,
	FATE_BITS,
	FATE_ARGUMENTS = FATE_AREA + 6,
};

/* If the masked header has this value, the object was copied to where the masked target says. */
struct fate_rule {
	uint8_t mode, area;     /* enum fate_mode, enum fate_area */
	int16_t header, target; /* offsets from the object's address */
	uint16_t reserved;
	uint64_t header_mask, header_value, target_mask;
};

#define FATE_OBJECTS_MAX 4096 /* in each of the two lists of a process; a power of two */
#define FATE_OBJECTS_MIN 64
#define FATE_TABLES_MAX  256 /* processes */

struct fate_object {
	uint64_t address;
	uint32_t number;   /* in its process, from 1; 0: it is just being replaced */
	uint32_t class;    /* the low half of its class's address */
	uint32_t survived; /* collections */
	uint32_t reserved;
};

enum fate_list { FATES_NEW, FATES_OLD, FATE_LISTS };

/* The followed objects of a process. */
struct fate_table {
	/* New ones are added by all threads; all else happens while the program is stopped. */
	uint32_t count[FATE_LISTS]; /* FATES_NEW: may be more than there is room for */
	uint32_t filled;            /* of the new ones: those of earlier collections */
	uint32_t limit;             /* of each list */
	uint32_t numbers;           /* given so far */
	uint32_t closed;            /* 1: an agent follows the objects */
	/* Each collection has a place that reads the outcomes, or all addresses are wrong. */
	uint32_t over, known; /* the last one is over; its outcomes were read */
	uint32_t stale;       /* 1: there was one of unknown outcomes: the objects are lost */
	uint32_t mixed;       /* 1: FATES_MIXED in this one */
	uint32_t marked;      /* 1: FATES_MARKED in this one: all objects live */
	uint32_t failed;      /* 1: the area of new objects was not emptied, or time is up */
	uint32_t thins;       /* 1: half of the old ones are to be left out */
	uint32_t pause_ns;    /* spent here in the pause in progress */
	uint32_t list, kept;  /* the list that is read; objects that stay in it */
	uint64_t began;       /* when the place in progress was reached, ns */
	uint64_t spent_ns;    /* spent here since the process had used `ran` of CPU time, ns */
	uint64_t ran;
	/* Of the place in progress. */
	struct fate_rule rule;
	uint64_t values[FATE_ARGUMENTS];
	struct fate_object objects[FATE_LISTS][FATE_OBJECTS_MAX];
};

#endif
