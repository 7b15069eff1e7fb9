#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# node_alloc.bats: what Node.js programs allocate, and when it dies, by V8's sampler.
# Parallel: no other recorder matters.

load common

OBJECTS=$BATS_TEST_DIRNAME/programs/objects.js

setup() {
	need_root
	command -v node >/dev/null || skip 'there is no node'
	cd "$BATS_TEST_TMPDIR" || return 1
	AGENT=$BUILD/gcprof-node.cjs
	started=()
}

objects() { # COMMAND...
	record -F 0 -R 16K --agent node -- "$@" && grep -q 'nothing lost' record.log || { cat out record.log; return 1; }
}

# The functions have the bytes that the program says. Within 2.4 of the interval's halves: one run in
# 100,000 is outside. Few of the small objects of large() are sampled.
right() { # TIMES [FUNCTION...]
	local function
	for function in "${@:2}"; do
		holds "[.functions[] | select(.name == \"$function\" and .runtime == \"managed\") | .alloc_self |
			((.high - .low) * 1.2 + 5e4) as \$off | .estimate - $(grep '^{' out | tail -n 1 | jq ".$function * $1") |
			fabs < \$off] == [true]"
	done
}

right_all() { # TIMES
	right "$1" items arrays keeps large callback
}

# Of the bytes of a function this share survived its first collection.
survived() { # FUNCTION FROM TO
	holds "[.sites[] | select(.functions[0] == \"$1\")] | (map(.survived * .bytes.estimate) | add) /
		(map(.bytes.estimate) | add) | . >= $2 and . <= $3"
}

@test "functions have the bytes that they allocate; what they keep survives and is alive" {
	objects node --no-turbo-inlining "$OBJECTS" 400000
	right_all 1
	survived items 0 0.05
	survived arrays 0 0.05
	survived keeps 0.9 1
	holds "[.sites[] | select(.functions[0] == \"keeps\").live_bytes] | add / $(grep '^{' out | tail -n 1 | jq .keeps) | . > 0.75 and . < 1.25"
	holds '.sites | any(.functions[0:2] == ["items", "work"] and (.file | endswith("/objects.js")) and .line == '"$(
		awk '/^function items/ { print NR }' "$OBJECTS")"')'
	# What works for a function, V8's or Node's, is no site of its own.
	holds '[.sites[] | select(.functions[0] | test("^(v8|node)::|^Builtins_")) | .bytes.estimate] | add // 0 | . < 2e6'
	"$GCPROF" report --live | grep -q 'keeps < work'
}

@test "workers have heaps of their own, which end with them" {
	objects node --no-turbo-inlining "$OBJECTS" 200000 workers
	right 2 items arrays keeps callback
	survived items 0 0.05
	survived keeps 0.9 1
	holds '[.sites[] | select(.functions[0] == "keeps").live_bytes] | add == 0'
	holds '[.threads[] | select(.alloc_bytes > 1e7)] | length == 2'
}

@test "programs that a shell starts, with their own NODE_OPTIONS; one that changed them is reported" {
	NODE_OPTIONS='--title=other' objects sh -c "node '$OBJECTS' 200000
		echo 'console.log(process.env.NODE_OPTIONS.slice(-14), process.execArgv.length)' | node
		NODE_OPTIONS= node '$OBJECTS' 200000; node --version; true"
	grep -q ' --title=other 0$' out
	right 1 items arrays keeps
	holds '.runtimes | map(select(.unsampled) | .note | test("NODE_OPTIONS was changed")) == [true]'
	grep -q 'allocations are not sampled' record.log
}

@test "programs that are not Node.js, and running ones, say so" {
	record --agent node -- sort "$OBJECTS"
	grep -q -- '--agent node: sort does not load Node.js when it starts' record.log
	run "$GCPROF" record --agent node -p 1
	[ "$status" = 2 ]
	[[ $output = *"start it with NODE_OPTIONS='--require $AGENT'"* ]]
	NODE_OPTIONS="--require $AGENT" node -e 'for (;;) globalThis.last = Array(1000)' &
	started=($!)
	wait_busy "${started[0]}"
	record_until alloc 50 -p "${started[0]}"
	holds '.alloc.period == 524288 and .alloc.samples >= 50'
}

@test "doctor and reports name the agent; a program's own sampler needs none" {
	"$GCPROF" doctor --json "$(command -v node)" >doctor.json
	jq -e '.[0] | .records.samples == false and .records.freed == false and .agent == "node"' doctor.json
	record -F 0 -- node "$OBJECTS" 100000
	holds '.alloc.samples == null and (.streams.alloc.attached | not) and (.runtimes[0].note | test("with --agent node"))'
	record -F 0 -- node --heap-prof --heap-prof-interval=65536 "$OBJECTS" 200000
	holds '.alloc.period == 65536'
	right 1 arrays
}

@test "a program is as it is without the agent" {
	cat >says.mjs <<-'END'
		import { Session } from 'node:inspector';
		console.log(Object.keys(globalThis).length, process.execArgv, process.argv.length, process.eventNames());
		const session = new Session();
		session.connect();
		session.post('Runtime.evaluate', { expression: '6 * 7' }, (error, { result }) => console.log(result));
	END
	node says.mjs >wanted 2>&1
	record --agent node -- node says.mjs 2>err
	cmp wanted out
}

@test "long: other releases of Node.js" {
	local other tried=
	for other in ~/.nvm/versions/node/v{20,22,24}.*/bin/node; do
		[ -x "$other" ] || continue
		tried=1
		objects "$other" --no-turbo-inlining "$OBJECTS" 400000
		right_all 1
		survived items 0 0.05
		survived keeps 0.9 1
		objects "$other" --no-turbo-inlining "$OBJECTS" 200000 workers
		right 2 items arrays keeps callback
	done
	[ -n "$tried" ] || skip 'there are none'
}

@test "a program that may not read the agent is started without it" {
	node --help | grep -q -- --experimental-permission || skip 'this Node.js has no such option'
	echo 'console.log("printed")' >script.js
	for where in argument environment; do
		if [ $where = argument ]; then
			record --agent node -- node --experimental-permission --allow-fs-read="$PWD/script.js" script.js
		else
			NODE_OPTIONS="--experimental-permission --allow-fs-read=$PWD/script.js" record --agent node -- node script.js
		fi
		same output "$(cat out)" printed
		grep -F -- '--experimental-permission forbids it to read the agent' record.log
	done
}
