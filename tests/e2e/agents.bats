#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# agents.bats: agents that are preloaded prevent no program from starting, and change nothing of what it does.
# Parallel: no other recorder matters.

load common

setup() {
	need_root
	cd "$BATS_TEST_TMPDIR" || return 1
	AGENTS=(malloc cpython jvm)
	cat >prints.c <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		int main(void)
		{
			char *volatile block;
			int i;
			for (i = 0; i < 3000; i++) { block = malloc(1000); memset(block, 1, 1000); free(block); }
			puts("printed");
			return 3;
		}
	C
}

# Runs a command alone and recorded with each agent: what it prints, also as errors, and its status are the same.
# The profile of malloc's agent stays.
unchanged() { # COMMAND...
	local agent status=0 got
	"$@" >alone 2>alone.errors </dev/null || status=$?
	for agent in ${ONLY:-python java node malloc}; do
		got=0
		"$GCPROF" record --agent "$agent" -R "${PERIOD:-16K}" -- "$@" >out 2>record.log </dev/null || got=$?
		same "status of $* with $agent" "$got" "$status" || { cat record.log; return 1; }
		grep -v '^gcprof: ' record.log >errors || true
		cmp alone out && cmp alone.errors errors || {
			diff alone out
			diff alone.errors errors
			echo "with $agent: $*"
			return 1
		}
	done
}

# The same of the commands on standard input, one a line, as children of one program.
runs() {
	sed "s/'/'\\\\''/g; s/.*/sh -c '&'; echo \"\$?\"/" >runs.sh
	cat runs.sh
	unchanged sh runs.sh
}

# Whether the command's allocations were sampled, or a sentence says why not, or it has none (gzip).
is_explained() { # COMMAND...
	! holds '.alloc.samples > 0 or (.runtimes | any(.unsampled))' >unexplained || return 0
	gcc -shared -fPIC -x c - -o first.so <<-'C'
		#include <stddef.h>
		#include <stdlib.h>
		#include <unistd.h>
		extern void *__libc_malloc(size_t size);
		void *malloc(size_t size) { if (getenv("FIRST")) _exit(77); return __libc_malloc(size); }
	C
	local status=0
	LD_PRELOAD=$PWD/first.so FIRST=1 "$@" >/dev/null 2>&1 </dev/null || status=$?
	[ $status != 77 ] || {
		cat unexplained record.log
		echo "$*"
		return 1
	}
}

@test "agents need nothing that version 2.17 of the C library lacks, and no symbol but one" {
	for agent in "${AGENTS[@]}"; do
		objdump -p "$BUILD/libgcprof-$agent.so" >headers
		same 'libraries' "$(awk '$1 == "NEEDED" {print $2}' headers)" libc.so.6
		newest=$(grep -o 'GLIBC_[0-9.]*' headers | sort -V | tail -n 1)
		same 'newest version' "$newest" GLIBC_2.17
		same 'symbols' "$(nm -D -u "$BUILD/libgcprof-$agent.so" | awk '$1 !~ /^[wv]$/')" \
			"                 U __errno_location@GLIBC_2.2.5"
	done
}

@test "a program with another C library runs, also as a child" {
	command -v musl-gcc || skip 'there is no musl'
	musl-gcc prints.c -o musl
	unchanged ./musl
	unchanged sh -c './musl; exec ./musl'
	for agent in "${AGENTS[@]}"; do
		LD_PRELOAD=$BUILD/libgcprof-$agent.so ./musl 2>&1 | cmp - <(echo printed)
	done
}

@test "programs without what agents need run" {
	gcc prints.c -o prints
	gcc -static prints.c -o fixed
	gcc -fsanitize=address prints.c -o checked
	cp prints other
	chmod 755 . other
	chmod u+s other
	for program in prints fixed checked other; do
		ONLY=malloc unchanged "./$program"
	done
	LD_PRELOAD='' ONLY=malloc unchanged ./prints
	LD_PRELOAD=$(realpath /lib/x86_64-linux-gnu/libm.so.6) ONLY=malloc unchanged ./prints
	runs <<-'END'
		./prints
		./fixed
		./checked
		./other
		env -i ./prints
		ulimit -v 20000; exec ./prints
		ulimit -s 64; exec ./prints
		ulimit -n 3; exec ./prints <&- >&- 2>&-
	END
}

