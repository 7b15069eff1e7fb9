#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# malloc.bats: programs that take memory from malloc(): who takes it, and what is not freed.
# Parallel: no other recorder matters.

load common

setup_file() {
	[ "$(id -u)" = 0 ] || return 0
	gcc -g -O1 -pthread -o "$BATS_FILE_TMPDIR/blocks" "$BATS_TEST_DIRNAME/programs/blocks.c" \
		-Wno-alloc-size-larger-than
}

setup() {
	need_root
	BLOCKS=$BATS_FILE_TMPDIR/blocks
	AGENT=$BUILD/libgcprof-malloc.so
	cd "$BATS_TEST_TMPDIR" || return 1
	started=()
}

# Records `blocks`, which says by its status that its blocks were right; what it printed is in `out`.
blocks() { # PERIOD MODE [COUNT]
	record --malloc -R "$1" -- "$BLOCKS" "${@:2}" || { cat out record.log; return 1; }
	grep -q 'nothing lost' record.log || { cat record.log; return 1; }
}

# Within 2.4 halves of the intervals: one run in 400,000 is outside. By function, since the first stacks may
# lack their callers, and are another site.
right_bytes() { # FUNCTION TYPE
	local truth
	truth=$(jq -r ".$1" out)
	holds "[.functions[] | select(.name == \"$1\") | .alloc_self] | length == 1 and
		(.[0] | (.estimate - $truth | fabs) < 1.2 * (.high - .low))"
	holds ".sites | any(.functions[0] == \"$1\" and .type == \"$2\")"
}
right_live() {
	local truth
	truth=$(jq -r .live out)
	# Of few samples: the half on the side where the truth is.
	holds ".alloc.live | ($truth - .estimate | fabs) <=
		2.4 * (if $truth > .estimate then .high - .estimate else .estimate - .low end)"
}

@test "places and what they keep have the amounts that they had" {
	blocks 64K known 1000000 # 9,000 samples: half of the ring holds them all
	right_bytes take_small malloc
	right_bytes take_large calloc
	right_bytes grow realloc
	right_live
	holds '.runtimes | map([.name, .provider]) == [["gcprof-malloc", 1]]'
	holds '.timeline.windows | map(.unfreed_bytes // 0) | max > 100000'
	"$GCPROF" report --live | grep -q 'take_small < known'
}

@test "long: with the default period, too" {
	record --malloc -- "$BLOCKS" known 1000000
	right_bytes take_large calloc
	right_bytes grow realloc
}

@test "what is never freed is alive, in a program that frees nothing" {
	blocks 16K leak 200000
	right_bytes take_small malloc
	right_live
	holds '.alloc | .live.estimate == .bytes.estimate'
}

@test "another thread frees" {
	blocks 16K handover 400000
	right_bytes take_small malloc
	holds '.alloc.live.estimate < 0.001 * .alloc.bytes.estimate'
}

@test "threads begin and end" {
	blocks 16K threads 1000000
	right_bytes take_small malloc
	holds '.alloc.live.estimate < 0.02 * .alloc.bytes.estimate'
}

@test "long: a process forks while another thread allocates" {
	blocks 64K forks 15
	# 64 MiB of the parent, and of each child: it frees what is not its own, which changes nothing.
	holds '.alloc.live.estimate | . > 16 * 67e6 and . < 17 * 68e6'
}

@test "a type is one type in all processes" {
	gcc -g -O1 -x c - -o takes <<-'C'
		#include <stdlib.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static void *volatile sink;
		__attribute__((noinline)) static void take(void) { for (int i = 0; i < 2000; i++) sink = malloc(10000); }
		int main(void)
		{
			take();
			if (!fork()) { take(); _exit(0); }
			wait(NULL);
			return 0;
		}
	C
	record --malloc -R 64K -- ./takes
	holds '[.sites[] | select(.functions[0] == "take") | .type] == ["malloc"]'
}

@test "long: code that calls the C library's allocator without the agent frees and resizes the program's blocks" {
	gcc -g -O1 "$BATS_TEST_DIRNAME/programs/crossing.c" -o crossing -ldl
	gcc -g -O1 -shared -fPIC -DPLUGIN "$BATS_TEST_DIRNAME/programs/crossing.c" -o plugin.so
	record --malloc -R 4K -- ./crossing ./plugin.so
	right_bytes take_here malloc
	# What the agent did not see freed is in use again soon.
	holds '.alloc.live.estimate < 0.02 * .alloc.bytes.estimate'
}

