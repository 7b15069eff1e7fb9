/* SPDX-License-Identifier: BSD-2-Clause */
/* RemoveFirst.java: a queue is an ArrayList whose first element is taken. */
import java.util.ArrayList;

public class RemoveFirst {
	static long drain(ArrayList<Integer> queue) {
		long sum = 0;
		while (!queue.isEmpty())
			sum += queue.remove(0);
		return sum;
	}

	public static void main(String[] arguments) {
		ArrayList<Integer> queue = new ArrayList<>();
		for (int i = 0; i < 260000; i++)
			queue.add(i);
		System.out.println(drain(queue));
	}
}
