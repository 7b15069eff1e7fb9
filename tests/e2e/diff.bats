#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# diff.bats: conditions on what changed, figures per unit of work, and recordings that are unlike.
# Parallel: no other recorder matters.

load common

# The program burns CPU time by its own clock, so what is planted is there on a busy machine, too.
setup_file() {
	[ "$(id -u)" = 0 ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	build=$(cd "$BATS_TEST_DIRNAME/../.." && realpath "${BUILD_DIR:-build}")
	plant() { # NAME SEED ARGUMENTS...
		GCPROF_SEED=$2 "$build/gcprof" record -F 299 --max-overhead off --ceiling 0 -o "$1" -- \
			"$build/workloads/known" -t 1 "${@:3}" >"$1.out" 2>"$1.log"
	}
	plant base 1 --burn-ms 1000
	plant same 2 --burn-ms 1000
	plant more 3 --burn-ms 1300
	plant twice 4 --burn-ms 2000 --scale 2 --calls 2
	GCPROF_SEED=5 "$build/gcprof" record -F 0 -R 64K --syscalls off -o other -- ls -lR /usr/share/doc >/dev/null 2>other.log
}

setup() {
	need_root
	cd "$BATS_FILE_TMPDIR" || return 1
}

# Compares with conditions: sets `status`, and `output` without line breaks.
compare() { # STATUS BEFORE AFTER OPTION...
	local expected=$1
	shift
	run "$GCPROF" diff "$@" --width 120
	[ "$status" = "$expected" ] || {
		echo "exit status $status, not $expected: $output"
		return 1
	}
	output=$(tr -s ' \n' ' ' <<<"$output")
}

# What stands before a condition: met, not met or may be noise.
verdict() { # CONDITION VERDICT
	local said="${output#* Conditions } "
	said=${said%%" $1 "*}
	[[ $said = *" $2" && ($2 != met || $said != *' not met') ]] || {
		echo "not $2: $1: $output"
		return 1
	}
}

# How much CPU time changed from one recording to the other, in this unit. A busy machine adds some
# to what is planted, so conditions stand a little below and a little above what was measured.
changed() { # BEFORE AFTER ns|percent
	"$GCPROF" diff --json "$1" "$2" | jq -e --arg unit "$3" '.totals[] | select(.key == "cpu") |
		(.after.estimate - .before.estimate) as $ns | if $unit == "ns" then $ns else 100 * $ns / .before.estimate end | floor'
}

@test "a condition is met by a planted third more CPU time, and exits with 3" {
	local up down ms
	up=$(changed base more percent)
	down=$(changed more base percent)
	ms=$(($(changed base more ns) / 1000000))
	((ms > 50 && ms < 800)) # 300 are planted.
	local over="cpu>+$((up - 1))%" under="cpu>+$((up + 2))%"
	compare 3 base more --fail-if "$over" --fail-if "$under" --fail-if "cpu>+$((ms - 1))ms" --fail-if 'cpu < +1s'
	verdict "$over" met
	verdict "$under" 'not met'
	verdict "cpu>+$((ms - 1))ms" met
	verdict 'cpu < +1s' met
	compare 0 base more --fail-if "$under"
	compare 0 more base --fail-if "$over" --fail-if "cpu>$((down + 2))%"
	compare 3 more base --fail-if "cpu<$((down + 2))%"
	# No condition, no other status.
	compare 0 base more
	[[ $output != *Conditions* ]]
}

@test "a figure from samples must have changed by more than its noise" {
	# Some 300 samples before, and 390 after: 30 %, give or take 19. What the rest of the program takes of the
	# CPU without samples, as on a busy host, moves both.
	local estimate less more
	"$GCPROF" diff --json base more --fail-if 'cpu:spin>+1000%' >spin.json
	jq '.conditions[0].change' spin.json
	estimate=$(jq '.conditions[0].change.estimate | floor' spin.json)
	((estimate > 5 && estimate < 70))
	less="cpu:spin>+$((estimate - 4))%" more="cpu:spin>+$((estimate + 30))%"
	compare 0 base more --fail-if "$less" --fail-if "$more"
	verdict "$less" 'may be noise'
	verdict "$more" 'not met'
	compare 3 base twice --fail-if 'cpu:spin>+17%'
	verdict 'cpu:spin>+17%' met
	"$GCPROF" diff --json base more --fail-if "$less" >spin.json
	jq -e --arg less "$less" '.conditions | length == 1 and (.[0] | .condition == $less and .met == false and
		.name == "spin" and .unit == "ns" and .change_unit == "percent" and
		.before.low < .before.estimate and (.change | .low < .estimate - 10 and .low > .estimate - 40 and
		.high > .estimate + 10 and .high < .estimate + 50))' spin.json
}

@test "long: the same program twice meets none" {
	compare 0 base same --fail-if 'cpu>+20%' --fail-if 'cpu:spin>+5%' --fail-if 'alloc>+5%' --fail-if 'objects>+5%' \
		--fail-if 'alloc:half64>+5%' --fail-if 'calls:getppid>+0%' --fail-if 'minor>+0' --fail-if 'promoted>+0'
	verdict 'calls:getppid>+0%' 'not met'
	compare 3 base twice --fail-if 'alloc>+50%'
	compare 0 base base --fail-if 'cpu>+0%' --fail-if 'wall<-0%' --fail-if 'gc>+0ms'
}

