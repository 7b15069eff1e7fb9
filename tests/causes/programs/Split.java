/* SPDX-License-Identifier: BSD-2-Clause */
/* Split.java: an expression is compiled for each line that is replaced. */
public class Split {
	static String clean(String line) {
		return line.replaceAll("[^a-z0-9]+(x|y|z)*", " ");
	}

	public static void main(String[] arguments) {
		long length = 0;
		for (int i = 0; i < 1500000; i++)
			length += clean("a-b").length();
		System.out.println(length);
	}
}
