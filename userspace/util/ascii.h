/* SPDX-License-Identifier: BSD-2-Clause */
/* ascii.h: text for people whose locale is not UTF-8. */
/*
 * Reports use a few characters beyond ASCII, and names may have any. In another locale, such as C,
 * a terminal would show their bytes as something else: ASCII takes their place in all text for
 * people. JSON, CSV and other formats for programs stay UTF-8.
 */
#ifndef GCPROF_ASCII_H
#define GCPROF_ASCII_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "escape.h"

/* According to LC_ALL, LC_CTYPE or LANG, the first of these that is set. */
bool ascii_only(void);

/* What stands for a character: "+-" for a plus-minus sign, \u{NNNN} for most. Returns its length.
 */
size_t ascii_character(uint32_t character, char out[ESCAPE_MAX]);

/* A copy of a text with only such characters; free it. NULL: no memory. */
char *ascii_text(const char *text);

/* From now on, stdout gets text for people. */
void ascii_stdout(void);

#endif
