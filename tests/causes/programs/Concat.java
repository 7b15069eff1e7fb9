/* SPDX-License-Identifier: BSD-2-Clause */
/* Concat.java: a text grows by += in a loop. */
public class Concat {
	static String join(int lines) {
		String text = "";
		for (int i = 0; i < lines; i++)
			text += "line " + i + "\n";
		return text;
	}

	public static void main(String[] arguments) {
		System.out.println(join(45000).length());
	}
}
