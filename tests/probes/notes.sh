#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# notes.sh: compares the probes in built files with the table gc/provider/probes.def.
#
# usage: notes.sh LIBRARY_OR_PROGRAM...
# For every row: one note, provider gcprof, as many arguments as the table says,
# each of its type's size and sign, a semaphore, and at the note's address the
# one-byte nop with its function's frame set up before it. The same of the two probes
# of OpenTelemetry's contract. No others.
# Exits 0, or 1 after printing what differs.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
gc="$here/../../gc/provider"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

complain() {
	echo "$file: $*"
	failed=1
}

# The table as the compiler sees it: "name size size ...", sizes negative where signed.
cat > "$work/table.c" <<'EOF'
#include <stdint.h>
#include <stdio.h>

#define PROBE(name, tier, since, when) printf("%s", #name);
#define ARG(probe, name, type, unit, meaning) \
	printf(" %d", (int)sizeof(type) * (_Generic((type)0, int8_t: -1, int16_t: -1, \
		int32_t: -1, int64_t: -1, default: 1)));
#define END_PROBE(name, n) printf("\n");

int main(void)
{
#include "probes.def"
	return 0;
}
EOF
${CC:-gcc} -w -I"$gc" "$work/table.c" -o "$work/table"
{
	"$work/table" | sed 's/^/gcprof /'
	echo 'otel_memory alloc 8 8 8'
	echo 'otel_memory free 8'
} > "$work/expected"
[ -s "$work/expected" ]

# "provider name pc semaphore size size ..." for each note of a file.
read_notes() {
	LC_ALL=C readelf -n "$1" | awk '
		$1 == "Provider:" { provider = $2 }
		$1 == "Name:" { name = $2 }
		$1 == "Location:" { pc = $2; semaphore = $NF; sub(",", "", pc) }
		$1 == "Arguments:" {
			sizes = ""
			for (i = 2; i <= NF; i++) {
				split($i, part, "@")
				sizes = sizes " " part[1]
			}
			print provider, name, pc, semaphore sizes
		}'
}

# Looks at the instructions of the probe's function, up to the probe.
check_site() { # PC NAME FUNCTION
	local pc=$(($1)) before byte

	awk -v name="<$3>:" '/^[0-9a-f]+ </ { on = $2 == name } on' "$work/sites" > "$work/site"
	byte=$(sed -n 's/^ *\([0-9a-f]*\):[[:space:]]*\(.*\)$/\1 \2/p' "$work/site" |
		awk -v pc="$(printf '%x' $pc)" '$1 == pc { print $2, $3 }')
	case $byte in
	"90 nop"*) ;;
	*) complain "$2: at $1 there is \"$byte\", not the one-byte nop" ;;
	esac
	before=$(sed -n "/<$3>:/,/$(printf '%x' $pc):/p" "$work/site")
	case $before in
	*"push   %rbp"*"mov    %rsp,%rbp"*nop*) ;;
	*) complain "$2: the frame is not set up before the probe:"$'\n'"$before" ;;
	esac
}

check_probe() { # PROVIDER NAME SIZES...
	local provider=$1 name=$2 rest sizes pc semaphore function=probe_fire_$2
	shift 2

	[ "$provider" = gcprof ] || function=fire_$name
	rest=$(awk -v provider="$provider" -v name="$name" '$1 == provider && $2 == name' "$work/notes")
	if [ "$(printf '%s' "$rest" | grep -c .)" -ne 1 ]; then
		complain "$name: expected one note, there is: ${rest:-none}"
		return
	fi
	read -r _ _ pc semaphore sizes <<< "$rest"
	[ "$sizes" = "$*" ] || complain "$name: arguments of sizes $sizes, not $*"
	[ $((semaphore)) -ne 0 ] || complain "$name: no semaphore"
	check_site "$pc" "$name" "$function"
}

for file in "$@"; do
	read_notes "$file" > "$work/notes"
	objdump -d "$file" > "$work/sites"
	while read -r row; do
		# shellcheck disable=SC2086 # a row is a list of words
		check_probe $row
	done < "$work/expected"
	while read -r provider name _; do
		grep -q "^$provider $name " "$work/expected" ||
			complain "$provider:$name is not in the table"
	done < "$work/notes"
done
[ $# -gt 0 ] || { echo "usage: notes.sh LIBRARY_OR_PROGRAM..."; exit 1; }
exit $failed
