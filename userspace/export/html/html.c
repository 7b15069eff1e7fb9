/* SPDX-License-Identifier: BSD-2-Clause */
/* html.c: exports one page that shows a profile in any browser, without a network. */
/*
 * The page is page.html with one JSON object in it: the report, the call tree with the cost
 * of each node itself, and the times of these costs. Names come from the profile and may be
 * hostile: none can end the script or have a meaning outside its string.
 *
 *	report		the output of gcprof report --json --top 200
 *	names, modules, kinds	of each function; two letters: native, managed or kernel; program,
 *			collector (g) or compiler (j)
 *	parent, name	by node of the call tree, callers first: its caller, node 0 being the total;
 *			its function, or -n: n functions merged, with all that they call
 *	self		by measure (CPU, allocated, collection time caused, system calls, off the
 *			CPU, survived, alive at the end), then by node: its own cost, ns or bytes
 *	share		calls below this share of every total were merged; 0: none
 *	step_ns, moments	windows: for each measure with known times the start of each window
 *			in the other two arrays, nodes, and their cost in it. Measures from 7 on are
 *			the classes of `survived`, by the time of allocation
 *	survived	the least number of collections that the objects of each class survived
 *	heaps_end_ns	when the last process with collections ended
 *	rows		of tables: types, system calls, waits, wakers, threads; ROWS_MAX of each
 *	row_step_ns, row_moments	as above, for columns and numbers of `rows`
 *	pauses, pauses_count, slow_calls, calls_count	the longest, and how many there were
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../model/rows/functions.h"
#include "../../model/world/world.h"
#include "../../report/report.h"
#include "../../util/map.h"
#include "../export.h"
#include "../output.h"
#include "html.h"

enum {
	ROWS_MAX = 200,      /* of each table */
	MOMENTS_MAX = 500000 /* about 7 MB */
};

/* page.html, zero-terminated. */
__asm__(".pushsection .rodata\n"
	".globl html_page\n"
	".hidden html_page\n"
	"html_page:\n"
	".incbin \"userspace/export/html/page.html\"\n"
	".byte 0\n"
	".popsection\n");
extern const char html_page[];

static const char data_mark[] = "@DATA@";

struct html_job {
	struct export_job job; /* must be first */
	struct call_builder builder;
	struct call_tree calls;
	struct call_moments moments;
	struct html_spans spans;
	struct survivors survivors;
};

static json_t *make_report(const struct model *model)
{
	const struct report_options options = {.top = ROWS_MAX};
	return report_object(model, &options);
}

/* --- call tree ----------------------------------------------------------------- */

struct names {
	struct map *index; /* {name, module} -> 1 + number */
	uint32_t *numbers; /* by node */
	json_t *names, *modules, *kinds;
};

static int name_node(struct names *names, uint32_t number, const struct call_node *node)
{
	const char *const key[] = {node->name, node->module};
	const char kind[] = {"  nmk"[node->runtime <= RUNTIME_KERNEL ? node->runtime + 1 : 0],
			     "pgj"[node->work < WORKS ? node->work : 0], 0};
	uint64_t *place = map_put(names->index, key, NULL);

	if (!place)
		return -ENOMEM;
	if (!*place) {
		*place = json_array_size(names->names) + 1;
		if (json_array_append_new(names->names, json_string(node->name)) ||
		    json_array_append_new(names->modules,
					  json_string(node->module ? node->module : "")) ||
		    json_array_append_new(names->kinds, json_string(kind)))
			return -ENOMEM;
	}
	names->numbers[number] = (uint32_t)*place - 1;
	return 0;
}

static int name_nodes(struct names *names, const struct html_tree *tree,
		      const struct call_tree *calls, const char *no_stack)
{
	int err = 0;

	for (size_t i = 0; i < tree->count && !err; i++) {
		const struct html_node *node = &tree->nodes[i];
		const struct call_node other = {.name = i ? no_stack : "all"};

		if (!node->more)
			err = name_node(names, (uint32_t)i,
					node->source ? &calls->nodes[node->source] : &other);
	}
	return err;
}

