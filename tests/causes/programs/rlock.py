# SPDX-License-Identifier: BSD-2-Clause
"""rlock.py: threads wait for an RLock around a slow request."""
import threading
import time

lock = threading.RLock()


class Session:
    def request(self):
        with lock:
            time.sleep(0.004)


def work(session):
    for _ in range(150):
        session.request()


session = Session()
threads = [threading.Thread(target=work, args=(session,)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
