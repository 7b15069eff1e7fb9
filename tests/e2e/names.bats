#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# names.bats: names of frames: inlined functions, lines, files that are gone, moved or elsewhere.

load common

# A program that spins in a function which is inlined, for SECONDS.
make_spinner() { # FILE OPTIONS
	cat >spinner.c <<'END'
#include <stdlib.h>
#include <time.h>

static volatile unsigned sink;

static inline __attribute__((always_inline)) void spin_inner(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink += i;
}

static __attribute__((noipa)) void spin_outer(unsigned n)
{
	spin_inner(n);
	sink++;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 0.5;

	while ((double)clock() / CLOCKS_PER_SEC < seconds)
		spin_outer(1000000);
	return 0;
}
END
	# shellcheck disable=SC2086
	gcc -O2 $2 spinner.c -o "$1"
}

# CPU time below a function, ms.
below() { # FUNCTION
	ask "[.functions[] | select(.name == \"$1\") | .cpu_total_ns] | (add // 0) / 1e6 | floor"
}

@test "inlined functions are frames with their lines" {
	need_root
	make_spinner spinner -g
	record -- ./spinner
	[ "$(below spin_inner)" -gt 300 ]
	[ "$(below spin_outer)" -ge "$(below spin_inner)" ]
	holds '[.functions[] | select(.name == "spin_inner") | .file, .line] ==
		["'"$PWD"'/spinner.c", 6]'
	"$GCPROF" report --width 200 | grep 'spin_inner *spinner.c:6'
	"$GCPROF" export -f folded -o - | grep -F 'main;spin_outer;spin_inner_[i]'
	line=$("$GCPROF" dump | jq -s 'map(select(.record == "symbol")) | [.[].line] | max')
	echo "line $line"
	[ "$line" -gt 0 ]
}

@test "a program that was deleted while it ran has names" {
	need_root
	make_spinner gone -g
	record -- sh -c './gone 0.7 & sleep 0.3; rm gone; wait'
	[ "$(below spin_outer)" -gt 300 ]
	[ "$(below spin_inner)" -gt 300 ]
}

@test "a program that was replaced while it ran keeps its own names" {
	need_root
	make_spinner old -g
	sed 's/spin_/turn_/g' spinner.c >turner.c
	gcc -O2 -g turner.c -o new
	record -- sh -c './old 0.7 & sleep 0.3; mv new old; wait'
	[ "$(below spin_outer)" -gt 300 ]
	[ "$(below turn_outer)" = 0 ]
}

@test "a program in a file without a name (memfd) has names" {
	need_root
	command -v perl >/dev/null || skip 'no perl to make a memfd with'
	make_spinner spinner -g
	cat >memfd.pl <<'END'
my $fd = syscall(319, my $name = "nameless", 0);
open(my $to, ">&=", $fd) or die;
open(my $from, "<", "spinner") or die;
binmode($to); local $/; print {$to} <$from>; $to->flush;
exec("/proc/self/fd/$fd", "0.7") or die;
END
	sed -i '1i use IO::Handle;' memfd.pl
	record -- perl memfd.pl
	[ "$(below spin_outer)" -gt 200 ]
}

@test "a program in another mount namespace has names" {
	need_root
	unshare -m true 2>/dev/null || skip 'mount namespaces cannot be made here'
	make_spinner spinner -g
	mkdir hidden
	record -- unshare -m sh -c \
		'mount -t tmpfs none hidden && cp spinner hidden/elsewhere && hidden/elsewhere 0.7'
	[ ! -e hidden/elsewhere ]
	[ "$(below spin_outer)" -gt 300 ]
	[ "$(below spin_inner)" -gt 300 ]
}

@test "time in the kernel shows the kernel's functions" {
	need_root
	record -- dd if=/dev/zero of=/dev/null bs=1M count=20000
	holds '[.functions[] | select(.runtime == "kernel" and .cpu_self_ns > 0)
		| .name] | length > 0 and all(startswith("[kernel]") | not)'
	"$GCPROF" export -f folded -o - | grep -E '(read|write).*;[a-z_0-9]+_\[k\];[a-z_0-9]+_\[k\] [0-9]+$'
}

@test "what has no name is shown as a place in its file" {
	need_root
	make_spinner bare -s
	record -- ./bare
	holds '[.functions[] | select(.runtime == "native") | .name | select(test("^0x"))] == []'
	holds '[.functions[] | select(.cpu_self_ns > 100000000) | .name] | any(test("^bare\\+0x"))'
}
