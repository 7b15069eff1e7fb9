/* SPDX-License-Identifier: BSD-2-Clause */
/* Formatter.java: a date format is built for each line. */
import java.text.SimpleDateFormat;
import java.util.Date;

public class Formatter {
	static String stamp(long time) {
		return new SimpleDateFormat("yyyy-MM-dd HH:mm:ss").format(new Date(time));
	}

	public static void main(String[] arguments) {
		long length = 0;
		for (int i = 0; i < 1200000; i++)
			length += stamp(i * 1000L).length();
		System.out.println(length);
	}
}
