/* SPDX-License-Identifier: BSD-2-Clause */
/* unwind_rows.h: unwind rows: finding callers without frame pointers; tables and lookups. */
/*
 * Call frame information, which compilers store in files, is a small program for each function. The
 * recorder runs these programs in advance and keeps the result: rows, each of which says that a
 * rule holds from some instruction on. A rule says where the caller's registers are. A file needs
 * only a few rules, so a row is just the low half of an address and the number of a rule.
 *
 * Rows are stored in chunks, sorted. A page holds the rows of 64 KiB of code and begins with a row
 * for its first byte, so a search never leaves the page. Every process has a table of its
 * executable mappings, sorted by address, which leads to the pages.
 */
#ifndef GCPROF_UNWIND_ROWS_H
#define GCPROF_UNWIND_ROWS_H

#ifndef __bpf__
#include <stdint.h>
#endif
#include "verifier.h"

/* Canonical frame address: the stack pointer after the return to the caller. */
enum unwind_cfa {
	UNWIND_CFA_NONE = 0,     /* nothing is known about this code */
	UNWIND_CFA_SP = 1,       /* rsp + cfa_offset */
	UNWIND_CFA_BP = 2,       /* rbp + cfa_offset */
	UNWIND_CFA_BX = 3,       /* rbx + cfa_offset: trampolines that align the stack */
	UNWIND_CFA_SP_DEREF = 4, /* word at rsp + cfa_offset, + cfa_add */
	UNWIND_CFA_BP_DEREF = 5, /* word at rbp + cfa_offset, + cfa_add */
	UNWIND_CFA_PLT = 6,      /* rsp + 8, or + 16 from byte cfa_offset of a 16-byte entry on */
	UNWIND_CFA_BX_DEREF = 7, /* word at rbx + cfa_offset, + cfa_add */
	UNWIND_CFA_SP_DEREF_TWICE = 8, /* the word that the word at rsp + cfa_offset points to,
					  + cfa_add: where OCaml's fibers begin */
	UNWIND_CFA_SIGNAL = 128,       /* flag: the caller was interrupted and did not call */
};

/* Where to find a register of the caller. */
enum unwind_place {
	UNWIND_SAME = 0,   /* unchanged */
	UNWIND_AT_CFA = 1, /* word at the CFA + offset */
	UNWIND_AT_SP = 2,  /* word at rsp + offset */
	UNWIND_AT_BP = 3,  /* word at rbp + offset */
	UNWIND_STOP = 4,   /* return address only: there is no caller */
	UNWIND_FIBER = 5,  /* return address only: the fiber's saved registers, see below */
};

/* With UNWIND_FIBER, the three offsets, and cfa_add for the stack pointer, say where the registers
 * of the current fiber are saved, from the fiber's address on (bpf/fiber.h). Without a fiber it is
 * a stop. */
struct unwind_rule {
	uint8_t cfa;        /* enum unwind_cfa */
	uint8_t ra, bp, bx; /* enum unwind_place: return address, rbp, rbx */
	int32_t cfa_offset;
	int16_t cfa_add;
	int16_t ra_offset, bp_offset, bx_offset;
};

/* Low half: the low half of an address. High half: the number of a rule. */
typedef uint32_t unwind_row;

#define UNWIND_PAGE_SHIFT 16
#define UNWIND_CHUNK_ROWS 65536  /* 256 KiB */
#define UNWIND_CHUNKS_MAX 256    /* 64 MiB of rows */
#define UNWIND_RULES_MAX  16384  /* number 0 is UNWIND_CFA_NONE */
#define UNWIND_PAGES_MAX  65536  /* 4 GiB of code */
#define UNWIND_TABLES_MAX 16384  /* processes with a table of their own */
#define UNWIND_ROWS_MAX   0xffff /* in one page */
#define UNWIND_MAPPINGS   250    /* in a table: keeps it within 8 KiB */
#define UNWIND_PARTS      4      /* tables of a process */

struct unwind_page {
	uint32_t chunk;
	uint16_t first; /* index of the first row in the chunk */
	uint16_t count; /* rows, 0: none */
};

/* A mapping of code that has rows. */
struct unwind_mapping {
	uint64_t start, end;
	uint64_t base;  /* address - base is an offset from the first page on */
	uint32_t first; /* page */
	uint32_t count; /* pages */
};

/* Mappings of a process, in the map `unwind_tables`. Those of later addresses are in tables with
 * the following numbers. */
struct unwind_table {
	uint64_t end; /* addresses from here on are in the next table */
	uint32_t count;
	uint32_t hotspot; /* key in `hotspot_files`, from 1; 0: no Java virtual machine */
	uint64_t bias;    /* load bias of that library */
	struct unwind_mapping mappings[UNWIND_MAPPINGS]; /* sorted by address */
};

/* The first table of a process, in the map `unwind_of`; a forked child gets its parent's. */
struct unwind_of {
	uint32_t table; /* key in `unwind_tables` */
	uint32_t reserved;
	uint64_t since; /* ns: not valid for a program executed later */
};

#ifndef __bpf__
_Static_assert(sizeof(struct unwind_rule) == 16, "shared with the kernel side");
_Static_assert(sizeof(struct unwind_page) == 8, "shared with the kernel side");
_Static_assert(sizeof(struct unwind_mapping) == 32, "shared with the kernel side");
_Static_assert(sizeof(struct unwind_table) == 24 + 32 * UNWIND_MAPPINGS, "shared");
_Static_assert(sizeof(struct unwind_of) == 16, "shared with the kernel side");
#endif

/* All ones if a <= b, else 0, for values below 2^31. Searches without branches are cheap for the
 * verifier, which follows every branch. */
static inline uint32_t unwind_not_above(uint32_t a, uint32_t b)
{
	return 0 - ((a - b - 1) >> 31);
}

/*
 * The rule number of the last row at or before `low` among `count` rows from `first` on. The first
 * row is for byte 0. Stays within the chunk whatever the page says.
 */
static inline uint32_t unwind_search(const unwind_row *rows, uint32_t first, uint32_t count,
				     uint32_t low)
{
	UNROLL
	for (int step = 0; step < UNWIND_PAGE_SHIFT; step++) {
		uint32_t half = count >> 1;
		uint32_t row = rows[(first + half) & (UNWIND_CHUNK_ROWS - 1)];

		first += half & unwind_not_above(row & 0xffff, low);
		count -= half;
	}
	return rows[first & (UNWIND_CHUNK_ROWS - 1)] >> 16;
}

/* The last mapping that begins at or before `address`, which may lie beyond its end. */
static inline uint32_t unwind_find_mapping(const struct unwind_table *table, uint64_t address)
{
	uint32_t first = 0, count = table->count;

	UNROLL
	for (int step = 0; step < 8; step++) {
		uint32_t half = count >> 1, middle = first + half;
		uint64_t start;

		if (middle >= UNWIND_MAPPINGS)
			break;
		/* All ones if it begins at or before the address: both are below 2^63. */
		start = table->mappings[middle].start;
		first += half & (uint32_t)(((address - start) >> 63) - 1);
		count -= half;
	}
	return first;
}

#endif
