// SPDX-License-Identifier: BSD-2-Clause
import java.io.File;

// Told FILE CLASS [ARGUMENT...]: allocates, which a recorder sees, until there is the file, and then is the program
// of the class.
public class Told {
	static Object last;

	public static void main(String[] arguments) throws Exception {
		while (!new File(arguments[0]).exists()) {
			last = new byte[20000];
			Thread.sleep(5);
		}
		Class.forName(arguments[1]).getMethod("main", String[].class).invoke(null,
			(Object) java.util.Arrays.copyOfRange(arguments, 2, arguments.length));
	}
}
