// SPDX-License-Identifier: BSD-2-Clause
// Peer.java: the programs of protocol.h for the Java virtual machine.
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;

final class Peer {
	static final class Node {
		Node left, right;
		int i, j;

		Node() {
		}

		Node(Node left, Node right) {
			this.left = left;
			this.right = right;
		}
	}

	// 12 bytes of header, then 20: 32.
	static final class Small {
		final long serial;
		long rest;
		int more;

		Small(long serial) {
			this.serial = serial;
		}
	}

	static Small kept;

	static void populate(int depth, Node node) {
		if (depth <= 0)
			return;
		node.left = new Node();
		node.right = new Node();
		populate(depth - 1, node.left);
		populate(depth - 1, node.right);
	}

	static Node makeTree(int depth) {
		return depth <= 0 ? new Node() : new Node(makeTree(depth - 1), makeTree(depth - 1));
	}

	static int countNodes(Node node) {
		return node == null ? 0 : 1 + countNodes(node.left) + countNodes(node.right);
	}

	static int trees(int depth) {
		return 2 * ((1 << 19) - 1) / ((1 << (depth + 1)) - 1);
	}

	static void gcbench() {
		makeTree(18);
		Node longLived = new Node();
		populate(16, longLived);
		double[] array = new double[500000];
		for (int i = 1; i < array.length / 2; i++)
			array[i] = 1.0 / i;
		for (int depth = 4; depth <= 16; depth += 2) {
			for (int i = 0; i < trees(depth); i++)
				populate(depth, new Node());
			for (int i = 0; i < trees(depth); i++)
				makeTree(depth);
		}
		if (countNodes(longLived) != (2 << 16) - 1 || array[1000] != 1.0 / 1000)
			throw new AssertionError();
	}

	// One in 1024 is published, so none can be kept out of the heap.
	static void allocateShort() {
		for (long i = 0; i < 20_000_000; i++) {
			Small object = new Small(i);
			if (i % 1024 == 0)
				kept = object;
		}
	}

	// 16 bytes of header and length; the sizes are those of churn.c.
	static void churnThread() {
		int[] lengths = {0, 1, 2, 4, 6, 14, 62};
		long[][] ring = new long[256][];
		int next = 0;
		for (int i = 0; i < 4_000_000; i++) {
			long[] object = new long[lengths[next]];
			if (object.length > 0)
				object[0] = i;
			if (i % 64 == 0)
				ring[i / 64 % 256] = object;
			if (++next == lengths.length)
				next = 0;
		}
	}

	static void churn(int threads) throws InterruptedException {
		Thread[] others = new Thread[threads - 1];
		for (int i = 0; i < others.length; i++) {
			others[i] = new Thread(Peer::churnThread);
			others[i].start();
		}
		churnThread();
		for (Thread other : others)
			other.join();
	}

	public static void main(String[] args) throws InterruptedException {
		var system = (OperatingSystemMXBean)ManagementFactory.getOperatingSystemMXBean();
		int times = Integer.parseInt(args[1]);
		for (int n = 0; n < times; n++) {
			long wall = System.nanoTime(), cpu = system.getProcessCpuTime();
			switch (args[0]) {
			case "gcbench" -> gcbench();
			case "short" -> allocateShort();
			case "churn" -> churn(Integer.parseInt(args[2]));
			default -> System.exit(2);
			}
			System.out.println((System.nanoTime() - wall) + " " + (system.getProcessCpuTime() - cpu));
		}
	}
}
