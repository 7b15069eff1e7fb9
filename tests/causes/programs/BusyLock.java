/* SPDX-License-Identifier: BSD-2-Clause */
/* BusyLock.java: threads compute in one synchronized method. */
import java.util.HashMap;
import java.util.Map;

public class BusyLock {
	private final Map<Integer, Integer> counts = new HashMap<>();

	synchronized void count(int key) {
		for (int i = 0; i < 300; i++)
			counts.merge((key + i) % 100, 1, Integer::sum);
	}

	public static void main(String[] arguments) throws Exception {
		BusyLock lock = new BusyLock();
		Thread[] threads = new Thread[6];
		for (int i = 0; i < threads.length; i++) {
			threads[i] = new Thread(() -> {
				for (int j = 0; j < 50000; j++)
					lock.count(j);
			});
			threads[i].start();
		}
		for (Thread thread : threads)
			thread.join();
		System.out.println(lock.counts.size());
	}
}
