/* SPDX-License-Identifier: BSD-2-Clause */
/* prepare_each.c: one query for each row, prepared anew. */
#include <sqlite3.h>
#include <stdio.h>

static sqlite3 *db;

static __attribute__((noinline)) int load_price(int item)
{
	sqlite3_stmt *statement;
	char query[100];
	int price = 0;

	snprintf(query, sizeof(query), "select price from items where id = %d", item);
	sqlite3_prepare_v2(db, query, -1, &statement, NULL);
	if (sqlite3_step(statement) == SQLITE_ROW)
		price = sqlite3_column_int(statement, 0);
	sqlite3_finalize(statement);
	return price;
}

int main(void)
{
	long sum = 0;

	sqlite3_open(":memory:", &db);
	sqlite3_exec(db,
		     "create table items (id integer primary key, price integer); with recursive "
		     "n(i) as "
		     "(select 1 union all select i + 1 from n where i < 5000) insert into items "
		     "select i, i * 7 from n",
		     NULL, NULL, NULL);
	for (int i = 0; i < 130000; i++)
		sum += load_price(i % 5000);
	printf("%ld\n", sum);
	return 0;
}
