// SPDX-License-Identifier: BSD-2-Clause
// Shop.java: an HTTP server with a cache, and the clients that load it.

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;

// Shop serve [fixed]: prints its port, and answers until it is ended; `fixed`: it remembers no product.
// Shop ask PORT REQUESTS: two connections ask for one product after another, more than the server remembers.
// Shop both REQUESTS [fixed]: both in one process.
public class Shop {
	static final int KEPT = 20000;
	static boolean fixed;

	record Part(String name, int count) {
	}

	record Product(String title, List<Part> parts) {
	}

	static final Map<Integer, Product> known = new LinkedHashMap<>() {
		@Override
		protected boolean removeEldestEntry(Map.Entry<Integer, Product> eldest) {
			return size() > KEPT;
		}
	};

	static Product load(int number) {
		List<Part> parts = new ArrayList<>();

		for (int i = 0; i < 60; i++)
			parts.add(new Part("part " + (number + i), i));
		return new Product("Product " + number, parts);
	}

	static Product find(int number) {
		Product product;

		synchronized (known) {
			product = known.get(number);
		}
		if (product == null)
			product = load(number);
		if (!fixed)
			remember(number, product);
		return product;
	}

	static void remember(int number, Product product) {
		synchronized (known) {
			known.put(number, product);
		}
	}

	static void answer(HttpExchange exchange) throws IOException {
		Product product = find(Integer.parseInt(exchange.getRequestURI().getPath().substring(1)));
		byte[] body = (product.title + ": " + product.parts.size() + " parts\n").getBytes(StandardCharsets.UTF_8);

		exchange.sendResponseHeaders(200, body.length);
		exchange.getResponseBody().write(body);
		exchange.close();
	}

	static void ask(int port, int first, int requests) {
		try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
			OutputStream out = socket.getOutputStream();
			InputStream in = socket.getInputStream();
			byte[] buffer = new byte[65536];

			socket.setTcpNoDelay(true);
			for (int i = 0; i < requests; i++) {
				out.write(("GET /" + (first + i) + " HTTP/1.1\r\nHost: shop\r\n\r\n").getBytes());
				int last;
				do
					last = in.read(buffer);
				while (buffer[last - 1] != '\n' || buffer[last - 2] == '\r');
			}
		} catch (IOException e) {
			throw new UncheckedIOException(e);
		}
	}

	static int serve() throws IOException {
		HttpServer server;

		System.setProperty("sun.net.httpserver.nodelay", "true");
		server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
		server.createContext("/", Shop::answer);
		server.setExecutor(Executors.newFixedThreadPool(2));
		server.start();
		return server.getAddress().getPort();
	}

	static void ask(int port, int requests) throws InterruptedException {
		Thread other = new Thread(() -> ask(port, 1000000, requests));

		other.start();
		ask(port, 0, requests);
		other.join();
	}

	public static void main(String[] args) throws Exception {
		fixed = args[args.length - 1].equals("fixed");
		switch (args[0]) {
		case "serve" -> System.out.println(serve());
		case "ask" -> ask(Integer.parseInt(args[1]), Integer.parseInt(args[2]));
		default -> {
			ask(serve(), Integer.parseInt(args[1]));
			System.exit(0);
		}
		}
	}
}
