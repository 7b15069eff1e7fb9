/* SPDX-License-Identifier: BSD-2-Clause */
/* Finalizers.java: objects with finalize() live until a thread has run it. */
public class Finalizers {
	private static long closed;

	static class Handle {
		private final byte[] buffer = new byte[200];

		@SuppressWarnings("deprecation")
		@Override
		protected void finalize() {
			closed += buffer.length;
		}
	}

	static void open() {
		new Handle();
	}

	public static void main(String[] arguments) {
		for (int i = 0; i < 5000000; i++)
			open();
		System.out.println(closed);
	}
}
