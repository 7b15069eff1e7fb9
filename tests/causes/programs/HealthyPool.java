/* SPDX-License-Identifier: BSD-2-Clause */
/* HealthyPool.java: a pool that waits for work most of the time. */
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

public class HealthyPool {
	public static void main(String[] arguments) throws Exception {
		ExecutorService pool = Executors.newFixedThreadPool(8);
		long[] sum = new long[1];
		for (int i = 0; i < 20; i++) {
			final int n = i;
			pool.submit(() -> {
				for (int j = 0; j < 1000; j++)
					sum[0] += j * n;
			});
			Thread.sleep(100);
		}
		pool.shutdown();
		System.out.println(sum[0]);
	}
}
