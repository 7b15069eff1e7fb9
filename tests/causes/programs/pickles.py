# SPDX-License-Identifier: BSD-2-Clause
"""pickles.py: a table is sent to other processes with each task."""
from multiprocessing import Pool


def score(args):
    table, i = args
    return table[i]


if __name__ == "__main__":
    table = list(range(100000))
    with Pool(2) as pool:
        print(sum(pool.map(score, [(table, i) for i in range(150)], chunksize=1)))
