/* SPDX-License-Identifier: BSD-2-Clause */
/* options.h: options from the program and the environment. */
#ifndef GCPROF_PROVIDER_OPTIONS_H
#define GCPROF_PROVIDER_OPTIONS_H

struct gcprof_options;

/* Replaces fields of 0 by their defaults and checks all. -EINVAL, with gcprof_error(). */
int provider_options_check(struct gcprof_options *options);

#endif
