/* SPDX-License-Identifier: BSD-2-Clause */
/* OutOfMemory.java: a list grows until the heap is full. */
import java.util.ArrayList;
import java.util.List;

public class OutOfMemory {
	static void collect(List<long[]> rows) {
		for (;;)
			rows.add(new long[64]);
	}

	public static void main(String[] arguments) {
		collect(new ArrayList<>());
	}
}
