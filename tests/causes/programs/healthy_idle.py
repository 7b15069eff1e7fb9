# SPDX-License-Identifier: BSD-2-Clause
"""healthy_idle.py: workers wait for a queue that has little work."""
import queue
import threading
import time

jobs = queue.Queue()


def work():
    while True:
        if jobs.get() is None:
            return


threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for i in range(20):
    jobs.put(i)
    time.sleep(0.1)
for _ in threads:
    jobs.put(None)
