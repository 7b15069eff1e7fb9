/* SPDX-License-Identifier: BSD-2-Clause */
/* ListBoxes.java: numbers are summed by a list of Long. */
import java.util.ArrayList;
import java.util.List;

public class ListBoxes {
	static long total(int n) {
		List<Long> values = new ArrayList<>();
		for (long i = 0; i < n; i++)
			values.add(i * 1000);
		Long sum = 0L;
		for (Long value : values)
			sum += value;
		return sum;
	}

	public static void main(String[] arguments) {
		long sum = 0;
		for (int i = 0; i < 60; i++)
			sum += total(1000000);
		System.out.println(sum);
	}
}
