# SPDX-License-Identifier: BSD-2-Clause
"""gil.py SECONDS: three threads need the CPU for so long each, and one waits for a lock of its own.

Prints how long the three were off the CPU together, how long the fourth waited, and for how long of the first the
kernel had no CPU for them, in ns.
"""
import sys
import threading
import time

off = []
waited = []
queued = []


def spin(seconds):
    begin = time.monotonic_ns()
    while time.thread_time() < seconds:
        pass
    with open("/proc/thread-self/schedstat", encoding="ascii") as file:
        queued.append(int(file.read().split()[1]))
    off.append(time.monotonic_ns() - begin - time.thread_time_ns())


def wait(lock):
    begin = time.monotonic_ns()
    lock.acquire()
    waited.append(time.monotonic_ns() - begin)


lock = threading.Lock()
lock.acquire()
waiter = threading.Thread(target=wait, args=(lock,))
waiter.start()
threads = [threading.Thread(target=spin, args=(float(sys.argv[1]),)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
lock.release()
waiter.join()
print(sum(off), waited[0], sum(queued))
