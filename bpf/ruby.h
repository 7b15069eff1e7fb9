/* SPDX-License-Identifier: BSD-2-Clause */
/* ruby.h: what the walker of Ruby frames knows of an interpreter. */
#ifndef GCPROF_RUBY_H
#define GCPROF_RUBY_H

#ifndef __bpf__
#include <stdint.h>
#endif

/* Offsets that depend on the version. */
enum ruby_item {
	RUBY_FRAME_BYTES,  /* size of a frame (rb_control_frame_t) */
	RUBY_TAG_LABEL,    /* in a jump target (rb_vm_tag): the address to continue at; the next
			      word is the stack pointer there */
	RUBY_TAG_PREVIOUS, /* the jump target of a caller */
	RUBY_BODY_CODE,    /* in a function's body (rb_iseq_constant_body): its instructions */
	RUBY_BODY_FILE,
	RUBY_BODY_NAME,
	RUBY_BODY_LINE,    /* first line of the function, as a Ruby integer */
	RUBY_BODY_ENTRIES, /* line entries; two words on: their number (32 bits) */
	RUBY_BODY_INDEX,   /* leads from an instruction to its line entry */
	RUBY_ITEMS
};

/* How much of a frame, a function object and its body the walker reads. */
#define RUBY_FRAME_WORDS 5
#define RUBY_CODE_WORDS  3
#define RUBY_BODY_WORDS  19

/* Offsets that are the same in all known versions, in words. The context begins with its stack, the
 * stack's size in words, the innermost frame and the innermost jump target. */
#define RUBY_CONTEXT_WORDS     4
#define RUBY_FRAME_INSTRUCTION 0 /* behind the current one */
#define RUBY_FRAME_CODE        2 /* the function object (rb_iseq_t) */
#define RUBY_FRAME_FLAGS       4 /* leads to the flags */
#define RUBY_CODE_BODY         2

/* In a frame's flags: it is the outermost frame of its activation; a C function's. */
#define RUBY_FLAG_FINISH 0x20
#define RUBY_FLAG_C      0x80

/* Low bits of an object's first word: its type. */
#define RUBY_TYPE      0x1f
#define RUBY_STRING    0x05
#define RUBY_ARRAY     0x07
#define RUBY_CODE_TYPE 0xf01f
#define RUBY_CODE      0x701a

/* nil; true objects have greater addresses, which are multiples of 8. */
#define RUBY_LAST_SIMPLE 8

/* In strings and arrays: a string's characters are elsewhere; an array's items are in itself. */
#define RUBY_FORM_BIT     0x2000
#define RUBY_LENGTH_SHIFT 14 /* of a string's characters in itself: 5 bits */

/* Index of line entries; see userspace/runtimes/ruby/lines.h. */
#define RUBY_INDEX_FIRST 54
#define RUBY_INDEX_BLOCK 512
#define RUBY_FIRST_BYTES 48
#define RUBY_BLOCK_BYTES 80
#define RUBY_ENTRY_BYTES 12
#define RUBY_INDEX_MAX   4096
#define RUBY_ENTRIES_MAX 12288

/* Bytes of the index of a function whose code has this `length`, in words. */
static inline uint32_t ruby_index_bytes(uint32_t length)
{
	uint32_t more = length > RUBY_INDEX_FIRST ? length - RUBY_INDEX_FIRST : 0;

	return RUBY_FIRST_BYTES +
	       (uint32_t)(((uint64_t)more + RUBY_INDEX_BLOCK - 1) / RUBY_INDEX_BLOCK) *
		       RUBY_BLOCK_BYTES;
}

/* Link-time addresses. All 0: the file has no interpreter, or an unknown version. */
struct ruby_layout {
	/* Two words in memory: the module and the offset of ruby_current_ec, for
	 * __tls_get_addr(). */
	uint64_t storage;
	uint64_t loop, loop_size; /* rb_vm_exec() */
	uint16_t at[RUBY_ITEMS];
	uint16_t reserved[(4 - RUBY_ITEMS % 4) % 4];
};

#endif
