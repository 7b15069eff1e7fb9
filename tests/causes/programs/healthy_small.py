# SPDX-License-Identifier: BSD-2-Clause
"""healthy_small.py: writes a file and counts its words, as a script does."""
import collections

with open("words.txt", "w") as file:
    for i in range(250000):
        file.write(f"word{i % 700} of line {i} and more\n")
counts = collections.Counter()
with open("words.txt") as file:
    for line in file:
        counts.update(line.split()[:2])
print(len(counts), counts.most_common(3))
