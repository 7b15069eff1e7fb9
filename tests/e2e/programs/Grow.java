// SPDX-License-Identifier: BSD-2-Clause
// Grow.java: keeps more and more arrays, then drops half of them, so that young collections do not
// always suffice.

import java.util.ArrayDeque;

public class Grow {
	static final ArrayDeque<byte[]> kept = new ArrayDeque<>();

	// Arguments: how many arrays of 1000 bytes it allocates, and how many of them it keeps at most.
	public static void main(String[] arguments) {
		int n = Integer.parseInt(arguments[0]), most = Integer.parseInt(arguments[1]);

		for (int i = 0; i < n; i++) {
			kept.add(new byte[1000]);
			for (int k = kept.size() > most ? most / 2 : 0; k > 0; k--)
				kept.poll();
		}
		System.gc();
		System.out.println("kept " + kept.size());
	}
}
