# SPDX-License-Identifier: BSD-2-Clause
"""concat.py: a list is copied for each element that is added."""


def collect(n):
    rows = []
    for i in range(n):
        rows = rows + [i]
    return rows


print(len(collect(32000)))
