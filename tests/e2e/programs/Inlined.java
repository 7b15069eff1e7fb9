// SPDX-License-Identifier: BSD-2-Clause
// Inlined.java: a method with nearly all the work is inlined into a loop without safepoints, in a
// method that a recursive one inlines.

public class Inlined {
	static volatile long out;

	static long work(long value) {
		for (int i = 0; i < 6; i++)
			value ^= value * 7919 % 1000003;
		return value;
	}

	static long loop(long value) {
		for (int i = 0; i < 2000; i++)
			value = work(value);
		return value;
	}

	static long call(int depth, long value) {
		return depth == 0 ? loop(value) : call(depth - 1, value + 1) + 1;
	}

	// Argument: for how many ms.
	public static void main(String[] arguments) {
		long end = System.nanoTime() + Integer.parseInt(arguments[0]) * 1000000L;

		while (System.nanoTime() < end)
			out = call(40, out);
	}
}
