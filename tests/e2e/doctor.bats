#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# doctor.bats: what can be recorded with which rights, and that each capability is told by name.
# Parallel: no other recorder matters.

load common

setup_file() {
	export RIGHTS=$BATS_FILE_TMPDIR/rights
	mkdir "$RIGHTS"
	cp "$GCPROF" "$WORKLOADS/churn" "$RIGHTS/"
	# Every folder on the way must let others through.
	local folder=$BATS_FILE_TMPDIR
	while [ "$folder" != "$(dirname "$BATS_RUN_TMPDIR")" ]; do
		chmod o+x "$folder"
		folder=$(dirname "$folder")
	done
	chmod 777 "$RIGHTS"
	chmod 755 "$RIGHTS"/*
}

setup() {
	cd "$RIGHTS" || return 1
}

# Runs a command as somebody who has but these capabilities: +bpf,+perfmon
with() { # CAPABILITIES COMMAND...
	local capabilities=$1
	shift
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps "-all,$capabilities" \
		--ambient-caps "-all,$capabilities" --bounding-set "-all,$capabilities" "$@"
}

verdict() { # CHECK
	jq -r --arg name "$1" '.checks[] | select(.name == $name) | .verdict' doctor.json
}

@test "root: everything works, each stream was tried, nothing is left" {
	need_root
	before=$(orphans)
	"$GCPROF" doctor --json >doctor.json
	cat doctor.json
	jq -e '.possible and .trial.loaded and .trial.processes and .trial.mappings' doctor.json
	jq -e '[.streams | to_entries[] | select(.value.works | not)] == []' doctor.json
	jq -e '.streams | has("alloc") and has("gc") and has("cpu") and has("syscall") and has("process")' doctor.json
	jq -e '.capabilities | length > 5 and all(.[]; .)' doctor.json
	same kernel "$(verdict kernel)" ok
	same rights "$(verdict rights)" ok
	"$GCPROF" doctor >text
	grep -q 'Recording works here' text
	wait_until no_more_orphans "$before"
}

@test "nobody: impossible, with the reason and what to do; exit status 1" {
	need_root
	run with -all ./gcprof doctor
	echo "$output"
	same status "$status" 1
	grep -q 'no CAP_BPF, CAP_PERFMON' <<<"$output"
	grep -q 'sudo gcprof record' <<<"$output"
	grep -q "'perf record -e cpu-clock:u -g COMMAND'" <<<"$output"
	grep -q 'Recording is impossible here' <<<"$output"
	run with -all ./gcprof doctor --json
	same possible "$(jq .possible <<<"$output")" false
}

@test "root of a user namespace: impossible, and it is said that its rights do not count" {
	need_root
	unshare -Ur true || skip 'there are no user namespaces'
	run unshare -Ur ./gcprof doctor
	echo "$output"
	same status "$status" 1
	grep -qE '^ +fails +rights +the rights of a user namespace do not count' <<<"$output"
	grep -q -- '-> Record from outside of the container' <<<"$output"
	run unshare -Ur ./gcprof record -o namespace.data -- ./churn --bytes 16M
	echo "$output"
	same status "$status" 1
	grep -q 'the rights of a user namespace do not count' <<<"$output"
	[ ! -e namespace.data ]
}

@test "a kernel is asked what it has, not what it is called" {
	need_root
	setarch --uname-2.6 ./gcprof doctor --json >doctor.json
	jq -r '.checks[] | select(.name == "kernel").found' doctor.json | grep -qE '^Linux 2\.6\..* has all that recording needs$'
	jq -e '.possible and ([.streams[].works] | all)' doctor.json
}

# How a recording attaches probes, and the calls that disable preemption in each of its BPF programs.
means() { # COMMAND...
	local pid id name
	rm -f means.log
	"$@" ./gcprof record -v -o means.data -- sleep 100 2>means.log &
	pid=$!
	started+=("$pid")
	wait_until grep -qs 'the program runs' means.log
	grep '^gcprof: probes: ' means.log
	for id in $(sed -n 's/^prog_id:[ \t]*//p' /proc/"$pid"/fdinfo/* 2>/dev/null | sort -nu); do
		name=$(bpftool -j prog show id "$id" | jq -r .name)
		echo "$name: $(bpftool prog dump xlated id "$id" | grep -c bpf_preempt_)"
	done | sort
	kill "$pid"
	wait "$pid"
}

