/* SPDX-License-Identifier: BSD-2-Clause */
/* Log.java: each line is made durable. */
import java.io.FileOutputStream;
import java.io.IOException;

public class Log {
	static void append(FileOutputStream out, int i) throws IOException {
		out.write(("line " + i + "\n").getBytes());
		out.getFD().sync();
	}

	public static void main(String[] arguments) throws IOException {
		long end = System.nanoTime() + 2_500_000_000L;
		try (FileOutputStream out = new FileOutputStream("log")) {
			for (int i = 0; System.nanoTime() < end; i++)
				append(out, i);
		}
	}
}
