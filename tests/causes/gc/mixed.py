# SPDX-License-Identifier: BSD-2-Clause
# mixed.py: containers that live long, and cycles of containers that live for a while, so that full
# collections find them. mixed.py [nolive | nocycles]: without one of the two.
import sys

without = sys.argv[1] if len(sys.argv) > 1 else ''
live = []
recent = [None] * 3000


def keep(n):
    for i in range(n):
        live.append({'key': [i], 'other': (i, [i])})


def cycles(n):
    for i in range(n):
        node = []
        for j in range(9):
            node.append([node])
        recent[i % len(recent)] = node


for r in range(20):
    if without != 'nolive':
        keep(4000)
    if without != 'nocycles':
        cycles(8000)
