/* SPDX-License-Identifier: BSD-2-Clause */
/* unwind_rows.h: how callers are found without frame pointers: tables, and the searches in them. */
/*
 * The tables of call frame information that compilers leave in files are a
 * program for each function. The recorder runs them beforehand and keeps what
 * comes out: rows, each saying "from this instruction on, this rule holds". A
 * rule says where the caller's registers are. Few rules serve all of a file, so
 * a row is only the low half of an address and the number of a rule.
 *
 * Rows lie in chunks, sorted. A page holds the rows of 64 KiB of code and begins
 * with a row for its first byte, so the search never leaves the page. Every
 * process has a table of what is mapped executable, sorted by address, which
 * leads to the pages.
 */
#ifndef GCPROF_UNWIND_ROWS_H
#define GCPROF_UNWIND_ROWS_H

#ifndef __bpf__
#include <stdint.h>
#define UNROLL /* for old verifiers, see kernel.h */
#endif

/* Canonical frame address: the stack pointer of the caller, after it is returned to. */
enum unwind_cfa {
	UNWIND_CFA_NONE = 0,     /* nothing is known about the code here */
	UNWIND_CFA_SP = 1,       /* rsp + cfa_offset */
	UNWIND_CFA_BP = 2,       /* rbp + cfa_offset */
	UNWIND_CFA_BX = 3,       /* rbx + cfa_offset: trampolines that align the stack */
	UNWIND_CFA_SP_DEREF = 4, /* word at rsp + cfa_offset, + cfa_add */
	UNWIND_CFA_BP_DEREF = 5, /* word at rbp + cfa_offset, + cfa_add */
	UNWIND_CFA_PLT = 6,      /* rsp + 8, and 8 more behind byte cfa_offset of a 16-byte entry */
	UNWIND_CFA_SIGNAL =
		128, /* with the others: what it returns to was interrupted, not calling */
};

/* Where a register of the caller is. */
enum unwind_place {
	UNWIND_SAME = 0,   /* where it was */
	UNWIND_AT_CFA = 1, /* word at the CFA + offset */
	UNWIND_AT_SP = 2,  /* word at rsp + offset */
	UNWIND_AT_BP = 3,  /* word at rbp + offset */
	UNWIND_STOP = 4,   /* of the return address: there is no caller */
	UNWIND_FIBER = 5, /* of the return address: where the fiber has left its stack, see below */
};

/* With UNWIND_FIBER the three offsets, and cfa_add for the stack pointer, are of what the fiber
 * that the thread runs has saved, from the fiber on (bpf/fiber.h); without a fiber it is a stop. */
struct unwind_rule {
	uint8_t cfa;        /* enum unwind_cfa */
	uint8_t ra, bp, bx; /* enum unwind_place: return address, rbp, rbx */
	int32_t cfa_offset;
	int16_t cfa_add;
	int16_t ra_offset, bp_offset, bx_offset;
};

/* A row: the low half of an address in its low half, the number of a rule in the high one. */
typedef uint32_t unwind_row;

#define UNWIND_PAGE_SHIFT 16
#define UNWIND_CHUNK_ROWS 65536  /* 256 KiB */
#define UNWIND_CHUNKS_MAX 256    /* 64 MiB of rows at most */
#define UNWIND_RULES_MAX  16384  /* different ones, number 0 is UNWIND_CFA_NONE */
#define UNWIND_PAGES_MAX  65536  /* 4 GiB of code */
#define UNWIND_TABLES_MAX 16384  /* processes with mappings of their own */
#define UNWIND_ROWS_MAX   0xffff /* in one page */
#define UNWIND_MAPPINGS   250    /* in one process: keeps the table within 8 KiB */

struct unwind_page {
	uint32_t chunk;
	uint16_t first; /* row in the chunk */
	uint16_t count; /* rows, 0: none */
};

/* Code that is mapped and has rows. */
struct unwind_mapping {
	uint64_t start, end;
	uint64_t base;  /* what lies there when it is subtracted is a place in the first page on */
	uint32_t first; /* page */
	uint32_t count; /* pages */
};

/* What is mapped in a process, in the map `unwind_tables`. */
struct unwind_table {
	uint32_t count;
	uint32_t hotspot; /* key in `hotspot_files`, from 1; 0: no Java virtual machine */
	uint64_t bias;    /* of its library */
	struct unwind_mapping mappings[UNWIND_MAPPINGS]; /* by address */
};

/* Which table a process has, in the map `unwind_of`; a forked child has its parent's. */
struct unwind_of {
	uint32_t table; /* key in `unwind_tables` */
	uint32_t reserved;
	uint64_t since; /* ns: it says nothing about a program that was executed later */
};

#ifndef __bpf__
_Static_assert(sizeof(struct unwind_rule) == 16, "shared with the kernel side");
_Static_assert(sizeof(struct unwind_page) == 8, "shared with the kernel side");
_Static_assert(sizeof(struct unwind_mapping) == 32, "shared with the kernel side");
_Static_assert(sizeof(struct unwind_table) == 16 + 32 * UNWIND_MAPPINGS, "shared");
_Static_assert(sizeof(struct unwind_of) == 16, "shared with the kernel side");
#endif

/* All ones if a <= b, else 0, for values below 2^31: searches without branches are cheap for the
 * verifier, which follows every branch. */
static inline uint32_t unwind_not_above(uint32_t a, uint32_t b)
{
	return 0 - ((a - b - 1) >> 31);
}

/*
 * The rule number of the last row at or before `low` among `count` rows from
 * `first` on; the first of them is for byte 0. Reads inside of the chunk whatever
 * the page says.
 */
static inline uint32_t unwind_search(const unwind_row *rows, uint32_t first, uint32_t count,
				     uint32_t low)
{
	UNROLL
	for (int step = 0; step < UNWIND_PAGE_SHIFT; step++) {
		uint32_t half = count >> 1;
		uint32_t row = rows[(first + half) & (UNWIND_CHUNK_ROWS - 1)];

		if (count <= 1)
			break;
		first += half & unwind_not_above(row & 0xffff, low);
		count -= half;
	}
	return rows[first & (UNWIND_CHUNK_ROWS - 1)] >> 16;
}

/* The last mapping that begins at or before `address`; the caller checks that it holds it. */
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
