// SPDX-License-Identifier: BSD-2-Clause
// Shares.java: classes of which known shares of the objects are kept.

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.SplittableRandom;

// Shares RING SECONDS: Kept10, Kept50 and Kept90 keep 10, 50 and 90 % of their objects, each in a ring of RING. A
// ring must be longer than a nursery: what is overwritten before the next collection does not survive it. SECONDS
// are of this thread's CPU time, so that a busy machine changes nothing.
public class Shares {
	static class Object48 {
		long a, b, c, d;
	}

	static class Kept10 extends Object48 {
	}

	static class Kept50 extends Object48 {
	}

	static class Kept90 extends Object48 {
	}

	static volatile Object sink;

	static class Ring {
		final Object[] all;
		final SplittableRandom random = new SplittableRandom(1);
		int next;

		Ring(int size) {
			all = new Object[size];
		}

		void keep(Object object, int percent) {
			sink = object;
			if (random.nextInt(100) >= percent)
				return;
			all[next] = object;
			next = (next + 1) % all.length;
		}
	}

	public static void main(String[] args) {
		int size = Integer.parseInt(args[0]);
		Ring ten = new Ring(size), fifty = new Ring(size), ninety = new Ring(size);
		ThreadMXBean clocks = ManagementFactory.getThreadMXBean();
		long end = clocks.getCurrentThreadCpuTime() + (long) (Double.parseDouble(args[1]) * 1e9);

		while (clocks.getCurrentThreadCpuTime() < end)
			for (int i = 0; i < 2000; i++) {
				ten.keep(new Kept10(), 10);
				fifty.keep(new Kept50(), 50);
				ninety.keep(new Kept90(), 90);
			}
	}
}
