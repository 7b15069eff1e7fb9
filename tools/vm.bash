# SPDX-License-Identifier: BSD-2-Clause
# vm.bash: Debian's kernels under QEMU (software emulation), with the built program in an initramfs. What it
# prints comes back over the serial line and is checked here. All is kept in $work.
source tools/suite.bash
passed=0 failed=0

# The newest cloud kernel of a series, unpacked: prints the path of its image. Newer ones have the
# image in a package beside the one of that name.
fetch_kernel() { # VERSION
	local package directory lists=() series=${1//./\\.}
	if [ "$1" = newest ]; then
		use_suite trixie-backports "$work/apt"
		series='[0-9]+'
	fi
	package=$(apt-cache "${lists[@]}" --names-only search "^linux-(image|binary)-${series}[.+][.+0-9a-z-]*-cloud-amd64\$" |
		awk '{print $1}' | sort -t - -k 3V -k 2,2r | tail -n 1)
	if [ -z "$package" ]; then
		echo "${0##*/}: Debian has no cloud kernel $1 here (apt-get update?)" >&2
		return 1
	fi
	directory=$work/$package
	if [ ! -d "$directory" ]; then
		(cd "$work" && apt-get "${lists[@]}" download -q "$package" >/dev/null 2>&1 && dpkg-deb -x "$package"_*.deb "$directory")
	fi
	find "$directory" -name 'vmlinuz*' -type f
}

# Programs, and the begin of what runs in there. Each recording ends with its report between two markers.
begin_root() { # PROGRAM...
	local root=$work/root
	rm -rf "$root"
	mkdir -p "$root"/{bin,proc,sys,dev,tmp,lib64}
	cp "$(command -v busybox)" "$@" "$root/bin/"
	cat >"$work/root/init" <<-'INIT'
		#!/bin/busybox sh
		/bin/busybox --install -s /bin
		mount -t proc proc /proc
		mount -t sysfs sys /sys
		mount -t devtmpfs dev /dev
		mount -t tmpfs tmp /tmp
		cd /tmp
		echo "@kernel $(uname -r)"
		# setpriv by its path: busybox has one of its own, which knows less.
		# Emulated calls take long: what they are counted with would be too much.
		record() { # NAME OPTIONS -- COMMAND
			name=$1
			shift
			echo "@begin $name"
			$with gcprof record --max-overhead off -o $name.data "$@" >$name.out 2>$name.log
			echo "@status $?"
			sed 's/^/@log /' $name.log
			sed 's/^/@out /' $name.out
			gcprof report --json $name.data 2>&1 | sed 's/^/@json /'
		}
	INIT
	chmod 755 "$work/root/init"
}

# With the libraries of its programs.
end_root() {
	local library
	for library in $(ldd "$work"/root/bin/* 2>/dev/null | grep -oE '/[^ ]+ ' | sort -u); do
		install -D "$(realpath "$library")" "$work/root$library"
	done
	(cd "$work/root" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initramfs.gz"
}

# One thread for both CPUs: with one each, QEMU may run what it translated before the other CPU
# patched the code (6.12 panicked once at a tracepoint that was just switched on). And a busy
# machine emulates timers too slowly for the kernel's check of them.
boot() { # IMAGE ARGUMENT... ; writes $log and $log.text, sets `kernel`; fails if it did not finish
	timeout "${KERNEL_SECONDS:-2400}" qemu-system-x86_64 -accel tcg,thread=single -cpu max -smp 2 -m 2048 -no-reboot \
		-nographic -nic none -kernel "$1" -initrd "$work/initramfs.gz" \
		-append "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check oops=panic ${*:2}" >"$log" 2>&1 </dev/null || true
	tr -d '\r' <"$log" >"$log.text"
	kernel=$(sed -n 's/.*@kernel //p' "$log.text")
	grep -q '^@end' "$log.text" && return
	echo "not ok - ${log##*/}: did not finish; the end of $log:"
	tail -n 15 "$log.text"
	failed=$((failed + 1))
	return 1
}

part() { # LOG NAME TAG: the lines of one recording
	sed -n "/@begin $2\$/,/@begin\|@end/p" "$1.text" | sed -n "s/^@$3 \{0,1\}//p"
}

# Each stream that was asked for is attached and has lost nothing. From Linux 7 on, programs of tracepoints
# are preempted where no guard helps (bpf/README.md), which is frequent under QEMU.
every='([.streams[] | select((.why_not // "") | startswith("not asked for") | not)] | all(.attached)) and
	((.kernel | test("6[.]")) as $old |
		[.losses[] | select(.severity == "lost" and ($old or .name != "SYSCALL_SKIPPED"))] == [])'

# All collections, of which the program printed the number. Emulated, a program may begin before its file
# could be read, and the recorder says so.
collections() { # LOG
	local minor
	minor=$(part "$1" known out | jq .minor)
	echo "${minor:-0} > 0 and (.gc.minor.count == ${minor:-0} or
		(.gc.minor.count < ${minor:-0} and (.losses | any(.name == \"UNPROBED\"))))"
}

verify() { # KERNEL NAME WHAT CONDITION
	# No report at all is none that holds: jq alone would be content.
	if part "$log" "$2" json | jq -se "length == 1 and (.[0] | $4)" >/dev/null 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "not ok - $1, $2: $3"
		part "$log" "$2" log | head -n 20
		part "$log" "$2" json | jq -c '{streams, gc, cpu, stacks}' 2>/dev/null || true
	fi
}

summary() {
	echo
	echo "$passed passed, $failed failed, 0 skipped"
	[ "$failed" = 0 ] && [ "$passed" != 0 ]
}
