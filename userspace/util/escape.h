/* SPDX-License-Identifier: BSD-2-Clause */
/* escape.h: escapes untrusted text for terminals, messages and JSON. */
/*
 * Names come from programs, files and profiles of other people. Control characters, misleading
 * characters (invisible ones, changes of text direction, line separators) and invalid UTF-8 are
 * written out instead.
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

/* Must this character be escaped? */
bool escape_needed(uint32_t character);

#define ESCAPE_MAX 16 /* bytes of an escaped character with its terminating zero */

/*
 * Writes the character at `text` (`size` bytes long) in printable form: itself, \xNN for control
 * characters and invalid bytes, or \u{NNNN}. Returns the number of bytes of text used: at least 1.
 */
size_t escape_character(const char *text, size_t size, char out[ESCAPE_MAX]);

/* The same for a JSON string, which keeps its content; invalid UTF-8 becomes U+FFFD. */
size_t escape_json(const char *text, size_t size, char out[ESCAPE_MAX]);

/* Prints a whole text in this form. */
void escape_print(FILE *out, const char *text, size_t size);

/*
 * Like vasprintf(), but escapes everything from the arguments, including newlines. Newlines of the
 * format itself stay. Free the result; NULL: no memory.
 */
char *escape_format(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

#endif
