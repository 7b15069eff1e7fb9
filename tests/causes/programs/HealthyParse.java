/* SPDX-License-Identifier: BSD-2-Clause */
/* HealthyParse.java: lines are split, and nothing of them is kept. */
import java.util.*;

class HealthyParse {
	static int parse(String line) {
		int sum = 0;
		for (String word : line.split(","))
			sum += Integer.parseInt(word);
		return sum;
	}

	public static void main(String[] args) {
		long sum = 0;
		List<String> lines = new ArrayList<>();
		for (int i = 0; i < 1000; i++)
			lines.add(i + "," + i * 2 + "," + i * 3 + "," + i % 7);
		for (int round = 0; round < 12000; round++)
			for (String line : lines)
				sum += parse(line);
		System.out.println(sum);
	}
}
