/* SPDX-License-Identifier: BSD-2-Clause */
/* expire.c: drops old partitions from a ClickHouse server. */
/*
 * Each day is a partition; dropping one takes no time and works with every version. TTL needs 19.6.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "push.h"
#include "tables.h"

static int drop(struct http *http, const char *table, const char *day, struct http_problem *problem)
{
	struct buffer answer = {0};
	char sql[128];
	int err;

	snprintf(sql, sizeof(sql), "ALTER TABLE %s DROP PARTITION '%s'", table, day);
	err = http_query(http, sql, NULL, &answer, problem);
	buffer_free(&answer);
	return err;
}

static int expire_table(struct http *http, const char *table, uint64_t days, uint64_t *dropped,
			struct http_problem *problem)
{
	struct buffer answer = {0};
	uint64_t count = 0;
	char sql[320];
	int err;

	snprintf(
		sql, sizeof(sql),
		"SELECT DISTINCT partition FROM system.parts WHERE database = currentDatabase() AND"
		" table = '%s' AND active AND partition < toString(toDate(now()) - %" PRIu64
		") FORMAT TSV",
		table, days);
	err = http_query(http, sql, NULL, &answer, problem);
	for (char *day = err ? NULL : strtok(answer.data, "\n"); day && !err;
	     day = strtok(NULL, "\n")) {
		/* 2026-11-26 */
		if (strlen(day) != 10 || day[strspn(day, "0123456789-")])
			continue;
		err = drop(http, table, day, problem);
		count += !err;
	}
	buffer_free(&answer);
	*dropped = count > *dropped ? count : *dropped;
	return err;
}

int push_expire(struct http *http, uint64_t days, uint64_t *dropped, struct http_problem *problem)
{
	char name[64];
	int err = 0;

	/* On a cluster, those of the server that responds. */
	for (size_t i = 0; i < 2 * FLEET_TABLES && !err; i++) {
		const struct fleet_description *table = &fleet_tables[i / 2];

		snprintf(name, sizeof(name), "%s%s", table->name, i % 2 ? FLEET_LOCAL : "");
		if (table->once)
			err = expire_table(http, name, days, dropped, problem);
	}
	return err;
}
