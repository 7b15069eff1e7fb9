// SPDX-License-Identifier: BSD-2-Clause
// Parts.java: threads that wait for monitors, locks, work and collections; prints THREAD PART NS.
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.ReentrantLock;

public class Parts {
	static final int TIMES = 15, NAP_MS = 20;
	static final Object monitor = new Object();
	static final ReentrantLock lock = new ReentrantLock();
	static volatile Object sink;

	static void nap() {
		try {
			Thread.sleep(NAP_MS);
		} catch (InterruptedException e) {
			throw new IllegalStateException(e);
		}
	}

	static void say(String part, long ns) {
		System.out.println(Thread.currentThread().getName() + " " + part + " " + ns);
	}

	static void monitors() {
		long waited = 0, begin;
		for (int i = 0; i < TIMES; i++) {
			begin = System.nanoTime();
			synchronized (monitor) {
				waited += System.nanoTime() - begin;
				nap();
			}
		}
		say("lock", waited);
	}

	static void locks() {
		long waited = 0, begin;
		for (int i = 0; i < TIMES; i++) {
			begin = System.nanoTime();
			lock.lock();
			waited += System.nanoTime() - begin;
			nap();
			lock.unlock();
		}
		say("lock", waited);
	}

	public static void main(String[] arguments) throws Exception {
		ExecutorService pool = Executors.newFixedThreadPool(1, task -> new Thread(task, "pooled"));
		Runnable[] work = {Parts::monitors, Parts::monitors, Parts::locks, Parts::locks};
		Thread[] threads = new Thread[work.length];
		pool.submit(() -> sink = null).get();
		for (int i = 0; i < work.length; i++)
			(threads[i] = new Thread(work[i], "part-" + i)).start();
		for (Thread thread : threads)
			thread.join();
		pool.shutdown();
	}
}
