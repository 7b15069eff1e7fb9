# SPDX-License-Identifier: BSD-2-Clause
"""allocates.py WAY COUNT: does little but allocate; prints its CPU time in ns for each turn.

It works in a hundred parts, and says what a turn took in the tenth best: others that use the machine
make most of them slower."""
import json
import sys
import time


class Node:
    __slots__ = ("left", "right")

    def __init__(self, left, right):
        self.left = left
        self.right = right


def tree(depth):
    return Node(tree(depth - 1), tree(depth - 1)) if depth else None


def trees(count):
    for _ in range(count):
        tree(10)


def lists(count):
    kept = [None] * 1000
    for i in range(count):
        kept[i % 1000] = [i, i + 1, i + 2]


def strings(count):
    for i in range(count):
        "%d and %d" % (i, i + 1)


def blocks(count):
    for i in range(count):
        bytes(100 + i % 400)


def large(count):
    for i in range(count):
        bytes(10000 + i % 10000)


def documents(count):
    text = json.dumps([{"id": i, "name": "name %d" % i, "tags": ["a", "b", str(i)]} for i in range(100)])
    for _ in range(count):
        json.dumps(json.loads(text))


if __name__ == "__main__":
    count = int(sys.argv[2])
    work = globals()[sys.argv[1]]
    work(count // 10)
    times = []
    for _ in range(100):
        begin = time.process_time_ns()
        work(count // 100)
        times.append((time.process_time_ns() - begin) / (count // 100))
    print(sorted(times)[10])
