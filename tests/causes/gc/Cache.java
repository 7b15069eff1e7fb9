// SPDX-License-Identifier: BSD-2-Clause
// Cache.java: one site makes garbage, another one objects that live for some collections.

import java.util.ArrayDeque;

// Cache ROUNDS [without]: in each round garbage() drops 320 bytes, and keeper() keeps 80 until KEPT others have come.
// `without`: keeper() allocates nothing, so collections cost what is not caused by it.
public class Cache {
	static final int KEPT = 400000;
	static final ArrayDeque<byte[]> kept = new ArrayDeque<>(2 * KEPT);
	static volatile Object sink;

	static void keeper() {
		kept.add(new byte[64]);
		if (kept.size() > KEPT)
			kept.remove();
	}

	static void garbage() {
		sink = new byte[304];
	}

	public static void main(String[] args) {
		int rounds = Integer.parseInt(args[0]);
		boolean keeps = args.length < 2;

		for (int i = 0; i < rounds; i++) {
			if (keeps)
				keeper();
			garbage();
		}
	}
}
