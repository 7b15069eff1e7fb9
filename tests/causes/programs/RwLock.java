/* SPDX-License-Identifier: BSD-2-Clause */
/* RwLock.java: readers wait for a writer of a ReentrantReadWriteLock. */
import java.util.concurrent.locks.ReentrantReadWriteLock;

public class RwLock {
	private static final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
	private static long table;

	static long lookUp(int i) {
		lock.readLock().lock();
		try {
			return table + i;
		} finally {
			lock.readLock().unlock();
		}
	}

	static void rebuild() throws InterruptedException {
		lock.writeLock().lock();
		try {
			Thread.sleep(9);
			table++;
		} finally {
			lock.writeLock().unlock();
		}
	}

	public static void main(String[] arguments) throws Exception {
		Thread[] readers = new Thread[3];
		for (int i = 0; i < readers.length; i++) {
			readers[i] = new Thread(() -> {
				try {
					for (int j = 0; j < 180; j++) {
						lookUp(j);
						Thread.sleep(1);
					}
				} catch (InterruptedException e) {
				}
			});
			readers[i].start();
		}
		for (int i = 0; i < 200; i++) {
			rebuild();
			Thread.sleep(1);
		}
		for (Thread reader : readers)
			reader.join();
	}
}
