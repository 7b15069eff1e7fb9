// SPDX-License-Identifier: BSD-2-Clause
// Large.java: allocates small objects and arrays that do not fit into a thread's buffer, and prints how much.
import java.lang.management.ManagementFactory;
import com.sun.management.ThreadMXBean;

public class Large {
	static Object last;

	public static void main(String[] arguments) {
		ThreadMXBean threads = (ThreadMXBean)ManagementFactory.getThreadMXBean();
		int rounds = Integer.parseInt(arguments[0]);

		for (int i = 0; i < rounds; i++) {
			last = new byte[100000 + i % 7 * 30000];
			for (int j = 0; j < 1000; j++)
				last = new int[20];
		}
		System.out.println(threads.getThreadAllocatedBytes(Thread.currentThread().getId()));
	}
}
