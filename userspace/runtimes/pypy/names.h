/* SPDX-License-Identifier: BSD-2-Clause */
/* names.h: names PyPy's functions, from the memory of their process. */
#ifndef GCPROF_PYPY_NAMES_H
#define GCPROF_PYPY_NAMES_H

#include "../name_reader.h"

extern const struct name_reader pypy_name_reader;

#endif
