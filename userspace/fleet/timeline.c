/* SPDX-License-Identifier: BSD-2-Clause */
/* timeline.c: figures of selected profiles of a fleet over time, summed by the ClickHouse server.
 */
#include "timeline.h"

#include <errno.h>
#include <inttypes.h>

#include "names.h"
#include "sums.h"

enum { HOUR = 3600 };

struct timeline_request {
	const struct where *where;
	uint64_t start, finish, step; /* s; windows begin at multiples of the step */
	bool hourly;                  /* hourly sums suffice */
};

static void range_sql(const void *context, FILE *out)
{
	const struct timeline_request *request = context;

	fputs("SELECT toUInt32(min(time)) AS start, toUInt32(max(time)) AS finish FROM samples "
	      "WHERE ",
	      out);
	where_print(request->where, "time", out);
}

/* Prints the number of the window that contains a time in seconds since 1970. */
static void print_window(const struct timeline_request *request, const char *time, FILE *out)
{
	fprintf(out,
		"intDiv(least(greatest(%s, %" PRIu64 "), %" PRIu64 ") - %" PRIu64 ", %" PRIu64 ")",
		time, request->start, request->finish, request->start, request->step);
}

static void print_samples(const struct timeline_request *request, FILE *out)
{
	const char *time = request->hourly ? "hour" : "time";

	fputs("SELECT toInt64(", out);
	print_window(request, request->hourly ? "toUInt32(hour)" : "toUInt32(time)", out);
	fprintf(out,
		") AS number, toFloat64(cpu_ns) AS cpu, alloc_bytes AS bytes, alloc_variance AS"
		" variance, alloc_observed AS observed, toFloat64(syscall_ns) AS calls,"
		" toFloat64(off_cpu_ns) AS waits, 0. AS n, 0. AS ns, 0. AS longest, 0. AS promoted"
		" FROM %s WHERE ",
		request->hourly ? "hourly" : "samples");
	where_print(request->where, time, out);
}

/* CPU time without samples is stored at the start of its profile, and spread over it here. */
static void print_rest(const struct timeline_request *request, FILE *out)
{
	uint64_t rest = fleet_rest_stack("(no samples)");

	fprintf(out, " AND stack != %" PRIu64 " UNION ALL SELECT toInt64(arrayJoin(range(", rest);
	fputs("toUInt64(last - first + 1))) + first), cpu / (last - first + 1), 0., 0., 0., 0., "
	      "0., 0., 0., "
	      "0., 0. FROM (SELECT cpu, ",
	      out);
	print_window(request, "toUInt32(time)", out);
	fputs(" AS first, ", out);
	print_window(request, "toUInt32(time) + intDiv(duration_ns, 1000000000)", out);
	fputs(" AS last FROM (SELECT profile, time, toFloat64(cpu_ns) AS cpu FROM samples WHERE ",
	      out);
	where_print(request->where, "time", out);
	fprintf(out,
		" AND stack = %" PRIu64
		") AS rest ANY INNER JOIN (SELECT profile, duration_ns FROM "
		"profiles) AS durations USING profile)",
		rest);
}

static void windows_sql(const void *context, FILE *out)
{
	const struct timeline_request *request = context;

	fprintf(out,
		"SELECT number * %" PRIu64 " + %" PRIu64 " AS time, sum(cpu) AS cpu_ns, sum(bytes)"
		" AS alloc_bytes, sum(variance) AS alloc_variance, sum(observed) AS alloc_observed,"
		" sum(calls) AS syscall_ns, sum(waits) AS off_cpu_ns, sum(n) AS pauses, sum(ns) AS"
		" pause_ns, max(longest) AS pause_max_ns, sum(promoted) AS promoted_bytes FROM (",
		request->step, request->start);
	print_samples(request, out);
	if (!request->hourly)
		print_rest(request, out);
	fputs(" UNION ALL SELECT toInt64(", out);
	print_window(request, "toUInt32(time)", out);
	fputs("), 0., 0., 0., 0., 0., 0., toFloat64(count), toFloat64(pause_ns),"
	      " toFloat64(max_ns), toFloat64(promoted_bytes) FROM pauses WHERE ",
	      out);
	where_print(request->where, "time", out);
	fputs(") GROUP BY number ORDER BY number", out);
}

/* The least round number of seconds that divides the range into few enough windows. */
static uint64_t choose_step(uint64_t seconds)
{
	static const uint32_t steps[] = {1,        2,        5,        10,       15,       30,
					 60,       2 * 60,   5 * 60,   10 * 60,  15 * 60,  30 * 60,
					 1 * HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR};
	uint64_t days = 1;

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		if (seconds / steps[i] + 2 <= FLEET_WINDOWS_MAX)
			return steps[i];
	while (seconds / (days * 24 * HOUR) + 2 > FLEET_WINDOWS_MAX)
		days++;
	return days * 24 * HOUR;
}

static int find_range(struct sums *sums, struct timeline_request *request)
{
	int err;
	json_t *answer = sums_ask(sums, range_sql, request, &err);
	const json_t *row = json_array_get(json_object_get(answer, "data"), 0);
	double start = json_number_value(json_object_get(row, "start"));
	double finish = json_number_value(json_object_get(row, "finish"));

	json_decref(answer);
	if (!err && !(start >= 0 && finish >= start && finish <= UINT32_MAX))
		err = -EBADMSG;
	if (err)
		return err;
	request->step = choose_step((uint64_t)finish - (uint64_t)start);
	request->finish = (uint64_t)finish;
	request->start = (uint64_t)start / request->step * request->step;
	request->hourly = request->where->hourly && request->step % HOUR == 0;
	return 0;
}

int fleet_timeline(struct http *http, const struct where *where, json_t **out,
		   struct http_problem *problem)
{
	struct timeline_request request = {where, 0, 0, 1, false};
	struct sums sums = {http, problem, {0}};
	json_t *answer = NULL, *rows, *row;
	uint64_t profiles = 0;
	size_t i;
	int err = sums_profiles(&sums, where, &profiles);

	err = err ? err : find_range(&sums, &request);
	if (!err)
		answer = sums_ask(&sums, windows_sql, &request, &err);
	sums_end(&sums);
	rows = json_object_get(answer, "data");
	json_array_foreach(rows, i, row)
	{
		sums_put_bytes(row, "alloc", "alloc_bytes", "alloc_variance", "alloc_observed");
		json_object_del(row, "alloc_bytes");
		sums_round(row);
	}
	if (!err)
		*out = json_pack("{s:I, s:I, s:O}", "profiles", (json_int_t)profiles, "step_ns",
				 (json_int_t)(request.step * 1000000000), "windows", rows);
	json_decref(answer);
	return err ? err : *out ? 0 : -ENOMEM;
}
