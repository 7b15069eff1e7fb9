/* SPDX-License-Identifier: BSD-2-Clause */
/* LinkedGet.java: a linked list is read by index. */
import java.util.*;

class LinkedGet {
	static long total(List<Integer> amounts) {
		long sum = 0;
		for (int i = 0; i < amounts.size(); i++)
			sum += amounts.get(i);
		return sum;
	}

	public static void main(String[] args) {
		List<Integer> amounts = new LinkedList<>();
		for (int i = 0; i < 65_000; i++)
			amounts.add(i);
		System.out.println(total(amounts));
	}
}
