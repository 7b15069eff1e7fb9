/* SPDX-License-Identifier: BSD-2-Clause */
/* record_json.h: any record as a JSON object. */
#ifndef GCPROF_RECORD_JSON_H
#define GCPROF_RECORD_JSON_H

#include <stdio.h>

#include "record.h"

/*
 * Prints {"record":"cpu","time":...} without a newline. Text is made valid UTF-8 (invalid bytes
 * become U+FFFD); binary fields are printed in hexadecimal. Errors of the stream are left for
 * ferror().
 */
void record_json(FILE *out, const struct record *record);

/* Prints a text as a JSON string with quotes; control characters are escaped. */
void json_text(FILE *out, struct bytes text);

#endif
