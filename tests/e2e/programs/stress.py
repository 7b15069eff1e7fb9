# SPDX-License-Identifier: BSD-2-Clause
"""stress.py MODE ROUNDS: what is hard for an interpreter, its walker and its agent; prints MODE and a
number that depends on its work alone."""
import gc
import os
import subprocess
import sys
import threading

MASK = (1 << 40) - 1


class Node:
    def __init__(self, left, right):
        self.left, self.right = left, right


def build(depth):
    return Node(build(depth - 1), build(depth - 1)) if depth else None


def count(node):
    return count(node.left) + count(node.right) + 1 if node else 0


def trees(rounds):
    return sum(count(build(8)) for _ in range(rounds))


def churn(rounds):
    """Blocks of all sizes that grow, shrink and go; types that come and go."""
    kept, total = [b""] * 500, 0
    for i in range(rounds):
        kind = type("T%d" % (i % 300), (dict,), {"at": i})
        thing = kind(a=[i] * (i % 700))
        thing["cycle"] = thing
        grown = bytearray(i % 5000)
        grown.extend(b"x" * (i * 7 % 3000))
        del grown[i % 100 :]
        kept[i % 500] = bytes(grown) + str(thing.at).encode()
        total += len(kept[i % 500]) + len(thing["a"])
    return total + gc.isenabled()


def threads(rounds):
    """Threads come and go, and free what others have allocated."""
    total, lock, boxes = [0], threading.Lock(), [[] for _ in range(8)]

    def work(number):
        for i in range(200):
            boxes[(number + i) % 8] = [Node(i, number) for _ in range(i % 50)]
        with lock:
            total[0] += trees(1)

    for _ in range(rounds):
        all_of = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in all_of:
            thread.start()
        for thread in all_of:
            thread.join()
    return total[0]


def generators(rounds):
    def inner(n):
        for i in range(n):
            try:
                yield {"i": i, "kept": [i] * 10}
            except ValueError:
                yield i

    def outer(n):
        yield from inner(n)

    async def waits(n):
        return n if n < 1 else await waits(n - 1) + 1

    total = 0
    for i in range(rounds):
        open_one = outer(20)
        next(open_one)
        total += open_one.throw(ValueError) + sum(item["i"] for item in outer(30))
        routine = waits(100)
        try:
            routine.send(None)
        except StopIteration as end:
            total += end.value
    return total


def recursion(rounds):
    def deep(n):
        return deep(n + 1)

    def sort_deep(n):
        return sorted([n], key=lambda x: sort_deep(n - 1) if n else x)[0]

    total = 0
    for _ in range(rounds):
        try:
            deep(0)
        except RecursionError:
            total += 1
        total += sort_deep(30)
    return total


def interpreters(rounds):
    """Some have a lock of their own; all go while threads of the main one run."""
    try:
        try:
            import _interpreters as api
        except ImportError:
            import _xxsubinterpreters as api
    except ImportError:
        return 0
    code = "x = [bytes(i % 900) for i in range(20000)]; y = {str(i): [i] for i in range(3000)}; del x"

    def work():
        for _ in range(rounds):
            one = api.create()
            api.run_string(one, code)
            api.destroy(one)

    all_of = [threading.Thread(target=work) for _ in range(3)]
    for thread in all_of:
        thread.start()
    total = trees(rounds)
    for thread in all_of:
        thread.join()
    return total


def children(rounds):
    """Forked from a thread while others allocate, and started anew."""
    total, done = 0, threading.Event()

    def allocate():
        while not done.is_set():
            trees(1)

    other = threading.Thread(target=allocate)
    other.start()
    for i in range(rounds):
        pid = os.fork()
        if not pid:
            os._exit(churn(100) % 100)
        total += os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    done.set()
    other.join()
    code = "print(len([[i] for i in range(20000)]))"
    for _ in range(rounds // 10):
        total += int(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    return total


def execs(rounds):
    if rounds:
        trees(1)
        os.execv(sys.executable, [sys.executable, sys.argv[0], "execs", str(rounds - 1), *sys.argv[3:]])
    return trees(2)


if __name__ == "__main__":
    print(sys.argv[1], globals()[sys.argv[1]](int(sys.argv[2])) & MASK)
