# SPDX-License-Identifier: BSD-2-Clause
"""lock.py: four threads wait for one lock, which is held while a file is sent."""
import threading
import time

lock = threading.Lock()


def send_file():
    time.sleep(0.004)


def upload():
    with lock:
        send_file()


def serve():
    for _ in range(150):
        upload()


threads = [threading.Thread(target=serve) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
