# SPDX-License-Identifier: BSD-2-Clause
"""reopen.py: a log is opened and closed for each line."""


def log(i):
    with open("log.txt", "a") as file:
        file.write(f"line {i}\n")


for i in range(60000):
    log(i)
