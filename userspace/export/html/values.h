/* SPDX-License-Identifier: BSD-2-Clause */
/* values.h: private: values of the page's data. */
#ifndef GCPROF_HTML_VALUES_H
#define GCPROF_HTML_VALUES_H

#include <jansson.h>

#include "../../model/rows/call_tree.h"
#include "../output.h"

/*
 * Writes a member of an object, after a comma, except if the key begins with "!". Takes over the
 * value; NULL means no memory. No text in it can end a script. 0 or -ENOMEM.
 */
int html_put_value(struct output *output, const char *key, json_t *value);

/*
 * Writes the members "step_ns" and "moments", with a prefix before their names, each after a comma.
 * `names` has the measures' names, which need no escapes; NULL: they are numbers.
 */
void html_put_moments(struct output *output, const char *prefix, const struct call_moments *moments,
		      const char *const *names);

#endif
