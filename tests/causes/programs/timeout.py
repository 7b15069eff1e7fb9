# SPDX-License-Identifier: BSD-2-Clause
"""timeout.py: a client with a time limit waits for a slow server."""
import os
import socket
import time

listening = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    connection, _ = listening.accept()
    while connection.recv(100):
        time.sleep(0.03)
        connection.sendall(b"7")
    os._exit(0)
backend = socket.create_connection(listening.getsockname(), timeout=5)


def fetch_stock(item):
    backend.sendall(b"item %d" % item)
    return backend.recv(100)


for item in range(70):
    fetch_stock(item)
backend.close()
os.wait()
