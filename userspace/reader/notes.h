/* SPDX-License-Identifier: BSD-2-Clause */
/* notes.h: parses the SystemTap notes of an ELF file, and the locations of their arguments. */
#ifndef GCPROF_READER_NOTES_H
#define GCPROF_READER_NOTES_H

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../bpf/config.h"

/* Link-time addresses; texts are borrowed. */
struct probe_note {
	uint64_t address;
	uint64_t semaphore; /* 0: none */
	const char *provider, *name, *arguments;
};

/* The offset of its semaphore in the file, 0 if it has none; false if it is not in the file's data.
 */
bool note_semaphore(Elf *elf, int fd, const struct probe_note *note, uint64_t *offset);

typedef void notes_visitor(void *context, const struct probe_note *note);

/* Visits all notes of an untrusted file in file order. */
void notes_visit(Elf *elf, notes_visitor *visit, void *context);

/*
 * Takes one argument such as "-4@%edi", "8@-16(%rbp)", "8@(%rax,%rcx,8)" or "4@$7" from the front
 * of *text, and advances it past following blanks. 1 if there was one, 0 at the end of the text,
 * -EINVAL if it cannot be read at the probe.
 */
int operand_next(const char **text, struct probe_argument *out);

#endif
