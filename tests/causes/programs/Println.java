/* SPDX-License-Identifier: BSD-2-Clause */
/* Println.java: each line is written by itself. */
class Println {
	static void export(int rows) {
		for (int i = 0; i < rows; i++)
			System.out.println(i + ";" + i % 7);
	}

	public static void main(String[] args) {
		export(600_000);
	}
}
