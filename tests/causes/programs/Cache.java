/* SPDX-License-Identifier: BSD-2-Clause */
/* Cache.java: a cache keeps every answer. */
import java.util.HashMap;
import java.util.Map;

public class Cache {
	private static final Map<Integer, String> answers = new HashMap<>();

	static String answer(int question) {
		return answers.computeIfAbsent(question, q -> "the answer to question " + q + " is " + q * 7);
	}

	public static void main(String[] arguments) {
		long length = 0;
		for (int i = 0; i < 1400000; i++)
			length += answer(i).length();
		System.out.println(length);
	}
}
