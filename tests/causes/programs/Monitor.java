/* SPDX-License-Identifier: BSD-2-Clause */
/* Monitor.java: four threads wait for one monitor. */
public class Monitor {
	private static long total;

	static class Ledger {
		synchronized void update(int value) throws InterruptedException {
			total += value;
			Thread.sleep(1);
		}
	}

	public static void main(String[] arguments) throws Exception {
		Ledger ledger = new Ledger();
		Thread[] threads = new Thread[4];
		for (int i = 0; i < threads.length; i++) {
			threads[i] = new Thread(() -> {
				try {
					for (int j = 0; j < 500; j++)
						ledger.update(j);
				} catch (InterruptedException e) {
				}
			}, "worker-" + i);
			threads[i].start();
		}
		for (Thread thread : threads)
			thread.join();
		System.out.println(total);
	}
}
