/* SPDX-License-Identifier: BSD-2-Clause */
/* own_code.h: separates the time of recording from the program's own, by kernel stack. */
#ifndef GCPROF_OWN_CODE_H
#define GCPROF_OWN_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct own_code; /* not thread-safe */

int own_code_create(struct own_code **out); /* -ENOMEM */
void own_code_free(struct own_code *own);   /* NULL is allowed */

/* Adds the machine code of one of our BPF programs, at `begin` in the kernel. */
int own_code_add(struct own_code *own, uint64_t begin, uint64_t length); /* -ENOMEM */

struct bpf_program;

/* The same for all functions of a program; one that is not loaded has none. */
int own_code_add_program(struct own_code *own, const struct bpf_program *program);

/* False: nothing was added, so all time counts as the program's. */
bool own_code_is_known(const struct own_code *own);

/*
 * Is a thread with these kernel frames, innermost first, in one of our programs, in a kernel
 * function called by one, or in a function that calls one? Callers are known once a stack showed
 * them.
 */
bool own_code_has(struct own_code *own, const uint64_t *frames, size_t count);

#endif
