/* SPDX-License-Identifier: BSD-2-Clause */
/* JucLock.java: four threads wait for one ReentrantLock. */
import java.util.concurrent.locks.ReentrantLock;

public class JucLock {
	private static final ReentrantLock lock = new ReentrantLock();
	private static long total;

	static void transfer(int value) throws InterruptedException {
		lock.lock();
		try {
			total += value;
			Thread.sleep(1);
		} finally {
			lock.unlock();
		}
	}

	public static void main(String[] arguments) throws Exception {
		Thread[] threads = new Thread[4];
		for (int i = 0; i < threads.length; i++) {
			threads[i] = new Thread(() -> {
				try {
					for (int j = 0; j < 500; j++)
						transfer(j);
				} catch (InterruptedException e) {
				}
			});
			threads[i].start();
		}
		for (Thread thread : threads)
			thread.join();
		System.out.println(total);
	}
}
