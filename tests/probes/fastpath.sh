#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# fastpath.sh: proves that the inlined allocation is the same code with and without sampling.
#
# Compiles one small file against gc.h with GCPROF_NO_SAMPLING=0 and =1,
# disassembles what was inlined, compares, and counts compares and branches.
# Exits 0, or 1 after printing what differs. CC and CFLAGS as usual.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat > "$work/fast.c" <<'EOF'
#include "gc.h"

struct pair {
	struct gc_header header;
	void *first, *second;
};

void *fast_alloc(struct gc_thread *thread, gc_type type)
{
	return gc_alloc(thread, type, sizeof(struct pair));
}

void fast_write(struct gc_thread *thread, struct pair *pair, void *value)
{
	gc_write(thread, pair, &pair->first, value);
}

void fast_safepoint(struct gc_thread *thread)
{
	gc_safepoint(thread);
}
EOF

disassemble() { # VALUE: the instructions without addresses
	${CC:-gcc} -std=c11 -D_GNU_SOURCE ${CFLAGS:--O2} -I"$here/../../gc" \
		-DGCPROF_NO_SAMPLING="$1" -c "$work/fast.c" -o "$work/fast$1.o"
	objdump -dr --no-show-raw-insn "$work/fast$1.o" |
		sed -n 's/^ *[0-9a-f]*:[[:space:]]*//p; s/^[0-9a-f]* <\(.*\)>:$/\1:/p' > "$work/$1"
}

disassemble 0
disassemble 1
if ! grep -q 'fast_alloc:' "$work/0"; then
	echo "nothing was disassembled"
	exit 1
fi
if ! diff -u "$work/1" "$work/0"; then
	echo "the inlined paths differ (-: without sampling, +: with it)"
	exit 1
fi

# The path that is taken: from the start to the first return. One compare, one branch.
path=$(sed -n '/^fast_alloc:/,/ret/p' "$work/0")
compares=$(printf '%s\n' "$path" | grep -c '^cmp' || true)
branches=$(printf '%s\n' "$path" | grep -Ec '^j[a-z]+' || true)
calls=$(printf '%s\n' "$path" | grep -c '^call' || true)
if [ "$compares $branches $calls" != "1 1 0" ]; then
	echo "an allocation takes $compares compares, $branches branches and $calls calls, not 1 1 0:"
	printf '%s\n' "$path"
	exit 1
fi
printf '%s\n' "$path"
