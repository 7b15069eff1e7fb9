// SPDX-License-Identifier: BSD-2-Clause
// Children.java: starts a command so many times, one after the other, and allocates in between.

public class Children {
	static long[] last;

	// Arguments: how many times; the command. Prints the sum of what the children have ended with.
	public static void main(String[] arguments) throws Exception {
		int rounds = Integer.parseInt(arguments[0]), sum = 0;
		String[] command = java.util.Arrays.copyOfRange(arguments, 1, arguments.length);

		for (int i = 0; i < rounds; i++) {
			for (int k = 0; k < 20000; k++)
				last = new long[125];
			sum += new ProcessBuilder(command).inheritIO().start().waitFor();
		}
		System.out.println("ended with " + sum);
	}
}
