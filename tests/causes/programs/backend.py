# SPDX-License-Identifier: BSD-2-Clause
"""backend.py: each page asks a slow back end."""
import os
import socket
import time

listening = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    connection, _ = listening.accept()
    while connection.recv(100):
        time.sleep(0.04)
        connection.sendall(b"price 7")
    os._exit(0)
backend = socket.create_connection(listening.getsockname())


def fetch_price(item):
    backend.sendall(b"item %d" % item)
    return backend.recv(100)


for item in range(60):
    fetch_price(item)
backend.close()
os.wait()
