# SPDX-License-Identifier: BSD-2-Clause
"""commits.py: each row is a transaction of its own."""
import sqlite3
import time

db = sqlite3.connect("rows.db")
db.execute("create table if not exists rows (id integer)")


def insert(i):
    db.execute("insert into rows values (?)", (i,))
    db.commit()


end = time.time() + 3
i = 0
while time.time() < end:
    insert(i)
    i += 1
