# SPDX-License-Identifier: BSD-2-Clause
"""gil.py: four threads compute, one at a time."""
import threading


def crunch(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


threads = [threading.Thread(target=crunch, args=(5_000_000,)) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
