# SPDX-License-Identifier: BSD-2-Clause
"""not_a_number.py: words are told from numbers by an exception."""


def is_number(word):
    try:
        int(word)
        return True
    except ValueError:
        return False


print(sum(is_number(f"word{i % 1000}") for i in range(1200000)))
