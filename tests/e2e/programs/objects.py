# SPDX-License-Identifier: BSD-2-Clause
"""objects.py COUNT [WAY]: allocates known amounts in known functions; prints them as JSON.

Its last Stays are alive when it ends. WAY: fork, or a start method of multiprocessing: a child does
the same.
"""
import itertools
import json
import multiprocessing
import os
import sys


class Dies:
    __slots__ = ("a", "b")


class Stays:
    __slots__ = ("a", "b")


class Plain:
    def __init__(self, value):
        self.value = value


kept = []


def make_bytes(count):
    for _ in itertools.repeat(None, count):
        bytes(1000)


def make_buffers(count):
    for _ in itertools.repeat(None, count):
        [None] * 100


def make_dying(count):
    for _ in itertools.repeat(None, count):
        Dies()


def make_plain(count):
    for _ in itertools.repeat(None, count):
        Plain(None)


def make_staying(count):
    for _ in itertools.repeat(None, count):
        kept.append(Stays())


def work(count):
    for _ in range(100):
        make_bytes(count // 100)
        make_buffers(count // 100)
        make_dying(count // 100)
        make_plain(count // 100)
        make_staying(count // 100)


def truth(count):
    kept.extend([Stays()])
    return {
        "bytes": count * sys.getsizeof(bytes(1000)),
        "buffer": count * 100 * 8,
        "Dies": count * sys.getsizeof(Dies()),
        "Stays": count * sys.getsizeof(kept[-1]),
    }


if __name__ == "__main__":
    count = int(sys.argv[1])
    way = sys.argv[2] if len(sys.argv) > 2 else None
    if way == "fork" and os.fork() == 0:
        work(count)
        os._exit(0)
    elif way == "fork":
        os.wait()
    elif way:
        process = multiprocessing.get_context(way).Process(target=work, args=(count,))
        process.start()
        process.join()
    work(count)
    print(json.dumps(truth(count)), flush=True)
