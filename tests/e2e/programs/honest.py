# SPDX-License-Identifier: BSD-2-Clause
# honest.py: computes in two functions: honest.py SECONDS
import sys
import time


def add_up(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def make_lists(n):
    made = []
    for i in range(n):
        made.append([i])
    return len(made)


end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    add_up(40000)
    make_lists(10000)
