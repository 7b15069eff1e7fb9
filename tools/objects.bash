# SPDX-License-Identifier: BSD-2-Clause
# objects.bash: BPF objects of a recorder, and whether they are gone; for soak and soak-runtimes.

objects() { # PID
	cat "/proc/$1"/fdinfo/* 2>/dev/null | sed -nE 's/^(prog|map|link)_id:[[:space:]]*([0-9]+)/\1 \2/p' | sort -u
}

# Prints which of them are still there after ten seconds.
objects_left() { # FILE
	local kind id left
	for _ in $(seq 100); do
		left=
		while read -r kind id; do
			! bpftool "$kind" show id "$id" >/dev/null 2>&1 || left="$left $kind $id"
		done <"$1"
		[ -n "$left" ] || return 0
		sleep 0.1
	done
	echo "$left"
}
