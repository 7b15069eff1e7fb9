// SPDX-License-Identifier: BSD-2-Clause
// Linger.java: collects all the time, and each collection takes long: most objects refer to another
// one anywhere in the heap.

import java.util.Random;

public class Linger {
	static final class Node {
		Node other, none;
	}

	static Node[] kept;

	// Argument: how many objects it keeps.
	public static void main(String[] arguments) {
		int n = Integer.parseInt(arguments[0]);
		Random random = new Random(1);

		kept = new Node[n];
		for (int i = 0; i < n; i++) {
			kept[i] = new Node();
			kept[i].other = kept[random.nextInt(i + 1)];
		}
		System.out.println("ready");
		for (;;)
			System.gc();
	}
}
