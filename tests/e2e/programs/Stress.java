// SPDX-License-Identifier: BSD-2-Clause
// Stress.java: what is hard for a Java virtual machine, with results that can be compared.

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongUnaryOperator;

// Stress MODE ROUNDS: prints the mode and a number that depends on the rounds alone.
public class Stress {
	static final AtomicLong sum = new AtomicLong();

	// Defined again and again, by a loader each.
	public static class Unit implements LongUnaryOperator {
		private long state;

		public long applyAsLong(long x) {
			state = state * 31 + x;
			return state ^ new int[] {(int) x, 1}.length;
		}
	}

	static class Loader extends ClassLoader {
		LongUnaryOperator make(byte[] code) throws Exception {
			Class<?> unit = defineClass("Stress$Unit", code, 0, code.length);
			return (LongUnaryOperator) unit.getDeclaredConstructor().newInstance();
		}
	}

	static LongUnaryOperator unit() throws Exception {
		try (var in = Stress.class.getResourceAsStream("Stress$Unit.class")) {
			return new Loader().make(in.readAllBytes());
		}
	}

	// Loaders and their classes are dropped.
	static long classes(int rounds) throws Exception {
		long result = 0;

		for (int i = 0; i < rounds; i++) {
			LongUnaryOperator unit = unit();

			for (int j = 0; j < 2000; j++)
				result += unit.applyAsLong(i + j);
			if (i % 200 == 199)
				System.gc();
		}
		return result;
	}

	static long apply(LongUnaryOperator operator, long x) {
		return operator.applyAsLong(x) + 1;
	}

	// What was compiled for the classes so far meets one more, and null, and is thrown away.
	static long deopt(int rounds) throws Exception {
		long result = 0;

		for (int i = 0; i < rounds; i++) {
			LongUnaryOperator unit = unit();

			for (int j = 0; j < 30000; j++)
				result += apply(unit, j);
			try {
				result += apply(null, i);
			} catch (NullPointerException e) {
				result ^= i;
			}
		}
		return result;
	}

	static class Node {
		final Node left, right;
		final int value;

		Node(int depth, int value) {
			this.value = value;
			left = depth > 0 ? new Node(depth - 1, 2 * value) : null;
			right = depth > 0 ? new Node(depth - 1, 2 * value + 1) : null;
		}

		long total() {
			return value + (left != null ? left.total() + right.total() : 0);
		}
	}

	// Some trees live long.
	static long trees(int rounds) {
		Node[] kept = new Node[8];
		long result = 0;

		for (int i = 0; i < rounds; i++) {
			kept[i % kept.length] = new Node(12, i);
			result += kept[i * 5 % kept.length] != null ? kept[i * 5 % kept.length].total() : 0;
			result += new byte[i % 1000 == 0 ? 3 << 20 : 500].length;
		}
		return result;
	}

	// 500 threads at a time.
	static long threads(int rounds) throws Exception {
		for (int i = 0; i < rounds; i++) {
			List<Thread> all = new ArrayList<>();

			for (int j = 0; j < 500; j++) {
				int seed = i + j;
				Thread thread = new Thread(() -> sum.addAndGet(new Node(6, seed).total()));

				thread.start();
				all.add(thread);
			}
			for (Thread thread : all)
				thread.join();
		}
		return sum.get();
	}

	static long endless(long x) {
		return endless(x + 1) + 1;
	}

	static long deep(long depth) {
		return depth > 0 ? deep(depth - 1) + new long[] {depth}[0] : 0;
	}

	static long recursion(int rounds) {
		long result = 0;

		for (int i = 0; i < rounds; i++) {
			try {
				result += endless(i);
			} catch (StackOverflowError e) {
				result += deep(1000);
			}
		}
		return result;
	}

	static int thrower(int depth) {
		if (depth == 0)
			throw new IllegalStateException("at the bottom");
		try {
			return thrower(depth - 1) + 1;
		} catch (IllegalArgumentException e) {
			return -1;
		} finally {
			sum.incrementAndGet();
		}
	}

	static long exceptions(int rounds) {
		for (int i = 0; i < rounds; i++) {
			try {
				thrower(i % 60);
			} catch (IllegalStateException e) {
				sum.addAndGet(e.getStackTrace().length > i % 60 ? 1 : 1000000);
			}
		}
		return sum.get();
	}

	static long children(int rounds) throws Exception {
		long result = 0;

		for (int i = 0; i < rounds; i++) {
			Process child = new ProcessBuilder("expr", "" + i, "+", "1").start();

			result += Long.parseLong(new String(child.getInputStream().readAllBytes()).trim());
			result += child.waitFor();
		}
		return result;
	}

	// Ends in the midst of its work.
	static void later(long ms, Runnable end) {
		Thread thread = new Thread(() -> {
			try {
				Thread.sleep(ms);
			} catch (InterruptedException e) {
				return;
			}
			end.run();
		});
		thread.setDaemon(true);
		thread.start();
	}

	static void signal(String name) {
		try {
			new ProcessBuilder("kill", "-" + name, "" + ProcessHandle.current().pid()).start();
		} catch (java.io.IOException e) {
			throw new AssertionError(e);
		}
	}

	static void wild() {
		try {
			var field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");

			field.setAccessible(true);
			((sun.misc.Unsafe) field.get(null)).putLong(8, 1);
		} catch (ReflectiveOperationException e) {
			throw new AssertionError(e);
		}
	}

	static long run(String mode, int rounds) throws Exception {
		switch (mode) {
		case "classes": return classes(rounds);
		case "deopt": return deopt(rounds);
		case "trees": return trees(rounds);
		case "threads": return threads(rounds);
		case "recursion": return recursion(rounds);
		case "exceptions": return exceptions(rounds);
		case "children": return children(rounds);
		case "exit": later(rounds, () -> System.exit(7)); break;
		case "segv": later(rounds, () -> signal("SEGV")); break;
		case "term": later(rounds, () -> signal("TERM")); break;
		case "wild": later(rounds, Stress::wild); break;
		default: throw new IllegalArgumentException(mode);
		}
		return trees(Integer.MAX_VALUE);
	}

	public static void main(String[] args) throws Exception {
		System.out.println(args[0] + " " + run(args[0], Integer.parseInt(args[1])));
	}
}
