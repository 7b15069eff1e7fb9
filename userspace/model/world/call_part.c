/* SPDX-License-Identifier: BSD-2-Clause */
/* call_part.c: sums over system call records, weighted by the calls that each stands for. */
#include "call_part.h"

#include "../../../bpf/events.h"

#define STANDS_MAX (UINT64_C(1) << 24) /* larger weights are invalid */
#define NS_MAX     (UINT64_C(1) << 62)

uint64_t call_stands(const struct record_syscall *record)
{
	return !record->stands || record->stands > STANDS_MAX ? 1 : record->stands;
}

uint64_t call_stands_ns(const struct record_syscall *record)
{
	uint64_t stands = call_stands(record);

	return record->duration > NS_MAX / stands ? NS_MAX : record->duration * stands;
}

void call_part_add(struct call_part *part, const struct record_syscall *record, bool selected)
{
	double stands = (double)call_stands(record);
	bool error = !(record->flags & SYSCALL_UNFINISHED) && record->result < 0 &&
		     record->result >= -4095;

	part->records++;
	part->unknown |= !record->stands;
	part->stackless += record->stack ? 0 : stands;
	share_add(&part->count, selected, 1 / stands);
	share_add_amount(&part->time, selected, (double)record->duration, 1 / stands);
	if (!selected)
		return;
	part->errors += error ? stands : 0;
	part->gc_count += record->gc_ns ? stands : 0;
	part->gc_ns += stands * (double)record->gc_ns;
}
