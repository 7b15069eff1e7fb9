#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# python_alloc.bats: what Python programs allocate, and when it is freed.
# Parallel: no other recorder matters.

load common

PYTHON=/usr/bin/python3
OBJECTS=$BATS_TEST_DIRNAME/programs/objects.py

setup_file() {
	[ "$(id -u)" = 0 ] && "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || return 0
	cd "$BATS_FILE_TMPDIR" && objects "$PYTHON" "$OBJECTS" 50000
}

# What setup_file() has recorded.
recorded_objects() {
	cp "$BATS_FILE_TMPDIR"/{gcprof.data,out} .
}

setup() {
	need_root
	"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || skip 'there is no Python 3.11'
	AGENT=$BUILD/libgcprof-cpython.so
	cd "$BATS_TEST_TMPDIR" || return 1
	started=()
}

objects() { # COMMAND...
	record -R 16K --agent python -- "$@" && grep -q 'nothing lost' record.log || { cat out record.log; return 1; }
}

# A type has the bytes that the program says. Within 2.4 of the interval's halves: one run in
# 400,000 is outside. What the interpreter itself allocates as it begins is less than `more`.
right() { # TYPE TIMES MORE
	local truth
	truth=$(jq -s "map(.$1) | max * $2" out)
	holds "[.alloc.types[] | select(.name == \"$1\") | .bytes | ((.high - .low) * 1.2) as \$off |
		.estimate > $truth - \$off and .estimate < $truth + $3 + \$off] == [true]"
}

right_types() { # TIMES
	right bytes "$1" 5e6
	right buffer "$1" 2e7
	right Dies "$1" 0
	right Stays "$1" 0
}

# Samples of a type, and how many of them were freed.
freed() { # TYPE
	"$GCPROF" query "SELECT count(*) || ' ' || count(age) FROM samples JOIN types ON types.id = type
		WHERE name = '$1'" 2>/dev/null | tail -n 1
}

right_ends() {
	local all ended
	read -r all ended <<<"$(freed Dies)"
	[ "$all" -gt 30 ]
	same 'freed of Dies' "$ended" "$all"
	read -r all ended <<<"$(freed Stays)"
	[ "$all" -gt 30 ]
	same 'freed of Stays' "$ended" 0
}

@test "types have the bytes that they had, and ends are exact" {
	recorded_objects
	right_types 1
	right_ends
	holds '.runtimes | map(.name) | sort == ["cpython", "gcprof-python"]'
	# The last sample before the end may have none, and those before a pause of the machine.
	holds '([.alloc.types[] | select(.name == "unknown type").samples] | add // 0) < 0.1 * .alloc.samples'
}

@test "places are Python functions, with their files and lines" {
	recorded_objects
	for function in make_bytes make_buffers make_dying make_plain make_staying; do
		holds ".sites | any(.functions[0:2] == [\"$function\", \"work\"] and (.file | endswith(\"/objects.py\")) and
			.line == $(awk -v f="$function" '$0 ~ "def " f {print NR}' "$OBJECTS"))"
	done
	holds '(.alloc.bytes.estimate) as $all | [.functions[] | select(.name == "make_bytes").alloc_self.estimate] | add > 0.3 * $all'
	"$GCPROF" report --live >live
	grep -q 'make_staying < work' live
	# All ends are known: there is no collection that might have missed one.
	! grep -q 'did not examine' live || false
	# The line that allocates, not only that of the function.
	name=$("$GCPROF" dump | jq -r 'select(.record == "string" and .text == "make_staying").id')
	"$GCPROF" dump | jq -e -s --argjson name "$name" --argjson line "$(awk '/kept.append/ {print NR}' "$OBJECTS")" \
		'any(.record == "symbol" and .name == $name and .line == $line)' >/dev/null
}

@test "long: options of the interpreter change nothing" {
	objects "$PYTHON" -I -S -E "$OBJECTS" 20000
	right_types 1
}

@test "a process forks, and both allocate" {
	objects "$PYTHON" "$OBJECTS" 30000 fork
	right_types 2
	right_ends
}

