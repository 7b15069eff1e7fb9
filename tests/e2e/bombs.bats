#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# bombs.bats: small profiles that unfold to gigabytes, read by every verb.
# Long: half a minute.

load common

make_bombs() {
	gcc -std=gnu11 -O1 -I"$ROOT/userspace" "$ROOT/tests/e2e/programs/bombs.c" \
		"$BUILD/libgcprof-user.a" -lzstd -lbpf -lm -o "$BATS_FILE_TMPDIR/bombs"
}

# Makes a profile that unfolds, bomb.data, unless it is there; the verb's peak of memory is in $mib,
# its status in $code, its messages in log.
explode() { # KIND COUNT VERB...
	local kind=$1 count=$2
	shift 2
	[ -e "$kind.data" ] || "$BATS_FILE_TMPDIR/bombs" "$kind" "$count" >"$kind.data"
	mib=$(python3 - "$GCPROF" "$@" "$kind.data" 2>log <<-'END'
		import resource, subprocess, sys
		code = subprocess.run(sys.argv[1:], stdout=open('out', 'w')).returncode
		print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10, code)
	END
	)
	code=${mib#* } mib=${mib% *}
	echo "$kind, $(stat -c %s "$kind.data") bytes, $*: $mib MiB, status $code, $(tail -n 1 log)"
	[ "$mib" -lt 1024 ]
}

@test "small profile unfolds to gigabytes: the report is about its beginning, says so with status 1, and takes less than 1 GiB" {
	make_bombs
	for bomb in frames:1500000 totals:500000 processes:1500000 types:3000000 strings:300000; do
		explode ${bomb%:*} ${bomb#*:} report
		same "status, $bomb" $code 1
		grep -F 'only its beginning was read' log
		grep -F 'Only the beginning of this profile was read' out
		rm "${bomb%:*}.data"
	done
	explode totals 500000 report --json
	explode totals 500000 diff totals.data
	same 'status of diff' $code 1
	explode totals 500000 query 'SELECT count(*) FROM syscall_totals'
	explode totals 500000 export -o firefox.json.gz
	explode totals 500000 info
	same 'status of info' $code 0
}

@test "small VMProf profile or PyPy log unfolds to gigabytes: refused with a sentence, in less than 1 GiB" {
	head -c 2500M /dev/zero | gzip -1 >zeros.data
	explode zeros 0 import vmprof
	same status $code 1
	grep -F 'GCPROF_MEMORY=8G allows more' log
	echo >none.vmprof
	explode zeros 0 import vmprof none.vmprof --pypylog
	same 'status with a log' $code 1
	grep -F 'GCPROF_MEMORY=8G allows more' log
}