@test "long: the way to attach probes and the guard against preemption do not depend on a kernel's version" {
	need_root
	means env >as_it_is
	means setarch --uname-2.6 >as_another
	cat as_it_is
	grep -q '^probe_fired: ' as_it_is
	diff as_it_is as_another
}

# Hierarchies of cgroups, in a mount namespace: one folder each of type TYPE.
with_cgroups() { # TYPE FOLDER
	unshare -m sh -ec "
		! mountpoint -q /sys/fs/cgroup || umount -R -l /sys/fs/cgroup
		mount -t tmpfs none /sys/fs/cgroup
		[ -z '$1' ] || { mkdir -p '/sys/fs/cgroup/$2' && mount -t $1 none '/sys/fs/cgroup/$2'; }
		exec ./gcprof doctor --json" >doctor.json
	jq -r '.checks[] | select(.name == "cgroups") | .verdict + " " + .found' doctor.json
}

@test "cgroups: version 2 is what --cgroup takes, beside version 1 its own groups, and without it nothing" {
	need_root
	same 'version 2' "$(with_cgroups cgroup2 .)" 'ok version 2, as --cgroup needs'
	same both "$(with_cgroups cgroup2 unified)" \
		'note version 2 is mounted on /sys/fs/cgroup/unified: --cgroup takes its groups, but none of version 1'
	same neither "$(with_cgroups '' '')" 'limited version 2 is not mounted: --cgroup cannot be used, all else works'
	jq -e .possible doctor.json
}

@test "too few descriptors: told before the kernel refuses" {
	need_root
	run bash -c 'ulimit -n 20; "$0" doctor' "$GCPROF"
	echo "$output"
	same status "$status" 1
	grep -qE '^ +fails +limits +ulimit -n 20 is too low' <<<"$output"
	# And by the recorder, which needs what it says and no more.
	run bash -c 'ulimit -n 20; "$0" record -- /bin/true' "$GCPROF"
	echo "$output"
	same status "$status" 1
	grep -q "^Raise it (ulimit -n 1024)" <<<"$output"
	least=$(sed -n 's/.*takes up to \([0-9]*\) descriptors.*/\1/p' <<<"$output")
	run bash -c "ulimit -n $least; "'"$0" record --off-cpu --faults -- "$1"' "$GCPROF" "$WORKLOADS/known"
	echo "$output"
	same status "$status" 0
	absent 'Too many open files' - <<<"$output"
}

@test "two capabilities are enough to record all streams of one's own program" {
	need_root
	with +bpf,+perfmon ./gcprof doctor --json >doctor.json
	jq -e '[.possible, .streams[].works] | all' doctor.json
	with +bpf,+perfmon ./gcprof record -R 64K -o own.data -- ./churn --bytes 3G 2>record.log
	cat record.log
	holds '[.streams[] | select(.why_not // "" | startswith("not asked for") | not) | .attached] | all' own.data
	holds '.alloc.samples > 100 and .gc.minor.count > 10 and .cpu.samples > 10' own.data
	same owner "$(stat -c %u own.data)" 65534
}

@test "long: each capability removed in turn: what is missing is told by its name" {
	need_root
	"$GCPROF" doctor --json >doctor.json
	names=$(jq -r '.capabilities | keys[] | ascii_downcase | ltrimstr("cap_")' doctor.json)
	for gone in $names; do
		others=$(grep -vx "$gone" <<<"$names" | sed 's/^/+/' | paste -sd,)
		code=0
		with "$others" ./gcprof doctor --json >doctor.json || code=$?
		echo "without $gone: $code, $(verdict rights)"
		same 'its state' "$(jq ".capabilities.CAP_${gone^^}" doctor.json)" false
		same 'the others' "$(jq '[.capabilities[] | select(.)] | length' doctor.json)" $(($(wc -w <<<"$names") - 1))
		jq -r '.checks[] | select(.name == "rights").found' doctor.json | grep -q "CAP_${gone^^}"
		rm -f less.data
		case $gone in
		bpf | perfmon)
			same status "$code" 1
			run with "$others" ./gcprof record -o less.data -- ./churn --bytes 16M
			same 'status of record' "$status" 1
			grep -q "CAP_${gone^^}" <<<"$output"
			[ ! -e less.data ]
			;;
		*)
			same status "$code" 0 # two are enough to record, see above
			;;
		esac
	done
}

