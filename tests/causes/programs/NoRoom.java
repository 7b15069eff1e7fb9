/* SPDX-License-Identifier: BSD-2-Clause */
/* NoRoom.java: what lives all the time nearly fills the heap. */
import java.util.ArrayList;
import java.util.List;

public class NoRoom {
	private static final List<byte[]> index = new ArrayList<>();
	private static byte[] last;

	static void load() {
		for (int i = 0; i < 52 * 1024; i++)
			index.add(new byte[1000]);
	}

	static int request(int i) {
		last = new byte[2000 + i % 100];
		return last.length;
	}

	public static void main(String[] arguments) {
		long sum = 0, end = System.nanoTime() + 3_500_000_000L;
		load();
		for (int i = 0; System.nanoTime() < end; i++)
			sum += request(i);
		System.out.println(sum);
	}
}
