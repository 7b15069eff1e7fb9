/* SPDX-License-Identifier: BSD-2-Clause */
/* Client.java: a client waits for a server that takes 30 ms. */
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;

public class Client {
	private static final String SERVER =
		"import socket, time\n"
		+ "s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True)\n"
		+ "c, _ = s.accept()\n"
		+ "while c.recv(1): time.sleep(0.03); c.sendall(b'7')\n";

	static int ask(Socket socket, int question) throws IOException {
		socket.getOutputStream().write(question);
		return socket.getInputStream().read();
	}

	public static void main(String[] arguments) throws Exception {
		Process server = new ProcessBuilder("python3", "-c", SERVER).start();
		int port = 0, sum = 0;
		for (int digit; (digit = server.getInputStream().read()) > ' ';)
			port = port * 10 + digit - '0';
		try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
			for (int i = 0; i < 70; i++)
				sum += ask(socket, i);
		}
		server.waitFor();
		System.out.println(sum);
	}
}