@test "long: multiprocessing" {
	objects "$PYTHON" "$OBJECTS" 30000 spawn
	right Dies 2 0
}

@test "long: multiprocessing by its other ways" {
	for way in fork forkserver; do
		objects "$PYTHON" "$OBJECTS" 30000 "$way"
		right Dies 2 0
	done
}

@test "threads allocate, and free for each other" {
	cat >threads.py <<-'END'
		import queue, threading
		class Item:
		    __slots__ = ("a",)
		def make(q):
		    for _ in range(50000):
		        q.put(Item())
		def take(q):
		    for _ in range(50000):
		        q.get()
		q = queue.SimpleQueue()
		threads = [threading.Thread(target=f, args=(q,)) for f in (make, take) * 3]
		for t in threads: t.start()
		for t in threads: t.join()
	END
	objects "$PYTHON" threads.py
	read -r all ended <<<"$(freed Item)"
	[ "$all" -gt 50 ]
	same 'freed of Item' "$ended" "$all"
}

@test "long: a program that executes itself has the types and the names of collections of both" {
	cat >again.py <<-'END'
		import gc, os, sys
		gc.set_threshold(700) # releases differ
		class Before: __slots__ = ("a", "b")
		class After: __slots__ = ("a", "b")
		kept = [(Before if sys.argv[1:] else After)() for i in range(50000)]
		if sys.argv[1:]: os.execv(sys.executable, [sys.executable, sys.argv[0]])
		print('{"Before": %d, "After": %d}' % ((50000 * sys.getsizeof(kept[0]),) * 2))
	END
	objects "$PYTHON" again.py again
	right Before 1 0
	right After 1 0
	holds '([.alloc.types[] | select(.name == "unknown type").samples] | add // 0) < 0.1 * .alloc.samples'
	read -r all named <<<"$("$GCPROF" query "SELECT count(*) || ' ' || count(name) FROM collections" | tail -n 1)"
	echo "$named of $all collections have a name"
	[ "$all" -gt 100 ]
	same 'have a name' "$named" "$all"
}

@test "nothing is printed, and the program does what it does" {
	cat >says.py <<-'END'
		import gc, json, os, re, sys, tracemalloc
		tracemalloc.start()
		data = {str(i): [i, float(i), (i,), {i}, b"x" * i] for i in range(3000)}
		print(len(repr(data)), json.loads(json.dumps([1, "two"])), tracemalloc.get_traced_memory()[0] > 1000)
		tracemalloc.stop()
		a = bytearray()
		for i in range(200000):
		    a.append(i % 251)
		print(sum(a), len(re.findall("1", str(list(range(10000))))), file=sys.stderr)
		class E(Exception): pass
		try:
		    raise E("x" * 10000)
		except E as e:
		    print(len(str(e)), gc.collect() >= 0)
		def deep(n): return n and deep(n - 1) + 1
		print(deep(900), os.system("echo child"))
		blocks = sys.getallocatedblocks()
		for i in range(100000):
		    [b"x" * (i % 1000)].extend([i])
		print(abs(sys.getallocatedblocks() - blocks) < 100)
	END
	"$PYTHON" -u says.py >out.plain 2>err.plain
	record -R 1K --agent python -- sh -c "$PYTHON -u says.py >out.agent 2>err.agent"
	cmp out.plain out.agent
	cmp err.plain err.agent
	holds '.alloc.samples > 1000'
}

@test "long: a virtual environment, and a script" {
	"$PYTHON" -m venv --without-pip env || skip 'there is no venv'
	objects env/bin/python "$OBJECTS" 20000
	right Dies 1 0
	{
		echo "#!$PYTHON"
		cat "$OBJECTS"
	} >script
	chmod +x script
	objects ./script 20000
	right Dies 1 0
	absent 'warning' record.log
}

