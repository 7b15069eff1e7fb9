# SPDX-License-Identifier: BSD-2-Clause
# attacks.bash: what attacks.bats and tools/siege share: the programs that attack, and how a recorder fares.
#
# An attacker is an ordinary user (1001) who can make files and run programs, and no more.

ATTACKER=1001
GCPROF_MIB=128 # of memory that the recorder and what it starts may have, the reader left out
READER_MIB=512 # and the reader
END_S=${END_S:-3} # from SIGINT, or the end of --duration, to the end; see patience()
TURN_MS=${TURN_MS:-150} # of the main loop: 50, and some time slices of others
READERS_MIN=1000       # that are killed in ten minutes of siege
SLOWER=1               # how many times as long the program that means no harm runs
BLAME='reader|refused|too |damaged|no unwind rows|no function names' # one of these words says what is wrong with a file
# Sanitizers take several times the memory and the time.
if grep -qs fsanitize "$BUILD/flags"; then
	GCPROF_MIB=$((GCPROF_MIB * 8)) READER_MIB=$((READER_MIB * 4)) END_S=$((END_S * 10)) TURN_MS=$((TURN_MS * 20))
	SLOWER=3
	READERS_MIN=100
	# What is freed and kept to find its use is no memory of the recorder's.
	export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=64
fi
export ATTACKER GCPROF_MIB READER_MIB END_S TURN_MS READERS_MIN SLOWER BLAME

# Compiles the programs into a folder that the attacker may use. The one that means no harm has no sanitizers,
# which would slow it down and start processes.
build_attacks() { # FOLDER
	local from=$ROOT/tests/e2e/programs workloads=$WORKLOADS name
	if grep -qs fsanitize "$BUILD/flags"; then
		workloads=$ROOT/build/workloads
		env -u BUILD make -s -C "$ROOT" build/workloads/churn >/dev/null || return 1
	fi
	for name in mapper opens points stuck; do
		gcc -std=gnu11 -O1 -D_GNU_SOURCE "$from/$name.c" -o "$1/$name" || return 1
	done
	gcc -std=gnu11 -O1 -D_GNU_SOURCE "$from/elfbomb.c" -o "$1/elfbomb" -lz || return 1
	gcc -std=gnu11 -O1 -D_GNU_SOURCE -static "$from/linker.c" -o "$1/linker" || return 1
	gcc -std=gnu11 -O1 -D_GNU_SOURCE -static -no-pie -Wl,--section-start=.block=0x20000000 \
		"$from/becomes.c" -o "$1/becomes" || return 1
	cp "$workloads/churn" "$from/functions.py" "$1"
}

# Begins a command of the attacker.
AS_ATTACKER=(setpriv --reuid "$ATTACKER" --regid "$ATTACKER" --clear-groups)

# Seconds since the machine started.
clock() {
	cut -d ' ' -f 1 /proc/uptime
}

# How long something may take that takes so many seconds on a machine with nothing else to do: up to
# five times as long, by how many want each CPU.
patience() { # SECONDS
	awk -v s="$1" -v cpus="$(nproc)" '{f = $1 / cpus; print int(s * (f < 1 ? 1 : f > 5 ? 5 : f))}' /proc/loadavg
}

# Whether so many seconds have gone by.
is_past() { # SINCE SECONDS
	awk -v since="$1" -v limit="$2" '{exit !($1 - since > limit)}' /proc/uptime
}

# Is it there, and no zombie?
is_running() { # PID
	local state
	state=$(awk '/^State/ {print $2}' "/proc/$1/status" 2>/dev/null)
	[ -n "$state" ] && [ "$state" != Z ]
}

# What a recorder has started and is called so.
started_by() { # PID NAME
	local child
	for child in $(cat "/proc/$1/task"/*/children 2>/dev/null); do
		# shellcheck disable=SC2053 # the name is a pattern
		[[ $(cat "/proc/$child/comm" 2>/dev/null) == $2 ]] && echo "$child"
	done
	return 0
}

# KiB of memory that belong to a process alone.
anonymous() { # PID
	local kib
	kib=$(awk '/^RssAnon/ {print $2}' "/proc/$1/status" 2>/dev/null)
	echo "${kib:-0}"
}

# Raises $peak and $reader_peak (KiB) to what a recorder and its children use now.
see_memory() { # PID
	local child kib sum
	sum=$(anonymous "$1")
	for child in $(started_by "$1" 'gcprof*'); do
		kib=$(anonymous "$child")
		if [ "$(cat "/proc/$child/comm" 2>/dev/null)" = gcprof-reader ]; then
			[ "$kib" -le "$reader_peak" ] || reader_peak=$kib
		else
			sum=$((sum + kib))
		fi
	done
	[ "$sum" -le "$peak" ] || peak=$sum
}
