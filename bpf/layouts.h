/* SPDX-License-Identifier: BSD-2-Clause */
/* layouts.h: what walkers must know of a file that has a runtime. */
#ifndef GCPROF_LAYOUTS_H
#define GCPROF_LAYOUTS_H

#include "cpython.h"
#include "hotspot.h"

struct walk_layouts {
	struct hotspot_layout hotspot;
	struct cpython_layout cpython;
};

#endif
