// SPDX-License-Identifier: BSD-2-Clause
// Allocate.java: allocates known numbers of objects of two classes, in two methods.

import java.util.ArrayList;

public class Allocate {
	static final class Node {
		Node left, right;
		int value;

		Node(int value) {
			this.value = value;
		}
	}

	static final ArrayList<Node> kept = new ArrayList<>();
	static long[] last;
	static Node lastNode;

	static Node makeNode(int value) {
		return new Node(value);
	}

	static long[] makeArray(int length) {
		return new long[length];
	}

	static void round(int n) {
		for (int i = 0; i < n; i++) {
			lastNode = makeNode(i);
			if (i % 64 == 0)
				kept.add(lastNode);
			if (i % 4 == 0)
				last = makeArray(125);
		}
	}

	// Arguments: rounds, and of each the objects of class Node: 24 bytes each, and 1016 for every
	// fourth. Then waits for so many ms, if that is given. It begins after as many ms as the property
	// "before" says: a recorder of a busy machine may need them to switch the sampler on.
	public static void main(String[] arguments) throws Exception {
		int rounds = Integer.parseInt(arguments[0]), n = Integer.parseInt(arguments[1]);

		Thread.sleep(Integer.getInteger("before", 0));
		for (int i = 0; i < rounds; i++) {
			kept.clear();
			round(n);
		}
		if (arguments.length > 2)
			Thread.sleep(Integer.parseInt(arguments[2]));
		System.out.println("kept " + kept.size());
	}
}
