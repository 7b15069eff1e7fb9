#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# own_time.bats: the time of the recorder's BPF programs is a line of its own, and no function's.
# Runs alone: programs of other recorders at the same tracepoints that were just entered have no frame.

load common

@test "a summary above the limit says which part and why, and what starting and finishing took is apart" {
	local total share bpf others own
	need_root
	for limit in 0.01 100; do
		record --max-overhead $limit -- dd if=/dev/zero of=/dev/null bs=1 count=200000
		cat record.log
		read -r total share bpf others own < <(sed -nE 's/.*recording took ([0-9.]+) s of CPU time, ([0-9.]+)% of the machine meanwhile: ([0-9.]+) s on the programs. threads \(BPF\), (([0-9.]+) s on those of others, )?([0-9.]+) s in gcprof.*/\1 \2 \3 0\5 \6/p' record.log)
		awk "BEGIN { d = $total - $bpf - $others - $own; exit !(d < 0.03 && d > -0.03) }"
		grep -qE 'starting took another [0-9.]+ s of CPU time, and finishing, which names functions, [0-9.]+ s: the limit does not' record.log
		if awk "BEGIN { exit !($share > $limit) }"; then
			grep -qE "more than the $limit% of --max-overhead, most of it (in gcprof|on the programs' threads): a recording may" record.log
		else
			absent 'more than the' record.log
		fi
	done
	# No recording of a program takes as much as all of the machine.
	absent 'more than the' record.log
}

# What dd takes by itself, as bash has it from the kernel, is two calls of 0.2 us for each byte; with
# recording it is more than twice that.
@test "what the BPF programs take is a line of its own, and no function's" {
	need_root
	record --max-overhead off -- bash -c 'dd if=/dev/zero of=/dev/null bs=1 count=1000000 2>/dev/null; times'
	# bash's second line: user and system time of its children.
	took=$(awk 'END { split($0, t, /[ms ]+/); print (t[1] * 60 + t[2] + t[3] * 60 + t[4]) * 1e9 }' out)
	grep -qE 'recording took [0-9.]+ s of CPU time, [0-9.]+% of the machine .*: [0-9.]+ s on the programs' record.log
	"$GCPROF" report | grep -q "gcprof's own BPF programs"
	holds '.cpu | .recording_ns > 0.2 * .on_cpu_ns and .recording_ns < .on_cpu_ns'
	# It is a part of what the kernel charged to the program.
	jq -en --argjson took "$took" --slurpfile report report.json \
		'$report[0].cpu | .on_cpu_ns / $took | . > 0.8 and . < 1.3'
	# By the kernel's names it is what lies below its way to such programs, and else they are gone.
	"$GCPROF" report --recording --json >with.json
	jq -en --slurpfile report report.json --slurpfile with with.json \
		'[$with[0].functions[] | select(.name | test("^bpf_trace_run")) | .cpu_total_ns] | add |
		 . / $report[0].cpu.recording_ns | . > 0.7 and . < 1.4'
	holds '([.functions[] | select(.name | test("^bpf_prog_|^bpf_trace_run")) | .cpu_self_ns] | add // 0) <
		0.1 * .cpu.recording_ns'
	jq -en --slurpfile report report.json --slurpfile with with.json \
		'$with[0].cpu | .recording_ns == 0 and
		 .on_cpu_ns == $report[0].cpu.on_cpu_ns'
}
