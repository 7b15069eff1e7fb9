#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# java.bats: Java stacks of an unchanged HotSpot: compiled, interpreted and inlined frames, their names.
# Parallel: no other recorder matters.

load common

need_java() {
	need_root
	command -v javac >/dev/null || skip 'there is no Java'
}

# Two methods that do the same work, one three times as often, and say which part of the CPU time
# each has had.
make_hot() {
	cat >Hot.java <<'END'
import java.lang.management.*;

public class Hot {
	static final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
	static long sink, in_one, in_two;

	static void spin() {
		for (int i = 0; i < 200000; i++)
			sink = sink * 6364136223846793005L + 1442695040888963407L;
	}

	static void one(int depth) {
		if (depth > 0)
			one(depth - 1);
		else
			for (int i = 0; i < 30; i++)
				spin();
	}

	static void two(int depth) {
		if (depth > 0)
			two(depth - 1);
		else
			for (int i = 0; i < 10; i++)
				spin();
	}

	public static void main(String[] args) {
		long end = threads.getCurrentThreadCpuTime() + Long.parseLong(args[0]) * 1000000L;

		while (threads.getCurrentThreadCpuTime() < end) {
			long a = threads.getCurrentThreadCpuTime();
			one(10);
			long b = threads.getCurrentThreadCpuTime();
			two(10);
			in_one += b - a;
			in_two += threads.getCurrentThreadCpuTime() - b;
		}
		System.out.println((double) in_one / (in_one + in_two));
	}
}
END
	javac Hot.java
}

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	! command -v javac >/dev/null || make_hot
}

@test "a machine started by a script: its collections are all there, and no loss is claimed" {
	need_java
	cat >Churn.java <<'END'
public class Churn {
	static byte[][] kept = new byte[100][];

	public static void main(String[] args) {
		for (int i = 0; i < 1000000; i++)
			kept[i % 100] = new byte[1000];
	}
}
END
	javac Churn.java
	printf '#!/bin/sh\njava -Xmn16m -Xlog:gc:gc.log -cp . Churn\n' >script
	chmod +x script
	# Before the machine has started its last thread, no program runs in it. Attaching may take longer, which
	# is said, but not each time.
	for _ in $(seq 15); do
		record -F 0 -- ./script
		grep -q 'nothing lost' record.log
		holds '([.streams[].lost] | add) == 0 and [.warnings[] | select(.name == "lost_data")] == []'
		[ "$(ask '[.losses[] | select(.name == "UNPROBED")] | length')" = 0 ] || continue
		same collections "$(ask '.gc.minor.count')" "$(grep -c 'Pause Young' gc.log)"
		return 0
	done
	return 1
}

# The shares of both methods are what the program says, but for 0.1: with 700 samples chance makes that a part
# 0.08 too large or small, and the program is charged for what the host takes of its CPU. All that they did
# is in main().
holds_shares() {
	holds '([.functions[] | select((.name | startswith("Hot.")) and .file)] |
		map({(.name): .cpu_total_ns}) | add) as $of |
		($of["Hot.one"] + $of["Hot.two"]) as $both |
		($of["Hot.one"] / $both - '"$(tail -n 1 out)"' | fabs) < 0.1 and
		.stacks.samples > 700 and $of["Hot.main"] > 0.98 * $both'
	holds '(.stacks.unfinished.java_end // 0) < 0.02 * .stacks.samples and
		([.functions[] | select(.name == "Hot.spin")] | length) == 1'
}

hot() { # OPTIONS...
	need_java
	record -F 1999 -- java "$@" -cp "$BATS_FILE_TMPDIR" Hot 1000
	holds_shares
}

@test "long: interpreted Java methods have their shares of the CPU time" {
	hot -Xint
}

@test "long: Java methods compiled by C1 have their shares of the CPU time" {
	hot -XX:TieredStopAtLevel=1
}

@test "long: Java methods compiled by C2 have their shares of the CPU time" {
	hot -XX:-TieredCompilation
}

@test "Java methods have their shares of the CPU time" {
	hot
}

