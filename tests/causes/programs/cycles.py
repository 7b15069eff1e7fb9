# SPDX-License-Identifier: BSD-2-Clause
"""cycles.py: each request makes cycles that only the collector frees."""


class Node:
    def __init__(self, parent):
        self.parent = parent
        self.children = []


def build_tree(n):
    root = Node(None)
    for _ in range(n):
        root.children.append(Node(root))
    return root


kept = [build_tree(50) for _ in range(6000)]
for _ in range(12000):
    build_tree(50)
