# SPDX-License-Identifier: BSD-2-Clause
"""hot.py SECONDS WAY: two parts of the same work, one three times as long, for so long on the CPU.

Prints which part of the CPU time of both the first has had, and the two lines of share().
"""
import asyncio
import sys
import threading
import time

LENGTH = 4000
spent = []  # of both parts, each time; threads can append at once


def leaf(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def one(depth):
    return one(depth - 1) if depth else leaf(3 * LENGTH)


def two(depth):
    return two(depth - 1) if depth else leaf(LENGTH)


def share(depth=5):
    begin = time.thread_time_ns()
    one(depth)
    middle = time.thread_time_ns()
    two(depth)
    spent.append((middle - begin, time.thread_time_ns() - middle))


def until(end):
    while time.process_time() < end:
        yield


def produce(end):
    for _ in until(end):
        yield share()


async def inner():
    share()


async def outer(end):
    for _ in until(end):
        await inner()
        await asyncio.sleep(0)


def run(way, end):
    if way == "threads":
        threads = [threading.Thread(target=run, args=("plain", end)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    elif way == "generators":
        for _ in produce(end):
            pass
    elif way == "coroutines":
        asyncio.run(outer(end))
    elif way == "deep":
        sys.setrecursionlimit(10000)
        for _ in until(end):
            share(2000)
    else:
        for _ in until(end):
            share()


if __name__ == "__main__":
    run(sys.argv[2], time.process_time() + float(sys.argv[1]))
    first = share.__code__.co_firstlineno
    print(sum(one for one, _ in spent) / sum(map(sum, spent)), first + 2, first + 4)