@test "twice the work is no change per unit of it" {
	compare 3 base twice --fail-if 'cpu>+50%' --fail-if 'calls:getppid>+50%'
	for work in calls:getppid alloc objects minor; do
		compare 0 base twice --per $work --fail-if 'cpu>+60%' --fail-if 'alloc>+50%' --fail-if 'minor>+50%'
	done
	# 20,000 and 40,000 of them: 50 us each, and 15 more.
	local more=$(($(changed base more ns) / 20000))
	compare 3 base more --per calls:getppid --fail-if "cpu>+$((more - 100))ns" --fail-if 'peak_heap>+1GiB'
	[[ $output = *'Figures are per call of getppid (20,000 before, 20,000 after)'* ]]
	verdict "cpu>+$((more - 100))ns" met
	"$GCPROF" diff --json base twice --per calls:getppid >per.json
	jq -e '.per == "calls:getppid" and .work.after.estimate == 2 * .work.before.estimate and
		(.totals[] | select(.key == "cpu") | .before.estimate > 45000 and .before.estimate < 150000 and
			.before.estimate / .after.estimate < 1.8) and
		(.totals[] | select(.key == "minor") | .before.estimate < 1 and .before.estimate > 0) and
		(.calls[] | select(.name == "getppid") | .before.estimate == 1 and .after.estimate == 1)' per.json
	# What is no sum is not divided.
	jq -e --slurpfile whole <("$GCPROF" diff --json base twice) '[.totals[] | select(.key | IN("longest_pause", "peak_heap")) | .before] ==
		[$whole[0].totals[] | select(.key | IN("longest_pause", "peak_heap")) | .before]' per.json
}

@test "what a side did not record, or did not do, is an error and not unchanged" {
	compare 1 base other --fail-if 'cpu>+5%'
	[[ $output = *'--fail-if cpu>+5%: CPU time: not recorded in other (not asked for: -F 0)'* ]]
	compare 1 other base --fail-if 'alloc>+5%'
	[[ $output = *'allocated: not recorded in other'* ]]
	compare 1 base other --fail-if 'wall>-100%' --fail-if 'calls:getppid>+5%'
	compare 1 base base --fail-if 'cpu:nosuch>+5%'
	[[ $output = *'neither profile has a function of this name'* ]]
	compare 1 base other --per alloc
	[[ $output = *'--per alloc: allocated: not recorded in other'* ]]
	compare 1 base base --per major
	[[ $output = *'--per major: there is none in base'* ]]
	compare 1 base base --per calls:nosuch
	# Nothing was printed that a script could take for an answer.
	[ -z "$("$GCPROF" diff --json base other --fail-if 'cpu>+5%' 2>/dev/null)" ]
}

@test "a condition that is none is refused before a file is read" {
	for condition in 'cpu' 'cpu+5%' 'cpu>5%' 'cpu>+5MiB' 'cpu>+' 'cpu>+-5%' 'cpu>+1.2.3%' 'cpu>+5%%' 'calls>+5ms' \
		'alloc>+5ms' '>+5%' 'beauty>+5%' 'wall:x>+5%' 'cpu:>+5%' 'calls>+0x5'; do
		compare 2 nosuch nosuch --fail-if "$condition"
		[[ $output = *"--fail-if $condition: "* ]]
	done
	compare 2 nosuch nosuch --fail-if 'cpu>+5%' --fail-if 'beauty>+5%'
	[[ $output = *'they are wall, cpu, gc,'* ]]
	for work in cpu alloc:half64 beauty calls:; do
		compare 2 nosuch nosuch --per $work
	done
	compare 2 nosuch nosuch --per alloc --per objects
	compare 2 one two --from http://localhost:1 --per alloc
	compare 2 one two --from http://localhost:1 --fail-if 'cpu>+5%'
}

@test "recordings that are unlike are said to be unlike" {
	cp base copy
	"$GCPROF" diff --json base copy | jq -e '.unlike == [] and .not_compared == []'
	compare 0 base copy
	[[ $output != *unlike:* ]]
	# One of two may have been stopped for as long as it ran.
	"$GCPROF" diff --json base same | jq -e '[.unlike[].what] - ["recorded time"] == [] and .not_compared == []'
	compare 0 base other
	[[ $output = *'unlike: command: known -t 1 --burn-ms 1000 before, ls -lR /usr/share/doc after'*'Totals'* ]]
	[[ $output = *'not compared: cpu ('*'Totals'* ]]
	"$GCPROF" record -F 499 -R 64K -o coarse -- "$WORKLOADS/known" -t 1 --burn-ms 3 >/dev/null 2>coarse.log
	"$GCPROF" diff --json base coarse >unlike.json
	# Where the first took more than twice as long, as it does unless the second was kept waiting.
	ratio=$(jq -n "$(ask .duration_ns base) / $(ask .duration_ns coarse) | floor")
	same 'what is unlike' "$(jq -r '[.unlike[].what] | join(", ")' unlike.json)" \
		"command, timer, allocation period$([ "$ratio" -lt 2 ] || echo ', recorded time')"
	jq -e '.unlike[] | select(.what == "timer") | .before == "299 Hz" and .after == "499 Hz"' unlike.json
	"$GCPROF" merge -o both base same
	"$GCPROF" diff --json base both | jq -e '.unlike | any(.what == "recordings" and .before == "1" and .after == "2")'
}
