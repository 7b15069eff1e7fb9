# SPDX-License-Identifier: BSD-2-Clause
"""strptime.py: dates are read with strptime()."""
from datetime import datetime


def parse_rows(rows):
    total = 0
    for row in rows:
        total += datetime.strptime(row, "%Y-%m-%d %H:%M:%S").minute
    return total


rows = [f"2024-03-{i % 28 + 1:02} 12:{i % 60:02}:00" for i in range(200000)]
print(parse_rows(rows))