@test "long: another release of Java, by the tables that it exports" {
	local other
	need_java
	for other in /usr/lib/jvm/*/bin/java; do
		[ "$("$other" -version 2>&1 | head -n 1)" = "$(java -version 2>&1 | head -n 1)" ] || break
		other=
	done
	[ -n "$other" ] || skip 'there is only one'
	record -F 1999 -- "$other" -cp "$BATS_FILE_TMPDIR" Hot 1000
	holds_shares
}

@test "long: methods inlined in a loop without safepoints have their share" {
	need_java
	javac -d . "$ROOT/tests/e2e/programs/Inlined.java"
	# On a very busy machine the virtual machine may have read its flag before it was set; reports say so.
	for _ in 1 2 3; do
		record -F 1999 -- java -XX:+UseSerialGC -cp . Inlined 1500
		"$GCPROF" report >report.txt
		grep -q DebugNonSafepoints report.txt || break
	done
	"$GCPROF" report --json | jq -c '[.functions[] | select(.name | startswith("Inlined.")) | {(.name): .cpu_self_ns}] | add' |
		tee shares
	jq -e '.["Inlined.work"] > 0.8 * add' shares
	absent DebugNonSafepoints report.txt
}

@test "a Java program that runs already is attached to" {
	need_java
	java -cp "$BATS_FILE_TMPDIR" Hot 600000 >said &
	started+=($!)
	wait_busy $!
	record_until cpu 1500 -p "${started[0]}"
	# That is all it does; its first stacks may be taken before the recorder knows its files.
	holds '.cpu.on_cpu_ns as $all | .cpu.samples > 20 and
		([.functions[] | select(.name == "Hot.main" and .cpu_total_ns > 0.4 * $all)] | length) == 1'
	# It had read its flag before.
	"$GCPROF" report | tr -s ' \n' ' ' | grep -F DebugNonSafepoints
	"$GCPROF" info | grep -F DebugNonSafepoints
	"$GCPROF" doctor -p "${started[0]}" | grep -F DebugNonSafepoints
}

@test "long: almost all stacks of javac are complete and all Java frames have names" {
	local i j
	need_java
	for i in $(seq 5); do
		{
			echo "public class C$i<T extends Comparable<T>> {"
			for j in $(seq 20); do
				cat <<END
	public int m$j(int a, java.util.Map<String, java.util.List<Integer>> x) {
		for (var e : x.entrySet())
			for (int k : e.getValue())
				((Runnable) () -> System.out.println(e.getKey() + k)).run();
		return a > 0 ? m$j(a - 1, x) : x.values().stream()
			.flatMap(java.util.Collection::stream).mapToInt(v -> v + a).sum();
	}
END
			done
			echo '}'
		} >"C$i.java"
	done
	record -- javac -d . C*.java
	holds '.stacks.samples > 500 and ((.stacks.unfinished.user_end // 0) +
		(.stacks.unfinished.java_end // 0)) < 0.02 * .stacks.samples'
	holds '[.functions[] | select(.name == "com.sun.tools.javac.main.JavaCompiler.compile")] | length == 1'
	# By their stacks the compilers have what the scheduler says their threads had.
	holds '([.threads[] | select(.name | test("^C[12] Compiler")).cpu_ns] | add) as $truth |
		$truth > 0.1 * .cpu.on_cpu_ns and (.cpu.compiler_ns / $truth - 1 | fabs) < 0.25'
	holds '.cpu.collector_ns > .cpu.in_gc_ns'
	holds '([.functions[] | select(.name | startswith("[jit]")) | .cpu_self_ns] | add // 0) <
		0.05 * .cpu.on_cpu_ns'
}

# The memory of machines that end at once is gone before all their frames are looked for.
@test "Java frames that have no name are counted" {
	need_java
	cat >Halt.java <<'END'
public class Halt {
	public static void main(String[] arguments) { Runtime.getRuntime().halt(0); }
}
END
	javac Halt.java
	record -- sh -c 'for i in 1 2 3 4 5; do java -cp . Halt; done'
	"$GCPROF" query --format csv "SELECT count(*) FROM frames r JOIN functions f ON f.id = r.function
		WHERE f.name LIKE '[jit]%' AND (r.address < 0 OR r.address >= 1 << 62)" | tail -n 1 >nameless
	cat nameless
	[ "$(cat nameless)" -gt 0 ]
	holds ".losses | any(.name == \"NAMES_REMOTE\" and .count == $(cat nameless))"
}

@test "system calls of Java programs have Java stacks" {
	need_java
	cat >Waits.java <<'END'
public class Waits {
	static int waits() throws java.io.IOException { return System.in.read(); }
	public static void main(String[] args) throws java.io.IOException {
		new java.io.File("ready").createNewFile();
		while (waits() >= 0)
			;
	}
}
END
	javac Waits.java
	mkfifo input
	(
		wait_until test -e ready
		# For 0.5 s as its functions are known, which others may delay.
		for _ in {1..50}; do
			sleep 0.05
			echo
		done
	) >input &
	record -- java -cp . Waits <input
	holds '[.functions[] | select(.name == "Waits.waits" and .syscall_ns > 500e6)] | length == 1'
	holds '[.functions[] | select(.name == "Waits.main" and .syscall_ns > 500e6)] | length == 1'
}

# All that works in Yields does it in a virtual thread.
yields() { # ARGUMENTS...
	record -- "$jdk/bin/java" -cp . Yields "$@"
	ask '[.functions[] | select(.name == "Yields.work" or .name == "Yields.down" or
		.name == "Yields.lambda$main$0" or .name == "java.util.concurrent.ForkJoinPool.runWorker") |
		{(.name): .cpu_total_ns}] | add' >of.json
}

@test "long: a virtual thread's frames that are in the heap are missing, and its stacks are not whole" {
	local jdk
	need_root
	for jdk in /usr/lib/jvm/*; do
		! nm -D "$jdk/lib/server/libjvm.so" 2>/dev/null | grep -q JVM_VirtualThreadMount || break
		jdk=
	done
	[ -x "$jdk/bin/javac" ] || skip 'no Java with virtual threads'
	"$jdk/bin/javac" -d . "$ROOT/tests/e2e/programs/Yields.java"
	yields 100 800
	jq -e '."Yields.lambda$main$0" > 0.9 * ."Yields.work"' of.json
	holds '(.stacks.unfinished.java_frozen // 0) == 0'
	yields 100 800 yield
	jq -e '."Yields.lambda$main$0" < 0.2 * ."Yields.work" and
		."java.util.concurrent.ForkJoinPool.runWorker" > 0.9 * ."Yields.work"' of.json
	holds '.stacks.unfinished.java_frozen > 0.1 * .stacks.samples'
	"$GCPROF" report | tr -s ' \n' ' ' | grep -F 'outer frames of a virtual thread were in the heap'
}