@test "threads with the smallest stacks allocate" {
	gcc -pthread -x c - -o small <<-'C'
		#include <limits.h>
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		static void *run(void *context)
		{
			for (int i = 0; i < 1000; i++) { char *volatile p = malloc(3000); *p = 1; free(p); }
			return context;
		}
		int main(void)
		{
			pthread_attr_t attr;
			pthread_t threads[20];
			pthread_attr_init(&attr);
			pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN);
			for (int i = 0; i < 20; i++) if (pthread_create(&threads[i], &attr, run, NULL)) return 1;
			for (int i = 0; i < 20; i++) pthread_join(threads[i], NULL);
			puts("printed");
			return 0;
		}
	C
	unchanged ./small
	holds '.alloc.samples > 100'
}

@test "an agent that the dynamic linker of the program refuses is not preloaded" {
	mkdir there
	cp "$GCPROF" there/gcprof
	gcc -shared -fPIC -x c - -o there/libmissing.so <<<'int missing;'
	gcc -shared -fPIC -Wl,--no-as-needed -x c - -x none there/libmissing.so -o there/libgcprof-malloc.so <<<'int other;'
	rm there/libmissing.so
	chmod 755 . there
	gcc prints.c -o prints
	status=0
	there/gcprof record --malloc -- ./prints >out 2>record.log || status=$?
	same status "$status" 3
	same output "$(cat out)" printed
	grep -F 'the dynamic linker of prints does not load the agent' record.log
	holds '.runtimes | any(.unsampled)'
}

# A directory that holds a program and the libraries that it needs, to which the others change.
make_root() {
	mkdir -p root/tmp
	ldd ./prints | grep -o '/[^ ]*' | while read -r file; do
		mkdir -p "root$(dirname "$file")"
		cp -L "$file" "root$file"
	done
	cp prints root
}

@test "a program that changes its root hands no agent on that is not there" {
	gcc prints.c -o prints
	make_root
	ONLY=malloc unchanged chroot root /prints
	other=$(realpath /lib/x86_64-linux-gnu/libm.so.6)
	mkdir -p "root$(dirname "$other")"
	cp "$other" "root$other"
	runs <<-END
		chroot root /prints; ./prints
		unshare --root="$PWD/root" /prints
		export LD_PRELOAD="$other:\$LD_PRELOAD"; chroot root /prints
		export LD_PRELOAD="\$LD_PRELOAD:$other"; chroot root /prints
		export LD_PRELOAD="$other:\$LD_PRELOAD:$other"; chroot root /prints
	END
	# One that is there is handed on.
	mkdir -p "root$BUILD"
	cp "$BUILD/libgcprof-malloc.so" "root$BUILD"
	ONLY=malloc unchanged chroot root /prints
	# That file gets its probes while programs map it.
	record --malloc -R 16K -- sh -c 'for i in $(seq 300); do chroot root /prints; done; true'
	holds '.alloc.samples > 10'
}

