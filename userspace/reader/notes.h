/* SPDX-License-Identifier: BSD-2-Clause */
/* notes.h: the SystemTap notes of an ELF file. */
#ifndef GCPROF_READER_NOTES_H
#define GCPROF_READER_NOTES_H

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

/* Addresses as the linker knows them; texts are borrowed. */
struct probe_note {
	uint64_t address;
	uint64_t semaphore; /* 0: there is none */
	const char *provider, *name, *arguments;
};

/* Where its semaphore is in the file, 0 if it has none; false if that is no data of the file. */
bool note_semaphore(Elf *elf, int fd, const struct probe_note *note, uint64_t *offset);

typedef void notes_visitor(void *context, const struct probe_note *note);

/* Visits all notes of a file, which is not trusted, in its order. */
void notes_visit(Elf *elf, notes_visitor *visit, void *context);

#endif