@test "once everything is attached, all threads keep the rights that they need and no others" {
	need_root
	"$GCPROF" record -v -o drop.data -- /bin/sleep 100 2>record.log 3>&- &
	recorder=$!
	wait_until grep -q 'not needed any more are dropped' record.log
	cat /proc/$recorder/task/*/status >status
	sleeper=$(pgrep -P $recorder -x sleep)
	grep CapEff "/proc/$sleeper/status" >program
	kill "$sleeper"
	wait $recorder || true
	grep -E '^(Pid|Cap|NoNew)' status
	[ "$(grep -c '^CapPrm' status)" -ge 2 ]
	# bpf 39, perfmon 38, sys_ptrace 19, dac_read_search 2, dac_override 1, syslog 34,
	# checkpoint_restore 40; and, to become nobody where symbols are read and end that, setgid 6, setuid 7, kill 5
	same kept "$(grep -hE '^Cap(Prm|Eff)' status | awk '{print $2}' | sort -u)" \
		"$(printf %016x $((1 << 39 | 1 << 38 | 1 << 19 | 1 << 2 | 1 << 1 | 1 << 5 | 1 << 34 | 1 << 40 | 1 << 6 | 1 << 7)))"
	same 'no way back' "$(awk '/^NoNewPrivs/ {print $2}' status | sort -u)" 1
	# The program has what it would have had.
	same program "$(awk '{print $2}' program)" "$(awk '/^CapEff/ {print $2}' /proc/self/status)"
}

@test "long: without CAP_SYSLOG timer samples in BPF programs count as the program's, and the doctor says so" {
	need_root
	with +bpf,+perfmon,+syslog ./gcprof doctor --json >doctor.json
	same 'with it' "$(verdict 'kernel addresses')" ok
	with +bpf,+perfmon ./gcprof doctor --json >doctor.json
	same 'without it' "$(verdict 'kernel addresses')" note
	with +bpf,+perfmon ./gcprof record --max-overhead off -o own.data -- true 2>record.log
	grep 'its cost on the programs.* is unknown' record.log
	# What is measured for the limit is known.
	with +bpf,+perfmon ./gcprof record -F 999 -o own.data -- dd if=/dev/zero of=/dev/null bs=64K count=40000 2>record.log
	grep 'recording took .* s on the programs' record.log
	holds '.cpu.recording_ns == 0' own.data
	# The kernel names its functions all the same.
	./gcprof report --functions own.data >report.txt
	grep -E '(clear_user|read_zero).*\[kernel\]' report.txt
}

@test "doctor: usage" {
	run "$GCPROF" doctor --help
	same status "$status" 0
	grep -qi 'usage: gcprof doctor' <<<"$output"
	run "$GCPROF" doctor what -p 1
	same status "$status" 2
	run "$GCPROF" doctor --what
	same status "$status" 2
}

@test "of a program: which of its files have probes, and that others have none" {
	need_root
	"$GCPROF" doctor --json "$WORKLOADS/churn" >churn.json
	jq -e 'length == 1 and .[0].probes > 5 and (.[0].path | endswith("churn"))' churn.json
	"$GCPROF" doctor /bin/true | grep -F 'No runtime that gcprof knows' | grep -F 'record --malloc'
	! command -v /usr/bin/python3 || "$GCPROF" doctor /usr/bin/python3 | grep -e '--agent python'
	run "$GCPROF" doctor /bin/true /bin/false
	[ "$status" = 2 ]
	run "$GCPROF" doctor /no/such/program
	[ "$status" = 1 ]
	run "$GCPROF" doctor -p x
	[ "$status" = 1 ]
	"$WORKLOADS/churn" --seconds 1000 >/dev/null &
	started=($!)
	wait_busy "${started[0]}"
	"$GCPROF" doctor -p "${started[0]}" | grep -F "gcprof's own"
}
