/* SPDX-License-Identifier: BSD-2-Clause */
/* Parallel.java: a stream of eight numbers is parallel. */
import java.util.stream.*;

class Parallel {
	static int scores(int[] row) {
		return IntStream.of(row).parallel().map(x -> x * 3).sum();
	}

	public static void main(String[] args) {
		int[] row = {1, 2, 3, 4, 5, 6, 7, 8};
		long sum = 0;
		for (int i = 0; i < 600_000; i++)
			sum += scores(row);
		System.out.println(sum);
	}
}
