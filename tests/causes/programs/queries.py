# SPDX-License-Identifier: BSD-2-Clause
"""queries.py: one query for each row instead of a join."""
import sqlite3

db = sqlite3.connect("shop.db")
db.executescript("drop table if exists orders; drop table if exists items;"
                 "create table orders (id integer primary key); create table items (id integer primary key, orders integer, price integer);"
                 "create index by_order on items (orders);")
db.executemany("insert into orders values (?)", [(i,) for i in range(20000)])
db.executemany("insert into items values (?, ?, ?)", [(i, i % 20000, i % 100) for i in range(60000)])
db.commit()


def price_of(order):
    return db.execute("select sum(price) from items where orders = ?", (order,)).fetchone()[0]


total = 0
for _ in range(5):
    for (order,) in db.execute("select id from orders").fetchall():
        total += price_of(order)
print(total)