@test "a double free of a sample ends the program" {
	echo 'int main(void) { void *volatile p = __builtin_malloc(100000); __builtin_free(p); __builtin_free(p); return 0; }' |
		gcc -fno-builtin -x c - -o twice
	record --malloc -R 1K -- sh -c './twice; echo $?' || { cat record.log; return 1; }
	same status "$(tail -n 1 out)" 134
}

@test "a program that takes the address of malloc() has it at a stub of its own" {
	gcc -g -O1 -no-pie -fno-pie -x c - -o stub <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		int main(void)
		{
			void *(*volatile take)(size_t) = malloc;
			void (*volatile give)(void *) = free;
			for (int i = 0; i < 20000; i++) give(take(1000));
			puts("{\"main\": 20000000}");
			return 0;
		}
	C
	readelf -W --dyn-syms stub | grep -E ': 0+[1-9a-f].* UND malloc'
	record --malloc -R 16K -- ./stub
	right_bytes main malloc
	holds '[.runtimes[] | select(.unsampled)] == []'
	# Another allocator before the agent is found behind a stub, too.
	gcc -shared -fPIC -x c - -o own.so <<-'C'
		extern void *__libc_malloc(unsigned long);
		void *malloc(unsigned long size) { return __libc_malloc(size); }
	C
	unsampled stub 'another malloc()' sh -c 'LD_PRELOAD=$PWD/own.so:$LD_PRELOAD ./stub'
}

@test "a signal handler allocates" {
	blocks 16K signals 50000
	holds '.alloc.samples > 100'
}

forms() { # MOST
	blocks 1K forms "$1"
	record --malloc -- "$BLOCKS" forms "$1"
	same 'what it prints' "$(cat out)" "$("$BLOCKS" forms "$1")"
}

@test "all functions, alignments and sizes work as they do without the agent" {
	forms $((1 << 24))
}

@test "long: all sizes up to 2 GiB do" {
	forms $((1 << 30))
}

@test "a program that closes its files and forbids itself system calls" {
	blocks 32K closed 400000 # 6,900 samples
	right_bytes take_large calloc
}

@test "a limit of addresses is left to the program" {
	(
		ulimit -v 2000000
		"$BLOCKS" limited
		LD_PRELOAD=$AGENT GCPROF_RECORD=1 "$BLOCKS" limited
	)
	record --malloc -R 16K -- sh -c "ulimit -v 2000000; exec $BLOCKS limited"
	holds '.alloc.samples > 100'
}

# Of 102 and 300 MB, in 1560 and 4580 samples.
news() { # OPTION...
	local guessed
	cat >new.cpp <<-'C++'
		#include <memory>
		#include <string>
		#include <vector>
		struct alignas(256) wide { char bytes[1024]; };
		__attribute__((noinline)) void wides() { auto p = std::make_unique<wide>(); p->bytes[0] = 1; asm volatile("" : : "r"(p.get()) : "memory"); }
		__attribute__((noinline)) void strings() { std::string s(3000, 'x'); asm volatile("" : : "r"(s.data()) : "memory"); }
		int main()
		{
			std::vector<int> kept;
			for (int i = 0; i < 100000; i++) { wides(); strings(); kept.push_back(i); }
			return kept.size() != 100000;
		}
	C++
	g++ -g -O1 -std=c++17 "$@" new.cpp -o new
	record --malloc -R 64K -- ./new
	# Stacks that are walked without unwind rows, while the recorder is kept waiting, may lack their callers.
	guessed=$(ask '[.losses[] | select(.name == "GUESSED").count] | add // 0 | . * 65536')
	holds '[.functions[] | select(.name | startswith("wides"))][0].alloc_total_bytes |
		. > 87e6 - '"$guessed"' and . < 118e6'
	holds '[.functions[] | select(.name | startswith("strings"))][0].alloc_total_bytes |
		. > 260e6 - '"$guessed"' and . < 340e6'
}

@test "C++: new and delete, sized and aligned, with libstdc++ inside" {
	news -static-libstdc++ -static-libgcc
}

@test "long: C++: new and delete of a shared libstdc++" {
	news
}

# 16 MB of each function live, or 32 MB freed, in 500 or 1000 samples; every site is in the program.
right_sites() {
	record --malloc -R 32K -- "$1"
	holds '.sites | map(select(.bytes.estimate > 1e6) | .functions[0]) | map(sub(".*::"; "") | sub("\\(.*"; "")) |
		unique - ["copy_here", "fine_here", "leak_here", "main"] == []'
	holds '[.sites[] | select(.functions[0] | test("leak_here"))] | map(.live_bytes) | add | . > 12e6 and . < 20e6'
	holds '[.sites[] | select(.functions[0] | test("fine_here"))] | map(.live_bytes) | add < 1e6'
	"$GCPROF" report --tree --sort live | grep leak_here
	"$GCPROF" query 'select 1 from stacks s join functions f on s.site_function = f.id where f.name like "%leak_here%"' |
		grep -q 1
	"$GCPROF" export -f folded --by bytes -o folded
	grep leak_here folded
	! grep 'leak_here.*;' folded
}

