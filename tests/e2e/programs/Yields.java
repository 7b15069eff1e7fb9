// SPDX-License-Identifier: BSD-2-Clause
// Yields.java: a virtual thread that works and yields, under methods that called each other.

public class Yields {
	static volatile long sink;

	static void work() {
		for (int i = 0; i < 300000; i++)
			sink = sink * 6364136223846793005L + 1442695040888963407L;
	}

	static void down(int depth, long rounds, boolean yields) {
		if (depth > 0) {
			down(depth - 1, rounds, yields);
			return;
		}
		for (long i = 0; i < rounds; i++) {
			if (yields)
				Thread.yield();
			work();
		}
	}

	// Arguments: how deep, how often it works, and whether it yields.
	public static void main(String[] arguments) throws Exception {
		int depth = Integer.parseInt(arguments[0]);
		long rounds = Long.parseLong(arguments[1]);

		Thread.ofVirtual().start(() -> down(depth, rounds, arguments.length > 2)).join();
	}
}
