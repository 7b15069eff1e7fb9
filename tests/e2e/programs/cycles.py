# SPDX-License-Identifier: BSD-2-Clause
"""cycles.py SECONDS: makes cycles of objects and collects them, some times at least, or until SIGTERM.

Prints, for the time from the first line to the last: CLOCK_MONOTONIC ns at its begin and end, and
as gc.callbacks have it how many collections of each generation there were, and unreachable objects.
"""
import gc
import signal
import sys
import time

counts = [0, 0, 0]
unreachable = 0


def note(phase, info):
    global unreachable
    if phase == "stop":
        counts[info["generation"]] += 1
        unreachable += info["collected"] + info["uncollectable"]


class Node:
    pass


def make(n):
    for _ in range(n):
        a, b = Node(), Node()
        a.other, b.other = b, a


end = time.monotonic_ns() + float(sys.argv[1]) * 1e9


def stop(number, frame):
    global end
    end = 0


signal.signal(signal.SIGTERM, stop)
gc.collect()
gc.callbacks.append(note)
begin = time.monotonic_ns()
while time.monotonic_ns() < end or counts[2] < 20:
    make(3000)
    gc.collect(1)
    gc.collect()
gc.disable()
print(begin, time.monotonic_ns(), *counts, unreachable, flush=True)
