# SPDX-License-Identifier: BSD-2-Clause
# cycles.py: lists that stay alive, garbage in cycles, and objects that are freed at once.
# cycles.py [nolive | nocycles]: without one of the first two.
import sys

without = sys.argv[1] if len(sys.argv) > 1 else ''
live = []


class Node:
    pass


def keep(n):
    for i in range(n):
        live.append([i])


def cycles(n):
    for i in range(n):
        a = Node()
        a.me = a


def acyclic(n):
    for i in range(n):
        a = [i]


for r in range(40):
    if without != 'nolive':
        keep(15000)
    if without != 'nocycles':
        cycles(15000)
    acyclic(50000)
