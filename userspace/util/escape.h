/* SPDX-License-Identifier: BSD-2-Clause */
/* escape.h: makes text from anywhere harmless on a terminal, in messages and in JSON. */
/*
 * Names come from programs, files and profiles that others made. What a terminal obeys
 * (control characters), what misleads the eye (invisible characters, those that change the
 * direction of text, line separators) and what is no UTF-8 is written out instead.
 */
#ifndef GCPROF_ESCAPE_H
#define GCPROF_ESCAPE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The character at `text`: its length in bytes, 0 if it is not valid UTF-8. */
size_t utf8_decode(const char *text, size_t size, uint32_t *character);

/* Must this character be written out? */
bool escape_needed(uint32_t character);

#define ESCAPE_MAX 16 /* bytes that one character becomes, with a zero at the end */

/*
 * The character at `text`, of which there are `size` bytes, as it may be shown: itself, \xNN
 * for control characters and bytes that are no UTF-8, or \u{NNNN}. How many bytes of the text
 * that is: at least 1.
 */
size_t escape_character(const char *text, size_t size, char out[ESCAPE_MAX]);

/* The same for a string in JSON, whose content stays; what is no UTF-8 becomes U+FFFD. */
size_t escape_json(const char *text, size_t size, char out[ESCAPE_MAX]);

/* Prints a whole text so. */
void escape_print(FILE *out, const char *text, size_t size);

/*
 * As vasprintf(), but whatever the arguments bring in is escaped, newlines too: only the newlines
 * of the format itself stay. To be freed; NULL: no memory.
 */
char *escape_format(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

#endif
