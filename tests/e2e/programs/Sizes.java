// SPDX-License-Identifier: BSD-2-Clause
// Sizes.java: allocates small objects and large ones.

public class Sizes {
	static long[] small;
	static char[] large;

	// Arguments: how many objects of 1016 bytes, with one of 400,016 for every 1024.
	public static void main(String[] arguments) {
		int n = Integer.parseInt(arguments[0]);

		for (int i = 0; i < n; i++) {
			small = new long[125];
			if (i % 1024 == 0)
				large = new char[200000];
		}
		System.out.println(small.length + large.length);
	}
}
