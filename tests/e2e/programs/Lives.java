// SPDX-License-Identifier: BSD-2-Clause
// Lives.java: objects that die at once, that outlast some collections, and that stay.

import java.util.ArrayDeque;

// Lives ROUNDS: in each 1000 of Gone, of which nothing stays; 200 of Queued, which go when WAITING
// younger ones are there; and 50 of Stays. Prints how many of Stays and of Queued are alive.
public class Lives {
	static final int WAITING = 400_000;

	static class Linked {
		long a, b, c;
		Object next;
	}

	static class Gone extends Linked {
	}

	static class Queued extends Linked {
	}

	static class Stays extends Linked {
	}

	static Object sink;

	public static void main(String[] args) throws Exception {
		ArrayDeque<Queued> queue = new ArrayDeque<>(2 * WAITING);
		int rounds = Integer.parseInt(args[0]);
		Stays all = null;

		for (int round = 0; round < rounds; round++) {
			for (int i = 0; i < 1000; i++)
				sink = new Gone();
			for (int i = 0; i < 200; i++) {
				queue.add(new Queued());
				if (queue.size() > WAITING)
					queue.poll();
			}
			for (int i = 0; i < 50; i++) {
				Stays one = new Stays();
				one.next = all;
				all = one;
			}
		}
		sink = null;
		// Twice: what the first has moved the second looks through. Then the agent has time to say so.
		System.gc();
		System.gc();
		Thread.sleep(500);
		System.out.printf("%d %d%n", 50L * rounds, queue.size());
		if (all == null || queue.isEmpty())
			throw new Error();
	}
}
