/* SPDX-License-Identifier: BSD-2-Clause */
/* rights.c: may this process record, and can this kernel? */
#include "rights.h"

#include "checks.h"

int rights_check(struct problem *problem)
{
	for (size_t i = 0; i < check_count; i++) {
		struct finding finding = {0};

		if (!check_table[i].vital)
			continue;
		check_table[i].look(&finding);
		if (finding.verdict == VERDICT_IMPOSSIBLE)
			return problem_set(problem, finding.error,
					   "%s\n%s\n'gcprof doctor' tells more.", finding.found,
					   finding.advice);
	}
	return 0;
}
