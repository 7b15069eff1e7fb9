#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# import.bats: what PyPy itself records becomes a profile.
# Parallel: no other recorder matters.

load common

# Writes app.prof, and app.log of the same run.
run_pypy() {
	command -v pypy3 >/dev/null || skip 'pypy3 is not installed'
	pypy3 -c 'import _vmprof' 2>/dev/null || skip 'this pypy3 has no VMProf'
	cat >app.py <<-END
		import _vmprof, time
		def leaf(n):
		    return sum(len(str(i)) for i in range(n))
		def outer():
		    begin = time.time()
		    calls = 0
		    while time.time() - begin < 0.5 or calls < 200:
		        leaf(10000)
		        calls += 1
		begin = time.time()
		with open('app.prof', 'wb+') as file:
		    _vmprof.enable(file.fileno(), 0.001, 0, 0, 0, 0)
		    outer()
		    _vmprof.disable()
		print(int((time.time() - begin) * 1e9))
	END
	# As many collections on every machine: by default it goes by the size of the cache.
	PYPY_GC_NURSERY=1M PYPYLOG=gc:app.log pypy3 app.py >took
}

@test "a profile and a log of PyPy are put on one clock" {
	run_pypy
	"$GCPROF" import vmprof app.prof --pypylog app.log 2>log
	holds '[.functions[] | select(.name == "outer" and .runtime == "managed")][0].cpu_total_ns > 0'
	holds '.functions[] | select(.name == "leaf") | .cpu_total_ns > 0'
	# All that the log has of these calls, and no more.
	inside=$(jq .gc.minor.count report.json)
	all=$(grep -c '{gc-minor$' app.log)
	[ "$inside" -gt 10 ] && [ "$inside" -le "$all" ]
	holds ".duration_ns > 4e8 and .duration_ns < $(cat took) * 1.1 + 1e8"
	holds '.gc.minor.total_ns < .duration_ns'
	absent warning log
	for format in firefox pprof folded perfetto sqlite; do
		"$GCPROF" export -f "$format" -o /dev/null gcprof.data
	done
}

@test "a profile packed with gzip is the same" {
	run_pypy
	"$GCPROF" import vmprof -o plain.data app.prof 2>/dev/null
	gzip -k app.prof
	"$GCPROF" import vmprof -o packed.data app.prof.gz 2>/dev/null
	same "timer samples" "$(ask .cpu.samples plain.data)" "$(ask .cpu.samples packed.data)"
}

@test "what is no profile is refused" {
	run "$GCPROF" import vmprof /etc/passwd
	same "status" "$status" 1
	[[ $output == *'not a VMProf profile'* ]]
	[ ! -e gcprof.data ]
	run "$GCPROF" import vmprof missing.prof
	same "no such file" "$status" 1
	run "$GCPROF" import vmprof
	same "no file" "$status" 2
	run "$GCPROF" import perf x
	same "no such format" "$status" 2
	run "$GCPROF" import vmprof x --clock y
	same "clock without log" "$status" 2
}
