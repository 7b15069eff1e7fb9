#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# instructions.bats: BPF programs do not grow unnoticed. The table in bpf/README.md holds the limits.
# Parallel: the numbers do not depend on what else runs.

load common

# NAME TRANSLATED VERIFIED of each BPF program of a process.
programs() { # PID
	bpftool -j prog show | jq -r '.[] | "\(.id) \(.name // "") \(.bytes_xlated / 8)"' >loaded
	cat /proc/"$1"/fdinfo/* 2>/dev/null | awk '
		FNR == NR { name[$1] = $2 " " $3; next }
		$1 == "prog_id:" { id = $2 }
		$1 == "verified_insns:" { verified[id] = $2 }
		END { for (id in verified) if (id in name) print name[id], verified[id] }' loaded - | sort -u
}

all_are_loaded() {
	grep -q 'probes attached' record.log
}

@test "BPF programs have at most 3 % more instructions than bpf/README.md says" {
	need_root
	[[ $(uname -r) = 6.18.* ]] || skip 'the table is of Linux 6.18: other kernels verify differently'
	"$GCPROF" record -v --off-cpu --faults -- sleep 5 2>record.log &
	started+=($!)
	wait_until all_are_loaded
	programs "$!" >now
	wait "$!"
	[ "$(wc -l <now)" -gt 15 ]
	# The rest of small programs varies by a few instructions with the compiler.
	awk -F '[|` ]+' '
		FNR == NR { if (/^\| `/ && NF == 5) { translated[$2] = $3; verified[$2] = $4 }; next }
		{ split($0, of, " "); name = of[1] }
		of[2] > translated[name] * 1.03 + 20 || of[3] > verified[name] * 1.03 + 20 {
			printf "more than the table has: | `%s` | %d | %d |\n", name, of[2], of[3]
			grown = 1
		}
		END { exit grown }' "$ROOT/bpf/README.md" now
}
