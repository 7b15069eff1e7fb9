/* SPDX-License-Identifier: BSD-2-Clause */
/* Regex.java: String.matches() compiles its expression in each call. */
public class Regex {
	static boolean isAddress(String text) {
		return text.matches("[a-z0-9._]+@([a-z0-9]+[.])+[a-z]{2,4}");
	}

	public static void main(String[] arguments) {
		int valid = 0;
		for (int i = 0; i < 2500000; i++)
			if (isAddress("user" + i + "@example.com"))
				valid++;
		System.out.println(valid);
	}
}
