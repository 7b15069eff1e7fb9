/* SPDX-License-Identifier: BSD-2-Clause */
/* model_figures.c: tests of rows.def: each figure is in every view, or is said to be unknown. */
#include <jansson.h>

#include "../../bpf/events.h"

#include "report/report.h"
#include "synthetic_app.h"

static const char *const row_keys[ROWS_END] = {
	[ROWS_program] = "programs",   [ROWS_thread] = "threads", [ROWS_entry] = "entries",
	[ROWS_function] = "functions", [ROWS_site] = "sites",     [ROWS_syscall] = "syscalls",
	[ROWS_wait] = "waits",
};

/* Is the figure null in every row? An estimate is an object of nulls. */
static bool is_unknown(const json_t *rows, const char *key)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const json_t *value = json_object_get(row, key);

		if (json_is_object(value))
			value = json_object_get(value, "estimate");
		if (!json_is_null(value))
			return false;
	}
	return true;
}

/* What needs a stream is unknown without it, and nothing else becomes so. */
static void check_stream(struct model *model, uint32_t stream)
{
	const struct report_options options = {0};
	uint32_t recorded = model->recorded;
	json_t *with = report_object(model, &options), *without;

	model->recorded &= ~(UINT32_C(1) << stream);
	without = report_object(model, &options);
	for (enum row_kind table = 0; table < ROWS_END; table++) {
		const json_t *rows = row_keys[table] ? json_object_get(with, row_keys[table])
						     : NULL;
		const json_t *fewer =
			json_object_get(without, row_keys[table] ? row_keys[table] : "");

		for (unsigned i = figure_tables[table].first; rows && i < figure_tables[table].end;
		     i++) {
			const struct figure *figure = &figure_list[i];
			bool needs = figure->needs & UINT32_C(1) << stream;

			if (figure->kind == FIGURE_SHOWN || figure->kind == FIGURE_REF)
				continue;
			if (is_unknown(fewer, figure->key) !=
			    (needs || is_unknown(rows, figure->key)))
				test_fail(__FILE__, __LINE__, "%s of %s without stream %u",
					  figure->key, row_keys[table], stream);
		}
	}
	json_decref(with);
	json_decref(without);
	model->recorded = recorded;
}

TEST(a_figure_is_unknown_without_a_stream_that_it_needs)
{
	struct app app;
	struct model *model;

	synthetic_app(&app, 40, true);
	model = synthetic_loaded(&app.synthetic, app.time);
	CHECK(model->recorded & UINT32_C(1) << STREAM_CPU);
	for (uint32_t stream = 1; stream < STREAM_END; stream++)
		check_stream(model, stream);
	synthetic_close(&app.synthetic, model);
}

TEST(each_sort_key_is_a_key_of_the_report_and_sorts_a_table)
{
	char keys[512], *rest = keys;
	size_t sorted = 0;

	for (unsigned i = 0; i < N_FIGURES; i++) {
		snprintf(keys, sizeof(keys), "%s", figure_list[i].sort);
		rest = keys;
		for (char *key; (key = strsep(&rest, " "));)
			if (*key && !report_order_exists(key))
				test_fail(__FILE__, __LINE__, "no key %s", key);
	}
	snprintf(keys, sizeof(keys), "%s", report_orders());
	rest = keys;
	for (char *key; (key = strsep(&rest, ", "));) {
		if (!*key || !strcmp(key, "or"))
			continue;
		for (enum row_kind table = 0; table < ROWS_END; table++)
			sorted += figure_sorted_by(table, key) != N_FIGURES;
		if (!sorted)
			test_fail(__FILE__, __LINE__, "nothing is sorted by %s", key);
		sorted = 0;
	}
}

TEST(keys_are_unique_within_a_table)
{
	for (enum row_kind table = 0; table < ROWS_END; table++)
		for (unsigned i = figure_tables[table].first; i < figure_tables[table].end; i++)
			for (unsigned j = figure_tables[table].first; j < i; j++)
				if (!strcmp(figure_list[i].key, figure_list[j].key))
					test_fail(__FILE__, __LINE__, "two %s", figure_list[i].key);
}
