/* SPDX-License-Identifier: BSD-2-Clause */
/* Exceptions.java: words are told from numbers by an exception. */
public class Exceptions {
	static boolean isNumber(String word) {
		try {
			Integer.parseInt(word);
			return true;
		} catch (NumberFormatException e) {
			return false;
		}
	}

	static boolean nested(String word, int depth) {
		return depth > 0 ? nested(word, depth - 1) : isNumber(word);
	}

	public static void main(String[] arguments) {
		int numbers = 0;
		for (int i = 0; i < 900000; i++)
			numbers += nested("word" + i, 30) ? 1 : 0;
		System.out.println(numbers);
	}
}
