/* SPDX-License-Identifier: BSD-2-Clause */
/* NumberFormats.java: a format is made and parsed for each price. */
import java.text.DecimalFormat;

public class NumberFormats {
	static String price(double value) {
		return new DecimalFormat("#,##0.00").format(value);
	}

	public static void main(String[] arguments) {
		long length = 0;
		for (int i = 0; i < 1300000; i++)
			length += price(i * 1.07).length();
		System.out.println(length);
	}
}