@test "long: programs of Debian 11, with an older C library, run and are sampled" {
	"$ROOT/tools/debian11" "$BUILD" || skip 'Debian 11 cannot be installed here'
	other=$BUILD/debian11/root
	mkdir -p "$other$BUILD"
	for agent in "${AGENTS[@]}"; do
		cp "$BUILD/libgcprof-$agent.so" "$other$BUILD"
	done
	for command in 'ls -l /etc' 'perl -e "push @a, \"x\" x 100 for 1..300000; print scalar @a"' \
		'python3 -c "print(len([str(i) * 9 for i in range(300000)]))"' 'bash -c "echo {1..50000} | wc -c"' \
		'dpkg -l' 'tar -cf - /etc /usr/share | wc -l' 'grep -rl a /etc | sort'; do
		unchanged chroot "$other" /bin/sh -c "$command"
	done
	# The thread's end, a fork, and an allocation that takes the slow path, in functions that were elsewhere then.
	"$GCPROF" record --malloc -R 16K -- chroot "$other" /usr/bin/perl -e \
		'for $n (1..20) { push @a, "x" x 1000 for 1..20000; @a = (); select undef, undef, undef, 0.1 }' 2>record.log
	# Of 400 MB, less what passes until probes are attached.
	holds '.alloc.bytes | .low < 800e6 and .high > 100e6'
	# Hooks of malloc() and free() alone, which were possible then: no block comes from elsewhere.
	gcc -O1 -shared -fPIC -w -o "$other/tmp/hooks.so" "$BATS_TEST_DIRNAME/programs/hooks.c"
	record --malloc -R 1K -- chroot "$other" /bin/sh -c "LD_PRELOAD=/tmp/hooks.so:\$LD_PRELOAD exec /usr/bin/perl -e '
		for \$n (1..10) { push @a, \"x\" x (1000 + \$_) for 1..3000; @a = (); select undef, undef, undef, 0.1 } print 7'"
	same output "$(cat out)" 7
	holds '.alloc.samples > 100'
}

# Programs of Debian, a line each; those that are not installed are passed over by name.
programs() {
	cat <<-'END'
		sh -c 'for i in 1 2 3; do echo $i; done'
		bash -c 'x=(); for i in {1..3000}; do x+=("$i"); done; echo ${#x[@]}'
		perl -e '%h = map { $_ => "x" x $_ } 1..2000; print scalar(keys %h), "\n"'
		python3 -c 'import json; print(len(json.dumps([{"a": i} for i in range(20000)])))'
		node -e 'console.log(JSON.stringify([...Array(50000).keys()]).length)'
		ruby -e 'puts (1..50000).map(&:to_s).join.size'
		tclsh
		guile -c '(display (length (iota 100000)))'
		ocaml -e 'print_int (List.length (List.init 10000 (fun x -> x)))'
		pypy3 -c 'print(sum(len(str(i)) for i in range(100000)))'
		java -version
		javac -version
		go version
		rustc --version
		gcc -O2 -S -o - prints.c
		g++ -x c++ -fsyntax-only prints.c
		clang -O2 -S -o - prints.c
		as --version
		ld --verbose
		objdump -d /bin/true
		readelf -aW /bin/true
		nm -D /bin/bash
		gdb -batch -ex 'info functions printf' /bin/true
		make -f /dev/null --version
		cmake --version
		git -C ROOT log --stat -n 30
		sqlite3 :memory: 'with recursive c(x) as (select 1 union all select x+1 from c where x<50000) select count(*), sum(x) from c'
		awk 'BEGIN {for (i = 0; i < 50000; i++) a[i] = i; print length(a)}'
		sed -n '/main/p' prints.c
		grep -rc include /usr/include/linux
		sort prints.c
		find /usr/include -name '*.h'
		tar -cf - -C /usr/include linux
		gzip -9 -n -c /bin/bash
		bzip2 -c /bin/true
		xz -c /bin/true
		zstd -q -c /bin/bash
		openssl dgst -sha256 /bin/bash
		curl -s file:///etc/passwd
		wget --version
		vim -u NONE -es +'%s/main/other/' +'%p' +q! prints.c
		ed -s prints.c
		jq -n '[range(50000)] | length'
		bc -q
		file /bin/bash
		man --version
		diff /etc/passwd /etc/group
		xmllint --version
		groff -Tutf8 -man ROOT/userspace/man/gcprof.1
		gpg --version
		dpkg -l
		apt-cache show bash
		psql --version
		convert -size 100x100 xc:red PNG:-
		gnuplot -e 'set terminal dumb; plot sin(x)'
		strace -V
		valgrind --version
		perf --version
		protoc --version
		busybox seq 1000
	END
}

# Runs those whose number is a multiple of a number; `passed` are their names.
run_programs() { # EVERY
	passed=()
	local line n=0
	while IFS= read -r line; do
		n=$((n + 1))
		[ $((n % $1)) = 0 ] || continue
		command -v "${line%% *}" >/dev/null || {
			echo "there is no ${line%% *}"
			continue
		}
		# The smallest allocate a few KiB.
		eval "PERIOD=256 unchanged ${line//ROOT/$ROOT}"
		eval "is_explained ${line//ROOT/$ROOT}"
		passed+=("${line%% *}")
	done < <(programs)
	echo "${passed[*]}"
}

@test "long: some of the most used programs of Debian do the same with each agent, and are sampled" {
	run_programs 17
	[ ${#passed[@]} -ge 2 ]
}

@test "long: the most used programs of Debian do the same with each agent, and are sampled" {
	run_programs 1
	[ ${#passed[@]} -ge 30 ]
}
