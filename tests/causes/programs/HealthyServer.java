/* SPDX-License-Identifier: BSD-2-Clause */
/* HealthyServer.java: a server whose clients ask seldom; its answers are computed at once. */
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

public class HealthyServer {
	static void serve(Socket socket) {
		try (socket) {
			for (int b; (b = socket.getInputStream().read()) >= 0;)
				socket.getOutputStream().write(b * 7);
		} catch (IOException e) {
		}
	}

	public static void main(String[] arguments) throws Exception {
		ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
		Thread accepting = new Thread(() -> {
			try {
				for (;;) {
					Socket socket = server.accept();
					new Thread(() -> serve(socket)).start();
				}
			} catch (IOException e) {
			}
		});
		accepting.setDaemon(true);
		accepting.start();
		Process client = new ProcessBuilder("python3", "-c",
			"import socket, time\nc = socket.create_connection(('127.0.0.1', " + server.getLocalPort() +
				"))\nfor i in range(20):\n    c.sendall(b'x'); c.recv(1); time.sleep(0.1)").start();
		client.waitFor();
		server.close();
	}
}
