/* SPDX-License-Identifier: BSD-2-Clause */
/* Humongous.java: each request allocates a buffer larger than half of a region of G1. */
public class Humongous {
	private static byte[][] buffers = new byte[48][];

	static int receive(int i) {
		byte[] buffer = new byte[700 * 1024];
		buffer[i % buffer.length] = 1;
		buffers[i % buffers.length] = buffer;
		return buffer.length;
	}

	public static void main(String[] arguments) {
		long sum = 0, end = System.nanoTime() + 3_000_000_000L;
		for (int i = 0; System.nanoTime() < end; i++)
			sum += receive(i);
		System.out.println(sum);
	}
}
