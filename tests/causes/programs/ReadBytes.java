/* SPDX-License-Identifier: BSD-2-Clause */
/* ReadBytes.java: a file is read byte by byte, without a buffer. */
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

public class ReadBytes {
	static long checksum(String name) throws IOException {
		long sum = 0;
		try (FileInputStream in = new FileInputStream(name)) {
			for (int b; (b = in.read()) >= 0;)
				sum = sum * 31 + b;
		}
		return sum;
	}

	public static void main(String[] arguments) throws IOException {
		Files.write(Path.of("bytes"), new byte[2_000_000]);
		System.out.println(checksum("bytes"));
	}
}