@test "long: C++: the site is the function that uses a container, not the container" {
	for options in '-O2 -g' '-O0 -g' -O0 '-O2 -static-libstdc++'; do
		g++ $options "$BATS_TEST_DIRNAME/programs/containers.cc" -o containers
		right_sites ./containers
	done
}

@test "long: Rust: the site is the function that uses a container, not the container" {
	command -v rustc || skip 'there is no rustc'
	for options in '-O -g' ''; do
		rustc $options "$BATS_TEST_DIRNAME/programs/containers.rs" -o containers
		right_sites ./containers
	done
}

@test "long: programs that were not written for this do what they do" {
	for command in \
		"sqlite3 :memory: 'with recursive c(x) as (select 1 union all select x+1 from c where x<100000) select count(*), sum(length(hex(zeroblob(x%500)))) from c'" \
		"gcc -x c -O2 -S -o - $BATS_TEST_DIRNAME/programs/blocks.c -w" \
		"git -C $ROOT log --stat -n 50 --format=%h" \
		"sort -S 100M $BATS_TEST_DIRNAME/programs/blocks.c" \
		"seq 100000 | xz | xz -d"; do
		record --malloc -R 16K -- sh -c "$command"
		cmp out <(sh -c "$command")
		holds '.alloc.samples > 0'
	done
}

@test "long: git collects a repository" {
	git init -q repository
	for i in {1..20}; do
		seq $((i * 1000)) >"repository/$i"
		git -C repository add . && git -C repository -c user.name=n -c user.email=e commit -q -m "$i"
	done
	record --malloc -R 64K -- git -C repository gc -q
	holds '.alloc.samples > 100'
	git -C repository fsck --full
}

# Who is told what, before the program runs. The program runs in any case.
told() { # TEXT COMMAND...
	local text=$1
	shift
	record --malloc -R 16K -- "$@" || return 1
	grep -qF -- "--agent malloc: $text" record.log || { cat record.log; return 1; }
}

@test "what cannot be sampled is said" {
	cat >loop.c <<-'C'
		#include <stdlib.h>
		#ifdef OWN
		static char memory[1 << 20]; static size_t used;
		void *malloc(size_t size) { void *p = memory + used; used += (size + 15) & ~15ul; return used < sizeof(memory) ? p : 0; }
		void free(void *p) { (void)p; }
		void *calloc(size_t n, size_t size) { return malloc(n * size); }
		#endif
		int main(void) { for (int i = 0; i < 100; i++) { char *volatile p = malloc(100); *p = 1; free(p); } return 0; }
	C
	gcc -static loop.c -o fixed
	told 'fixed is statically linked' ./fixed
	gcc -DOWN loop.c -o own
	told 'own has a malloc() of its own' ./own
	gcc -fsanitize=address loop.c -o checked
	told 'libasan.so' ./checked
	for library in jemalloc.so.2 tcmalloc_minimal.so.4 mimalloc.so.2; do
		path=$(ldconfig -p | awk -v name="lib$library" '$1 == name {print $NF; exit}')
		[ -n "$path" ] || continue
		gcc loop.c -Wl,--no-as-needed "$path" -o other
		told "lib${library%%.*}.so" ./other
		# The user's own preload stays first.
		LD_PRELOAD=$path record --malloc -- ./other
	done
	if command -v musl-gcc; then
		musl-gcc loop.c -o musl
		told 'musl has another C library' ./musl
	fi
}

# Children and the program itself: PROGRAM's allocations are not sampled, for this reason.
unsampled() { # PROGRAM REASON COMMAND...
	record --malloc -- "${@:3}"
	holds '[.runtimes[] | select(.unsampled) | .name] == ["gcprof-malloc"]'
	"$GCPROF" report | tr -s '\n ' '  ' >report.txt
	grep -o "did not sample the allocations of $1: .*$2" report.txt
	absent 'likely less than' report.txt
	"$GCPROF" info | grep "^not sampled .*$2"
}

