/* SPDX-License-Identifier: BSD-2-Clause */
/* SystemGc.java: each request asks for a collection. */
import java.util.ArrayList;
import java.util.List;

public class SystemGc {
	private static final List<String> names = new ArrayList<>();

	static int request(int i) {
		names.add("name " + i);
		System.gc();
		return names.size();
	}

	public static void main(String[] arguments) {
		for (int i = 0; i < 300000; i++)
			names.add("first " + i);
		int sum = 0;
		for (int i = 0; i < 60; i++)
			sum += request(i);
		System.out.println(sum);
	}
}
