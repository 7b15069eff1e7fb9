#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# install.bats: an installed gcprof is whole, usable, and goes away again.
# Parallel: no other recorder matters.

load common

make_in_root() {
	env -u BUILD make -s -C "$ROOT" O="$(realpath --relative-to="$ROOT" "$BUILD")" PREFIX=/usr DESTDIR="$PWD/root" "$@"
}

@test "install, build a program against it, uninstall" {
	make_in_root program library # so that the next command builds nothing under its umask
	(umask 077 && make_in_root install)
	same 'what others may not read' "$(find root/usr ! -perm -o=r)" ''
	root/usr/bin/gcprof --version
	[ -s root/usr/share/doc/gcprof/LICENSE ] && [ -s root/usr/share/doc/gcprof/CHANGES.md ]
	[ -s root/usr/share/doc/gcprof/FORMAT.md ]
	# A stranger's program, by pkg-config alone.
	cat >tree.c <<-'C'
		#include <gc.h>
		struct node { struct gc_header header; struct node *left; };
		int main(void)
		{
			static const uint32_t offsets[] = {8};
			struct gc_type_desc desc = {.name = "node", .size = sizeof(struct node), .pointers = offsets, .n_pointers = 1};
			struct gc_heap *heap; struct gc_thread *thread; gc_type type;
			if (gc_heap_create(NULL, &heap) || gc_type_register(heap, &desc, &type) || gc_thread_attach(heap, &thread))
				return 1;
			for (int i = 0; i < 1000000; i++)
				GC_NEW(thread, type, struct node);
			gc_thread_detach(thread);
			gc_heap_destroy(heap);
			return 0;
		}
	C
	export PKG_CONFIG_PATH=$PWD/root/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$PWD/root
	# shellcheck disable=SC2046 # words
	gcc -std=gnu11 -Wall -Wextra -Werror tree.c $(pkg-config --cflags --libs gcprof-gc) -o tree
	LD_LIBRARY_PATH=root/usr/lib ./tree
	# shellcheck disable=SC2046
	gcc -std=gnu11 -static tree.c $(pkg-config --cflags --libs --static gcprof-gc) -o tree-static
	./tree-static
	# The provider alone, from C and C++.
	cat >reports.c <<-'C'
		#include <provider/provider.h>
		#include <stdio.h>
		int main(void)
		{
			struct gcprof_provider *provider;
			struct gcprof_thread *thread;
			uint64_t type;
			if (gcprof_open(NULL, &provider) || gcprof_thread_attach(provider, NULL, &thread))
				return puts(gcprof_error()) != 0;
			type = gcprof_type(provider, "thing");
			for (int i = 0; i < 1000000; i++)
				gcprof_alloc(thread, 32, type, GCPROF_SAMPLE_FOREIGN);
			gcprof_thread_detach(thread);
			gcprof_close(provider);
			return 0;
		}
	C
	for compiler in 'gcc -std=c11' 'g++ -std=c++11 -x c++' 'gcc -static' 'g++ -static'; do
		# shellcheck disable=SC2046,SC2086 # words
		$compiler -Wall -Wextra -pedantic -Werror reports.c -x none \
			$(pkg-config --cflags --libs --static gcprof-provider) -o reports
		LD_LIBRARY_PATH=root/usr/lib ./reports
	done
	same 'probes in the table' "$(grep -c '^PROBE(' root/usr/include/gcprof/provider/probes.def)" \
		"$(grep -c '^PROBE(' "$ROOT/gc/provider/probes.def")"
	for page in $(grep -oE '\]\([^)#]+\)' root/usr/share/doc/gcprof/provider/*.md | sed 's/.*](//; s/)//'); do
		[ -e "root/usr/share/doc/gcprof/provider/$page" ]
	done
	for page in gcprof gcprof-record gcprof-report gcprof-info gcprof-dump; do
		man -l "root/usr/share/man/man1/$page.1" >page || [ ! -x "$(command -v man)" ]
	done
	# Units name the installed program, and options that it has.
	for unit in keep rotate; do
		unit=root/usr/lib/systemd/system/gcprof-$unit.service
		grep -q '^ExecStart=/usr/bin/gcprof record --system ' "$unit"
		for option in $(grep -o ' --[a-z-]*' "$unit"); do
			root/usr/bin/gcprof record --help | grep -qw -e "$option"
		done
		for limit in MemoryMax ProtectSystem=strict SystemCallFilter=@system-service NoNewPrivileges=yes; do
			grep -q "^$limit" "$unit"
		done
		sed "s|/usr/bin/gcprof|$PWD/root&|" "$unit" >"$(basename "$unit")"
		[ ! -x "$(command -v systemd-analyze)" ] ||
			systemd-analyze verify --man=no "$PWD/$(basename "$unit")"
	done
	make_in_root uninstall
	same 'files left' "$(find root -type f -o -type l)" ""
}

# In two folders of libraries, a multiarch one and one outside of PREFIX.
@test "libraries go where LIBDIR says, and agents are still found" {
	for folder in /usr/lib/x86_64-linux-gnu /opt/lib64; do
		make_in_root install LIBDIR=$folder
		[ -s "root$folder/libgcprof-gc.so.0" ] && [ ! -e root/usr/lib/libgcprof-gc.so.0 ]
		PKG_CONFIG_PATH=$PWD/root$folder/pkgconfig pkg-config --variable=libdir gcprof-gc | grep -qx "$folder"
		root/usr/bin/gcprof record --malloc -o "$PWD/malloc.data" -- true
		make_in_root uninstall LIBDIR=$folder
		same 'files left' "$(find root -type f -o -type l)" ""
	done
}

# One that disappears would break programs that are linked to it: then the number of the library rises.
@test "libraries export what their lists say, under a version" {
	for library in gc provider; do
		list=$(find "$ROOT/gc" -name $library.map)
		objdump -T "$BUILD/libgcprof-$library.so" | awk '$6 == "GCPROF_0.2" && $NF != $6 {print $NF}' | sort >exported
		sed -n 's/^\t\([a-z_]*\);$/\1/p' "$list" | sort >listed
		[ -s exported ]
		diff exported listed
	done
}

# Builds in two folders that differ; what comes out must not.
same_in_two_folders() { # TARGET...
	local folder target
	for folder in one elsewhere/two; do
		mkdir -p "$folder"
		tar -C "$ROOT" --exclude='./build*' --exclude=./.git -c . | tar -C "$folder" -x
		env -u BUILD make -s -C "$folder" "$@"
	done
	(cd one/build && find . -name '*.o' -o -name '*.so' -o -name gcprof) >built
	[ "$(wc -l <built)" -gt 10 ]
	while read -r target; do
		cmp "one/build/$target" "elsewhere/two/build/$target"
	done <built
}

@test "the folder of the tree changes nothing in a library; a tree that moved is not built again" {
	same_in_two_folders build/libgcprof-provider.so
	mv one moved
	env -u BUILD make -C moved build/libgcprof-provider.so >again
	same 'built again' "$(grep -E '^  [A-Z]' again || true)" ''
}

@test "long: the folder of the tree changes nothing in all that is built; another clang builds its part again" {
	same_in_two_folders program library
	[ -e one/build/gcprof ]
	env -u BUILD make -C one CLANG='env clang' build/bpf/gcprof.bpf.o >again
	grep -q '^  BPF' again
}

@test "the shell completes verbs, options and what they can be" {
	PATH=$BUILD:$PATH
	# shellcheck source=/dev/null
	source "$ROOT/tools/completion.bash"
	COMP_WORDS=(gcprof re) COMP_CWORD=1
	_gcprof
	same verbs "${COMPREPLY[*]}" 'record resume report'
	COMP_WORDS=(gcprof record --dur) COMP_CWORD=2
	_gcprof
	same options "${COMPREPLY[*]}" --duration
	while IFS=: read -r line values; do
		read -ra COMP_WORDS <<<"$line"
		COMP_WORDS+=('') COMP_CWORD=${#COMP_WORDS[@]}
		COMP_CWORD=$((COMP_CWORD - 1))
		_gcprof
		[[ " ${COMPREPLY[*]} " == *" $values "* ]] || {
			echo "$line: ${COMPREPLY[*]}"
			return 1
		}
	done <<-'END'
		gcprof report --sort:cpu cpu-total alloc
		gcprof report --filter:function= module= type=
		gcprof report --frames:all managed native
		gcprof record --runtime:auto none hotspot go
		gcprof record --agent:malloc python java node
		gcprof record --syscalls:all slow= count off
		gcprof export -f:firefox html pprof folded
		gcprof export --by:cpu bytes gc syscall off-cpu faults
		gcprof query -f:table csv json
		gcprof query --format:table csv json
		gcprof top --view:functions sites types pauses calls waits threads programs
		gcprof record --stack:rows fp copy off
		gcprof record --follow:children none
		gcprof diff --fail-if:wall cpu gc
		gcprof diff --per:minor major alloc objects calls
	END
}

# Commands of this machine but some.
without() { # COMMAND...
	rm -rf commands
	mkdir commands
	ln -s -f -t commands /bin/* /sbin/* /usr/local/bin/* /usr/bin/* /usr/sbin/*
	(cd commands && rm -f "$@")
}

@test "without apt, setup goes on if all is there, and else says what is missing" {
	without apt-get dpkg-query
	PATH=$PWD/commands "$ROOT/tools/setup" >out 2>&1 || { cat out; return 1; }
	same output "$(cat out)" ''
	without apt-get dpkg-query bats strace
	! PATH=$PWD/commands "$ROOT/tools/setup" >out 2>&1 || return 1
	same output "$(cat out)" 'setup: there is no apt here to install what is missing: bats strace'
	# Headers are those of the compiler.
	printf '#!/bin/sh\n! grep -q "<zstd.h>"\n' >commands/other
	chmod +x commands/other
	! CC=other PATH=$PWD/commands "$ROOT/tools/setup" >out 2>&1 || return 1
	same output "$(cat out)" 'setup: there is no apt here to install what is missing: zstd.h bats strace'
}
