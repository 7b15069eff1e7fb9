# SPDX-License-Identifier: BSD-2-Clause
"""lines.py NAME A B <DUMP: of the CPU time with one of two lines of a function on the stack, A's part."""
import json
import sys

name, a, b = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
strings, frames, stacks, spent = {}, {}, {0: None}, {a: 0, b: 0}


def line_of(stack):
    while stack:
        parent, frame = stacks[stack]
        symbol = frames.get(frame)
        if symbol and strings.get(symbol["name"]) == name:
            return symbol["line"]
        stack = parent
    return None


samples = []
for record in map(json.loads, sys.stdin):
    kind = record["record"]
    if kind == "string":
        strings[record["id"]] = record["text"]
    elif kind == "symbol":
        frames[record["frame"]] = record
    elif kind == "stack":
        stacks[record["id"]] = record["parent"], record["frame"]
    elif kind == "cpu":
        samples.append(record["stack"])
for stack in samples:
    line = line_of(stack)
    if line in spent:
        spent[line] += 1
print(spent[a] / (spent[a] + spent[b]))
