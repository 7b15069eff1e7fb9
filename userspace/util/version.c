// SPDX-License-Identifier: BSD-2-Clause
/* version.c: which gcprof this is. Compiled anew for each commit, and alone. */
#include "version.h"

const char gcprof_version[] = "gcprof " GCPROF_VERSION
#ifdef GCPROF_COMMIT
			      " (" GCPROF_COMMIT ")"
#endif
	;
