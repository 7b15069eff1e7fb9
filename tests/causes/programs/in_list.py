# SPDX-License-Identifier: BSD-2-Clause
"""in_list.py: names are looked for in a list."""


def unique(names):
    seen = []
    for name in names:
        if name not in seen:
            seen.append(name)
    return seen


print(len(unique([f"name {i * 7 % 9000}" for i in range(14000)])))