static void put_column(struct output *output, const struct html_tree *tree, int measure)
{
	double rest = 0;

	output_text(output, measure ? ",\n[" : "[");
	for (size_t i = 0; i < tree->count; i++) {
		/* The rounding error is carried over to the next value, so sums remain correct. */
		double value = tree->nodes[i].self[measure] + rest, whole = floor(value + 0.5);

		if (tree->nodes[i].self[measure] <= 0)
			whole = 0;
		rest = tree->nodes[i].self[measure] > 0 ? value - whole : rest;
		output_text(output, i ? "," : "");
		output_rounded(output, whole);
	}
	output_text(output, "]");
}

static void put_nodes(struct output *output, const struct html_tree *tree,
		      const struct names *names)
{
	output_format(output, ",\n\"share\":%g,\n\"parent\":[", tree->share);
	for (size_t i = 0; i < tree->count; i++)
		output_format(output, "%s%u", i ? "," : "", tree->nodes[i].parent);
	output_text(output, "],\n\"name\":[");
	for (size_t i = 0; i < tree->count; i++)
		output_format(output, "%s%lld", i ? "," : "",
			      tree->nodes[i].more ? -(long long)tree->nodes[i].more
						  : (long long)names->numbers[i]);
	output_text(output, "],\n\"self\":[");
	for (int i = 0; i < CALLS_MEASURES; i++)
		put_column(output, tree, i);
	output_text(output, "]");
}

static int put_tree(struct output *output, const struct html_job *html,
		    const struct html_tree *tree)
{
	struct names names = {map_create(2 * sizeof(char *)),
			      calloc(tree->count + 1, sizeof(*names.numbers)), json_array(),
			      json_array(), json_array()};
	int err = -ENOMEM;

	if (names.index && names.numbers)
		err = name_nodes(&names, tree, &html->calls, functions_none(html->builder.model));
	err = html_put_value(output, "names", names.names) ? -ENOMEM : err;
	err = html_put_value(output, "modules", names.modules) ? -ENOMEM : err;
	err = html_put_value(output, "kinds", names.kinds) ? -ENOMEM : err;
	if (!err)
		put_nodes(output, tree, &names);
	map_free(names.index);
	free(names.numbers);
	return err;
}

/* The least number of collections in each class of survivors. */
static void put_classes(struct output *output)
{
	output_text(output, ",\n\"survived\":[");
	for (int i = 0; i < SURVIVOR_CLASSES; i++)
		output_format(output, "%s%u", i ? "," : "", (unsigned)survivor_classes[i]);
	output_text(output, "]");
}

/* The time, from the start, at which the last process with collections ended: it has no heap any
 * more. */
static void put_heaps_end(struct output *output, const struct world *world)
{
	const struct model_run *run = &world->model->run;
	uint64_t end = 0;

	for (uint64_t id = 1; id < world->tasks.threads.limit; id++) {
		const struct thread *thread = tasks_find_thread(&world->tasks, id);
		uint64_t time;

		if (!thread || !tasks_find_process(&world->tasks, thread->process)->pauses)
			continue;
		time = thread->ended && thread->end > run->start ? thread->end - run->start
								 : run->duration;
		end = time > end ? time : end;
	}
	output_text(output, ",\n\"heaps_end_ns\":");
	output_number(output, end);
}

/* --- the job ----------------------------------------------------------------------- */

static int write_page(struct html_job *html, const struct world *world)
{
	struct output *output = html->job.output;
	const char *mark = strstr(html_page, data_mark);
	struct html_tree tree;
	int err = html_tree_make(&html->calls, html->builder.model, &tree);

	if (!err) {
		call_moments_renumber(&html->moments, tree.numbers);
		call_moments_limit(&html->moments, MOMENTS_MAX);
		output_bytes(output, html_page, (size_t)(mark - html_page));
		output_text(output, "{");
		err = html_put_value(output, "!report", make_report(html->builder.model));
	}
	if (!err)
		err = put_tree(output, html, &tree);
	if (!err) {
		html_put_moments(output, "", &html->moments, NULL);
		put_classes(output);
		put_heaps_end(output, world);
		err = html_spans_put(&html->spans, world, output);
	}
	if (!err) {
		output_text(output, "}\n");
		output_text(output, mark + strlen(data_mark));
	}
	html_tree_free(&tree);
	return err;
}

static int take_survivor(void *context, const struct world *world,
			 const struct survived_object *object)
{
	struct html_job *html = context;
	int err = html_spans_survived(&html->spans, world, object);

	return err ? err
		   : call_moments_add_stack(&html->moments, world, object->time, object->stack,
					    CALLS_MEASURES + object->class, object->bytes);
}

