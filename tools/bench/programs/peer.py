# SPDX-License-Identifier: BSD-2-Clause
# peer.py: the programs of protocol.h for PyPy.
import sys
import threading
import time


class Node:
    __slots__ = ("left", "right", "i", "j")

    def __init__(self, left=None, right=None):
        self.left = left
        self.right = right
        self.i = 0
        self.j = 0


def populate(depth, node):
    if depth <= 0:
        return
    node.left = Node()
    node.right = Node()
    populate(depth - 1, node.left)
    populate(depth - 1, node.right)


def make_tree(depth):
    if depth <= 0:
        return Node()
    return Node(make_tree(depth - 1), make_tree(depth - 1))


def count_nodes(node):
    return 1 + count_nodes(node.left) + count_nodes(node.right) if node else 0


def trees(depth):
    return 2 * ((1 << 19) - 1) // ((1 << (depth + 1)) - 1)


def gcbench():
    make_tree(18)
    long_lived = Node()
    populate(16, long_lived)
    array = [0.0] * 500000
    for i in range(1, len(array) // 2):
        array[i] = 1.0 / i
    for depth in range(4, 17, 2):
        for _ in range(trees(depth)):
            populate(depth, Node())
        for _ in range(trees(depth)):
            make_tree(depth)
    assert count_nodes(long_lived) == (2 << 16) - 1 and array[1000] == 1.0 / 1000


# Each object is stored: the tracing compiler leaves out one that only a rare path publishes.
# A pair lies in an object of 32 bytes or a little more.
def allocate_short():
    kept = [None, None]
    for i in range(20000000):
        kept[i & 1] = (i, kept)


def churn_thread():
    lengths = (1, 2, 3, 5, 7, 15, 63)
    ring = [None] * 256
    next_length = 0
    for i in range(4000000):
        words = [i] * lengths[next_length]
        if i & 63 == 0:
            ring[i // 64 % 256] = words
        next_length += 1
        if next_length == 7:
            next_length = 0


def churn(threads):
    others = [threading.Thread(target=churn_thread) for _ in range(threads - 1)]
    for other in others:
        other.start()
    churn_thread()
    for other in others:
        other.join()


work = {
    "gcbench": gcbench,
    "short": allocate_short,
    "churn": lambda: churn(int(sys.argv[3])),
}[sys.argv[1]]
for _ in range(int(sys.argv[2])):
    wall, cpu = time.monotonic(), time.process_time()
    work()
    print(int((time.monotonic() - wall) * 1e9), int((time.process_time() - cpu) * 1e9), flush=True)