@test "long: programs that cannot be sampled are in the profile, also among children" {
	echo 'int main(void) { __builtin_free(__builtin_malloc(100)); return 0; }' >free.c
	gcc -fno-builtin free.c -o free
	gcc -fno-builtin -static free.c -o fixed
	unsampled fixed 'statically linked' ./fixed
	unsampled fixed 'statically linked' sh -c './fixed; true'
	grep 'allocations are not sampled: it is statically linked' record.log
	unsampled free 'LD_PRELOAD was changed' env LD_PRELOAD= ./free
	gcc -shared -fPIC -x c - -o own.so <<-'C'
		extern void *__libc_malloc(unsigned long);
		void *malloc(unsigned long size) { return __libc_malloc(size); }
	C
	gcc -fno-builtin free.c -Wl,--no-as-needed ./own.so -o own
	unsampled own 'another malloc()' ./own
	unsampled own 'another malloc()' sh -c './own; true'
	cp free other
	chown 65534 other && chmod u+s,go+rx other .
	unsampled other 'setuid' ./other
	unsampled other 'setuid' sh -c './other; true'
	record --malloc -- ./free
	holds '[.runtimes[] | select(.unsampled)] == []'
}

@test "a program that runs already is refused, and one with the agent can be recorded later" {
	run "$GCPROF" record --malloc -p 1
	[ "$status" = 2 ]
	[[ $output = *'only for a COMMAND'* ]]
	LD_PRELOAD=$AGENT "$BLOCKS" known 400000000 >printed &
	started=($!)
	wait_busy "${started[0]}"
	for _ in 1 2; do
		record_until alloc 1000 -p "${started[0]}" -R 64K
		holds '.sites | any(.functions[0] == "take_large" and .type == "calloc")'
	done
}

@test "the path of the agent comes from gcprof; what the user preloads stays" {
	gcc -shared -fPIC -x c - -o other.so <<<'int other;'
	LD_PRELOAD=$PWD/other.so record --malloc -- sh -c 'echo "$LD_PRELOAD"; grep -c other.so /proc/self/maps >&2'
	same LD_PRELOAD "$(head -n 1 out)" "$PWD/other.so:$AGENT"
}

@test "the agent is found in the lib directory of an installation, and must be the user's to read" {
	mkdir -p there/bin there/lib/gcprof
	cp "$GCPROF" there/bin
	run there/bin/gcprof record --malloc -- true
	[ "$status" = 1 ]
	[[ $output = *'libgcprof-malloc.so, which --agent malloc needs: No such file'* ]]
	cp "$AGENT" there/lib/gcprof
	chmod 755 . there there/bin there/lib there/lib/gcprof
	there/bin/gcprof record --malloc -- sh -c 'echo "$LD_PRELOAD"' >out 2>record.log
	same LD_PRELOAD "$(realpath "$(cat out)")" "$PWD/there/lib/gcprof/libgcprof-malloc.so"
	chmod 600 there/lib/gcprof/libgcprof-malloc.so
	SUDO_UID=65534 SUDO_GID=65534 run there/bin/gcprof record --malloc -o - -- true
	[ "$status" = 1 ]
	[[ $output = *'which --agent malloc needs: Permission denied'* ]]
}

# What executes a translation of the agent's code must not translate breakpoints.
@test "the agent does nothing in programs under Valgrind, which end as they would" {
	command -v valgrind >/dev/null || skip 'valgrind is not installed'
	gcc -x c - -o ends <<<'#include <stdlib.h>
		int main(void) { for (int i = 0; i < 100000; i++) free(malloc(100)); return 3; }'
	for command in 'valgrind -q ./ends' "sh -c 'valgrind -q ./ends; exit \$?'" "env valgrind -q ./ends"; do
		run bash -c "'$GCPROF' record --malloc -R 16K -- $command"
		echo "$command: $status: $output"
		[ "$status" = 3 ]
	done
}

@test "a collector and malloc() in one program" {
	record --malloc -R 16K -- "$WORKLOADS/known"
	holds '.alloc.types | map(.name) | contains(["calloc", "kept128"])'
	holds '.gc.minor.count > 0'
}

@test "functions of the program are not the collector's or the allocator's for their names" {
	gcc -g -O1 "$BATS_TEST_DIRNAME/programs/prefixes.c" -o prefixes
	record --malloc -R 64K -F 999 -- ./prefixes || { cat out record.log; return 1; }
	holds '.sites[0].functions[0] == "gc_user_alloc"'
	"$GCPROF" export -o - gcprof.data 2>/dev/null | zcat >firefox.json
	same category "$(jq -r '.shared as $s | $s.frameTable as $f | [range($f.length) |
		select($s.stringArray[$s.funcTable.name[$f.func[.]]] == "gc_user_spin") | $f.category[.]] as $numbers |
		[.meta.categories[$numbers[]].name] | unique[]' firefox.json)" "Native code"
}