static int look_on(struct model_observer *observer, const struct world *world,
		   const struct event *event)
{
	struct html_job *html = (struct html_job *)observer;
	struct model_observer *builder = &html->builder.observer;
	int err = builder->record(builder, world, event);

	err = err ? err : html_spans_record(&html->spans, world, event);
	return err ? err : survivors_record(&html->survivors, world, event);
}

static int finish(struct model_observer *observer, const struct world *world)
{
	struct html_job *html = (struct html_job *)observer;
	struct model_observer *builder = &html->builder.observer;
	int err = survivors_finish(&html->survivors, world);

	err = err ? err : builder->finish(builder, world);
	return err ? err : write_page(html, world);
}

static void free_job(struct export_job *job)
{
	struct html_job *html = (struct html_job *)job;

	call_tree_free(&html->calls);
	call_moments_free(&html->moments);
	html_spans_free(&html->spans);
	survivors_free(&html->survivors);
	free(html);
}

static int create(struct export_job **out)
{
	struct html_job *html = calloc(1, sizeof(*html));

	if (!html)
		return -ENOMEM;
	call_builder_init(&html->builder, CALLS_TREE, NULL, &html->calls);
	html->builder.moments = &html->moments;
	html->job.observer = (struct model_observer){look_on, finish, NULL};
	html->job.free = free_job;
	if (html_spans_init(&html->spans) < 0 ||
	    survivors_init(&html->survivors, take_survivor, html) < 0) {
		free_job(&html->job);
		return -ENOMEM;
	}
	*out = &html->job;
	return 0;
}

const struct exporter exporter_html = {
	.name = "html",
	.suffix = ".html",
	.mark = {-1, "<title>gcprof</title>"},
	.summary = "one page that opens in any browser, without a network",
	.create = create,
};

/* Less-than signs occur only in strings; escaped, they cannot end the script. */
static int put_piece(const char *text, size_t size, void *context)
{
	while (size) {
		const char *sign = memchr(text, '<', size);
		size_t plain = sign ? (size_t)(sign - text) : size;

		output_bytes(context, text, plain);
		if (sign)
			output_text(context, "\\u003c");
		plain += sign != NULL;
		text += plain;
		size -= plain;
	}
	return 0;
}

int html_put_value(struct output *output, const char *key, json_t *value)
{
	int err;

	output_format(output, "%s\"%s\":", *key == '!' ? "" : ",\n", key + (*key == '!'));
	err = value ? json_dump_callback(value, put_piece, output,
					 JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY |
						 JSON_REAL_PRECISION(9))
		    : -1;
	json_decref(value);
	return err ? -ENOMEM : 0;
}

/*
 * Writes one measure, starting at `first`: the start of each window, nodes, values. Returns
 * its end.
 */
static size_t put_part(struct output *output, const struct call_moments *moments, size_t first,
		       const char *const *names)
{
	const struct call_moment *items = moments->items;
	size_t end = first;
	uint32_t window = 0;

	output_format(output, "%s{\"measure\":", first ? ",\n" : "");
	if (names)
		output_format(output, "\"%s\"", names[items[first].measure]);
	else
		output_number(output, items[first].measure);
	output_text(output, ",\"begins\":[0");
	for (; end < moments->count && items[end].measure == items[first].measure; end++)
		for (; window < items[end].window; window++)
			output_format(output, ",%zu", end - first);
	output_format(output, ",%zu],\n\"node\":[", end - first);
	for (size_t i = first; i < end; i++)
		output_format(output, "%s%u", i > first ? "," : "", items[i].node);
	output_text(output, "],\n\"value\":[");
	for (size_t i = first; i < end; i++) {
		output_text(output, i > first ? "," : "");
		output_rounded(output, items[i].value);
	}
	output_text(output, "]}");
	return end;
}

void html_put_moments(struct output *output, const char *prefix, const struct call_moments *moments,
		      const char *const *names)
{
	output_format(output, ",\n\"%sstep_ns\":%llu,\n\"%smoments\":[", prefix,
		      (unsigned long long)(moments->step_ns ? moments->step_ns : 1), prefix);
	for (size_t i = 0; i < moments->count;)
		i = put_part(output, moments, i, names);
	output_text(output, "]");
}
