# SPDX-License-Identifier: BSD-2-Clause
"""flush.py: each line is flushed."""


def log(file, i):
    print("line", i, file=file, flush=True)


with open("log.txt", "w") as file:
    for i in range(500000):
        log(file, i)
