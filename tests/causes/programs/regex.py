# SPDX-License-Identifier: BSD-2-Clause
"""regex.py: an expression is made, and compiled, for each line."""
import re


def has_user(line, user):
    return re.search(rf"^\[(\d+)-(\d+)\] (GET|PUT) /{user}(/[a-z]+)*$", line) is not None


found = 0
for i in range(7000):
    found += has_user(f"[12-11] GET /user{i}/profile", f"user{i}")
print(found)