@test "a program that is not Python is left as it is, and it is said" {
	record --agent python -- sort "$OBJECTS"
	cmp out <(sort "$OBJECTS")
	grep -q -- '--agent python: sort does not load CPython when it starts' record.log
	holds '.alloc.samples == 0'
	"$GCPROF" report >report.txt
	absent 'likely less than' report.txt
	echo 'int main(void) { return 3; }' >fixed.c
	gcc -static fixed.c -o fixed
	status=0
	record --agent python -- ./fixed || status=$?
	[ "$status" = 3 ]
	grep -q -- '--agent python: fixed is statically linked' record.log
}

@test "long: another allocator of Python is said" {
	PYTHONMALLOC=malloc record --agent python -- "$PYTHON" "$OBJECTS" 100
	grep -q -- '--agent python: PYTHONMALLOC is set' record.log
	PYTHONMALLOC=debug record --agent python -- "$PYTHON" -X dev "$OBJECTS" 100
	# Also of children, and in the profile.
	for python in "env PYTHONMALLOC=malloc $PYTHON" "$PYTHON -bX dev"; do
		# Long enough for the recorder to attach to it on a busy machine.
		record --agent python -- sh -c "$python -c 'import time; time.sleep(1)'; true"
		grep 'allocations are not sampled: .*another allocator' record.log
		holds '.runtimes | map(select(.unsampled) | .name) == ["gcprof-python"]'
		"$GCPROF" report | tr -s '\n ' '  ' | grep -o 'did not sample the allocations of .*python.*another allocator'
		"$GCPROF" info | grep '^not sampled .*another allocator'
	done
}

@test "an interpreter that is loaded later, or too old, is said" {
	library=$("$PYTHON" -c 'import sysconfig as c; print(c.get_config_var("LIBDIR"), c.get_config_var("INSTSONAME"), sep="/")')
	[[ $library = *.so* && -e $library ]] || library=$(ldconfig -p | awk '/libpython3/ {print $NF; exit}')
	[ -n "$library" ] || skip 'there is no libpython'
	gcc -x c - -o later -ldl <<-'C'
		#include <dlfcn.h>
		int main(int argc, char **argv)
		{
			void *python = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
			((void (*)(void))dlsym(python, "Py_Initialize"))();
			return ((int (*)(const char *))dlsym(python, "PyRun_SimpleString"))("list(range(100000))");
		}
	C
	record --agent python -- ./later "$library"
	holds '.runtimes | map(select(.unsampled) | .note) == ["the agent found no such runtime when the program began; it may be loaded later"]'
}

@test "agents that are not there, and two at a time, are refused" {
	run "$GCPROF" record --agent ruby -- true
	[ "$status" = 2 ]
	[[ $output = *'--agent ruby: malloc, python, java or node'* ]]
	run "$GCPROF" record --malloc --agent python -- true
	[ "$status" = 2 ]
	[[ $output = *'use only one agent'* ]]
}

@test "long: a program that runs already is refused, and one with the agent can be recorded later" {
	run "$GCPROF" record --agent python -p 1
	[ "$status" = 2 ]
	[[ $output = *"start it with LD_PRELOAD=$AGENT"* ]]
	LD_PRELOAD=$AGENT "$PYTHON" -B -c 'import sys
sys.path.insert(0, sys.argv[1])
from objects import *
while True: make_dying(1000)' "$(dirname "$OBJECTS")" &
	started=($!)
	wait_busy "${started[0]}"
	for _ in 1 2; do
		record_until alloc 500 -p "${started[0]}" -R 16K
		holds '.alloc.types | any(.name == "Dies" and .samples > 10)'
	done
}

@test "long: other releases of Python" {
	local other others
	mapfile -t others < <(other_pythons 8)
	[ "${#others[@]}" -gt 0 ] || skip 'there are none'
	for other in "${others[@]}"; do
		echo "$other"
		if ! "$GCPROF" doctor --json "$other" | jq -e '.[0].agent'; then
			record --agent python -- "$other" -c 'print(1)'
			same output "$(cat out)" 1
			"$GCPROF" report >report.txt
			grep -F 'allocations cannot be sampled without a global lock' report.txt
			grep -F 'gcprof-python did not sample the allocations' report.txt
			continue
		fi
		objects "$other" "$OBJECTS" 25000
		right_types 1
		right_ends
	done
}
