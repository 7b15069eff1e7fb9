// SPDX-License-Identifier: BSD-2-Clause
// Lives.java: objects that die at once, that outlast some collections, and that stay.

import java.util.ArrayDeque;

// Lives ROUNDS: in each 1000 of Gone, of which nothing stays; 200 of Queued, which go when WAITING
// younger ones are there; and 50 of Stays, the first 50,000 rounds of them. Prints how many of Stays and
// of Queued are alive. With another argument it begins when the agent is there.
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

	static boolean agentIsThere() {
		Thread[] threads = new Thread[100];
		int n = Thread.enumerate(threads);

		for (int i = 0; i < n; i++)
			if (threads[i].getName().equals("gcprof"))
				return true;
		return false;
	}

	public static void main(String[] args) throws Exception {
		ArrayDeque<Queued> queue = new ArrayDeque<>(2 * WAITING);
		int rounds = Integer.parseInt(args[0]);
		Stays all = null;

		if (args.length > 1) {
			while (!agentIsThere())
				Thread.sleep(10);
			// It has found itself a recorder, and asked for the samples.
			Thread.sleep(1000);
		}
		for (int round = 0; round < rounds; round++) {
			for (int i = 0; i < 1000; i++)
				sink = new Gone();
			for (int i = 0; i < 200; i++) {
				queue.add(new Queued());
				if (queue.size() > WAITING)
					queue.poll();
			}
			for (int i = 0; i < 50 && round < 50_000; i++) {
				Stays one = new Stays();
				one.next = all;
				all = one;
			}
		}
		sink = null;
		// Twice: what the first has moved the second looks through. Then the agent has time to say so, also
		// where others keep it from a CPU.
		System.gc();
		System.gc();
		Thread.sleep(1000);
		System.out.printf("%d %d%n", 50L * rounds, queue.size());
		if (all == null || queue.isEmpty())
			throw new Error();
	}
}
