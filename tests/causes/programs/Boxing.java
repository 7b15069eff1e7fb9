/* SPDX-License-Identifier: BSD-2-Clause */
/* Boxing.java: numbers are counted in a map, which boxes each of them. */
import java.util.HashMap;
import java.util.Map;

public class Boxing {
	static void count(Map<Integer, Long> counts, int key) {
		counts.put(key, counts.getOrDefault(key, 1000L) + 1);
	}

	public static void main(String[] arguments) {
		Map<Integer, Long> counts = new HashMap<>();
		int key = 1;
		for (int i = 0; i < 25000000; i++) {
			key = key * 1103515245 + 12345;
			count(counts, key >>> 14);
		}
		System.out.println(counts.size());
	}
}
