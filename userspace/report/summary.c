/* SPDX-License-Identifier: BSD-2-Clause */
/* summary.c: what was recorded, and where the time went. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "../util/plural.h"
#include "bars.h"
#include "sections.h"
#include "../util/units.h"

enum { RUNTIMES_SHOWN = 20, PAUSES_SHOWN = 10 };

void section_end(const struct model *model, char *out, size_t size)
{
	const struct model_run *run = &model->run;
	int status = (int)run->status;

	if (model->state != PROFILE_COMPLETE)
		snprintf(out, size, "the end is missing");
	else if (run->end_reason == END_EXITED && WIFSIGNALED(status))
		snprintf(out, size, "killed by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else if (run->end_reason == END_EXITED)
		snprintf(out, size, "exit status %d", WEXITSTATUS(status));
	else if (run->end_reason == END_INTERRUPTED)
		snprintf(out, size, "recording interrupted");
	else if (run->end_reason == END_DURATION)
		snprintf(out, size, "recording ended after --duration");
	else if (run->end_reason == END_NEXT)
		snprintf(out, size, "continues in the next file");
	else if (run->end_reason == END_SNAPSHOT)
		snprintf(out, size, "a snapshot; the recording continued");
	else if (run->end_reason == END_MERGED)
		snprintf(out, size, "recorded in parts");
	else if (run->end_reason == END_GONE)
		snprintf(out, size, "recorded until it ended");
	else
		snprintf(out, size, "recording ended with an error");
}

/* Warns that the report covers only part of the recording. */
static void warn_partial(const struct section *section, const char *why)
{
	double duration = (double)section->model->run.duration;

	if (duration > 0)
		page_paragraph(section->page, STYLE_WARNING, 2,
			       "! %s This report covers the first %s.", why,
			       unit_time(duration).text);
	else
		page_paragraph(section->page, STYLE_WARNING, 2,
			       "! %s The part that exists has no event of the program.", why);
}

void section_state(const struct section *section)
{
	const struct model *model = section->model;

	if (model->state == PROFILE_DAMAGED)
		page_paragraph(section->page, STYLE_WARNING, 2,
			       "! This profile is damaged after byte %" PRIu64
			       ": this report covers the part before it.",
			       model->status.bytes);
	else if (model->state == PROFILE_LARGE)
		warn_partial(section,
			     "Only the beginning of this profile was read: all of it needs "
			     "more memory than GCPROF_MEMORY allows.");
	else if (model->state != PROFILE_COMPLETE)
		warn_partial(section,
			     "The end of this profile is missing: the recorder was killed, "
			     "or the file was cut off.");
}

static void print_merged(const struct section *section)
{
	const struct model_run *run = &section->model->run;
	const struct page *page = section->page;

	if (!run->files)
		return;
	page_paragraph(page, STYLE_PLAIN, 2,
		       "merged from %" PRIu64 " %s of %" PRIu64
		       " %s: times without a recording are left out (gcprof info)",
		       run->files, plural(run->files, "file[|s]").text, run->recordings,
		       plural(run->recordings, "recording[|s]").text);
	if (run->incomplete)
		page_paragraph(page, STYLE_WARNING, 2,
			       "! Of %" PRIu64 " of these files something is missing.",
			       run->incomplete);
	for (size_t i = 0; i < section->model->n_streams; i++)
		if (section->model->streams[i].partly)
			page_paragraph(page, STYLE_WARNING, 2, "! %s is %s",
				       section->model->streams[i].name,
				       section->model->streams[i].partly);
}

static void print_when(const struct section *section)
{
	const struct model_run *run = &section->model->run;
	char when[64] = "at an unknown time", end[96];
	time_t seconds = (time_t)(run->realtime / 1000000000);
	struct tm tm;

	if (run->realtime && gmtime_r(&seconds, &tm))
		strftime(when, sizeof(when), "on %Y-%m-%d at %H:%M:%S UTC", &tm);
	section_end(section->model, end, sizeof(end));
	page_paragraph(section->page, STYLE_PLAIN, 2, "%s%s%s; %s",
		       run->duration ? unit_time((double)run->duration).text : "",
		       run->duration ? " " : "", when, end);
	if (run->snapshot && !run->files)
		page_paragraph(section->page, STYLE_PLAIN, 2, "snapshot: %s", run->snapshot);
	if (run->host)
		page_paragraph(section->page, STYLE_PLAIN, 2, "host %s%s%s%s%s%s%s%s%s", run->host,
			       run->kernel ? ", kernel " : "", run->kernel ? run->kernel : "",
			       run->machine ? ", " : "", run->machine ? run->machine : "",
			       run->cpus ? ", CPUs " : "", run->cpus ? run->cpus : "",
			       run->tool ? "; " : "", run->tool ? run->tool : "");
}

static void print_pauses(const struct section *section)
{
	const struct model_run *run = &section->model->run;

	if (!run->paused_ns)
		return;
	page_paragraph(section->page, STYLE_PLAIN, 2,
		       "paused for %s of it: all figures are of the other %s",
		       unit_time((double)run->paused_ns).text,
		       unit_time((double)(run->duration - run->paused_ns)).text);
	for (size_t i = 0; i < run->n_paused && i < PAUSES_SHOWN; i++)
		page_paragraph(section->page, STYLE_PLAIN, 4, "from %s to %s%s",
			       unit_time((double)(run->paused[i].begin - run->start)).text,
			       unit_time((double)(run->paused[i].end - run->start)).text,
			       i + 1 == PAUSES_SHOWN && i + 1 < run->n_paused ? " and later" : "");
}

static void print_filter(const struct section *section)
{
	const struct model *model = section->model;

	page_paragraph(section->page, STYLE_WARNING, 2,
		       "selected: %s (waits: only those with their own records)", model->filter);
	if (model_selects_nothing(model))
		page_paragraph(section->page, STYLE_WARNING, 2,
			       "Nothing matches. Names are those of the full report; * stands for "
			       "any characters.");
}

static bool is_among(const struct model_runtime *row, const struct model_runtime *const *rows,
		     size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(rows[i]->name, row->name) == 0 &&
		    strcmp(rows[i]->version, row->version) == 0 &&
		    rows[i]->unsampled == row->unsampled &&
		    (!row->unsampled || (strcmp(rows[i]->program, row->program) == 0 &&
					 strcmp(rows[i]->note, row->note) == 0)))
			return true;
	return false;
}

static void print_runtime(const struct section *section, const struct model_runtime *row)
{
	if (row->unsampled)
		page_paragraph(section->page, STYLE_WARNING, 2,
			       "! %s did not sample the allocations of %s: %s", row->name,
			       row->program, row->note);
	else
		page_paragraph(section->page, STYLE_PLAIN, 2, "%s %s%s%s%s%s%s%s",
			       row->provider ? "provider" : "runtime", row->name,
			       *row->version ? " " : "", row->version, row->note ? ": " : "",
			       row->note ? row->note : "", row->names ? ". " : "",
			       row->names ? row->names : "");
}

/* Each runtime is printed once, even if several processes have it. */
static void print_runtimes(const struct section *section)
{
	const struct model *model = section->model;
	const struct model_runtime *shown[RUNTIMES_SHOWN];
	size_t n = 0;

	for (size_t i = 0; i < model->n_runtimes && n < RUNTIMES_SHOWN; i++) {
		const struct model_runtime *row = &model->runtimes[i];

		if (is_among(row, shown, n))
			continue;
		shown[n++] = row;
		print_runtime(section, row);
	}
}

static bool is_missing(const struct model_stream *stream)
{
	return !stream->attached && stream->why_not && !stream->option;
}

/* "not enabled: sched (--off-cpu), fault (--faults)" */
static void print_unasked_streams(const struct section *section)
{
	const struct model_stream *streams = section->model->streams;
	char text[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < section->model->n_streams; i++)
		if (streams[i].option && used < sizeof(text))
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s (%s)",
						 used ? ", " : "", streams[i].name,
						 streams[i].option);
	if (used)
		page_paragraph(section->page, STYLE_PLAIN, 2, "not enabled: %s", text);
}

/* Streams that are missing for the same reason are listed together. */
static void print_missing_streams(const struct section *section)
{
	const struct model_stream *streams = section->model->streams;
	size_t count = section->model->n_streams;

	for (size_t i = 0; i < count; i++) {
		char names[128] = "";
		size_t used = 0;
		bool told = false;

		if (!is_missing(&streams[i]))
			continue;
		for (size_t j = 0; j < count; j++) {
			if (!is_missing(&streams[j]) ||
			    strcmp(streams[j].why_not, streams[i].why_not) != 0)
				continue;
			told |= j < i;
			if (used < sizeof(names))
				used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
							 used ? ", " : "", streams[j].name);
		}
		if (!told)
			page_paragraph(section->page, STYLE_PLAIN, 2, "not recorded: %s (%s)",
				       names, streams[i].why_not);
	}
}

void section_command(const struct page *page, enum style style, int indent,
		     const struct model_run *run)
{
	page_line(page, style, indent,
		  *run->command_line ? run->command_line
				     : "a program that the profile does not name");
}

int section_head(const struct section *section)
{
	const struct model_run *run = &section->model->run;

	section_command(section->page, STYLE_HEADING, 0, run);
	/* With several processes, their names already replace the command. */
	if (run->attached && !(run->n_command == 1 && strcmp(run->command[0], run->attached) == 0))
		page_paragraph(section->page, STYLE_PLAIN, 2, "attached to %s", run->attached);
	section_state(section);
	print_when(section);
	print_pauses(section);
	print_merged(section);
	if (section->model->filter)
		print_filter(section);
	section_sampling(section);
	print_runtimes(section);
	print_missing_streams(section);
	print_unasked_streams(section);
	return 0;
}

static bool is_recorded(const struct section *section, const char *name)
{
	const struct model_stream *stream = section_stream(section, name);

	return stream && stream->attached;
}

/* Whether several programs ran, or one program in several processes. */
static bool several(const struct model *model)
{
	return model->n_programs > 1 || (model->n_programs && model->programs[0].processes > 1);
}

#define NO_SAMPLES_SHOWN 0.02 /* of CPU time; a smaller share may be chance */

#define QUEUED_SHOWN 0.02 /* of CPU time; a little is normal on any machine */

/* Describes the runtime's share of the CPU time. */
static void print_work(const struct model_cpu *cpu, FILE *out)
{
	double all = (double)cpu->on_cpu_ns, collector = cpu->collector_ns;
	double beside = fmax(collector - (double)cpu->in_gc_ns, 0),
	       compiler = (double)cpu->work_ns[WORK_COMPILER];

	if (collector > 0)
		fprintf(out, " Garbage collection took %s of CPU time (%s)%s%s%s.",
			unit_time(collector).text, unit_percent(collector / all).text,
			beside > 0 ? ", " : "", beside > 0 ? unit_time(beside).text : "",
			beside > 0 ? " of it on other threads or between pauses" : "");
	if (compiler > 0)
		fprintf(out, " Compilation took %s (%s).", unit_time(compiler).text,
			unit_percent(compiler / all).text);
}

static void print_cpu(const struct section *section, FILE *out)
{
	const struct model *model = section->model;
	double wall = (double)model->run.wall, cpu = (double)model->cpu.on_cpu_ns;

	if (!is_recorded(section, "cpu") || !model->run.frequency) {
		fprintf(out, "Wall time is %s; CPU time was not recorded.", unit_time(wall).text);
		return;
	}
	fprintf(out, "In %s, ", unit_time(wall).text);
	if (model->filter)
		fprintf(out, "%s of CPU time is selected", unit_time(cpu).text);
	else
		fprintf(out, "the program%s used %s of CPU time", several(model) ? "s" : "",
			unit_time(cpu).text);
	if (wall > 0)
		fprintf(out, " (%.2f CPUs on average", cpu / wall);
	if (wall > 0 && model->cpu.kernel_ns)
		fprintf(out, ", %s of it in the kernel",
			unit_percent((double)model->cpu.kernel_ns / cpu).text);
	if (wall > 0 && (double)model->cpu.no_samples_ns > NO_SAMPLES_SHOWN * cpu)
		fprintf(out,
			", %s without timer samples, mostly in the kernel with "
			"interrupts off",
			unit_percent((double)model->cpu.no_samples_ns / cpu).text);
	fprintf(out, wall > 0 ? ")." : ".");
	if ((double)model->cpu.queued_ns > QUEUED_SHOWN * cpu)
		fprintf(out, " Threads were ready to run but had no CPU for another %s.",
			unit_time((double)model->cpu.queued_ns).text);
	print_work(&model->cpu, out);
}

static void print_collections(const struct section *section, FILE *out)
{
	const struct model_gc *gc = &section->model->gc;
	uint64_t count = model_gc_count(gc);
	double pauses = model_gc_ns(gc);
	double wall = (double)section->model->run.wall;

	if (!is_recorded(section, "gc"))
		return;
	if (!count) {
		fprintf(out, section->model->filter ? " No collection is selected."
						    : " No collection began or ended.");
		return;
	}
	fprintf(out, " %s %spause%s", unit_count(count).text, gc->others.count ? "" : "collection ",
		plural(count, "[|s]").text);
	if (gc->processes > 1)
		fprintf(out, " in %s processes", unit_count(gc->processes).text);
	fprintf(out, " took %s", unit_time(pauses).text);
	/* Pauses of several processes overlap, so a share of wall time would be misleading. */
	if (gc->processes > 1)
		fprintf(out, " together");
	else if (wall > 0 && gc->overlap)
		fprintf(out,
			" in all threads; at least one was in progress for %s, %s of wall time",
			unit_time((double)gc->any_ns).text,
			unit_percent((double)gc->any_ns / wall).text);
	else if (wall > 0)
		fprintf(out, ", %s of wall time", unit_percent(pauses / wall).text);
	fprintf(out, ".");
}

static void print_cycles(const struct section *section, FILE *out)
{
	const struct model_pauses *cycles = &section->model->gc.concurrent;
	double wall = (double)section->model->run.wall;

	if (!cycles->count || wall <= 0)
		return;
	fprintf(out, " %s concurrent collection cycle%s took %s, %s of wall time.",
		unit_count(cycles->count).text, plural(cycles->count, "[|s]").text,
		unit_time((double)cycles->total_ns).text,
		unit_percent((double)cycles->total_ns / wall).text);
}

/* Does what was not sampled say something about all allocations? Only if a provider is known to
 * sample them, and no process is known to be without. */
static bool is_bounded(const struct model *model)
{
	bool provided = false;

	for (size_t i = 0; i < model->n_runtimes; i++) {
		if (model->runtimes[i].unsampled)
			return false;
		provided |= model->runtimes[i].provider > 0;
	}
	return provided;
}

static void print_allocation(const struct section *section, FILE *out)
{
	const struct model_alloc *alloc = &section->model->alloc;
	const struct estimate *bytes = &alloc->bytes;
	double wall = (double)section->model->run.wall;

	if (!is_recorded(section, "alloc"))
		return;
	if (!alloc->samples && section->model->filter) {
		fprintf(out, " No sampled allocation is selected.");
		return;
	}
	if (!alloc->samples) {
		fprintf(out, " No allocation was sampled");
		/* The period of a runtime's own sampler is unknown without samples. */
		if (bytes->high > 0 && is_bounded(section->model))
			fprintf(out, "; the total is likely less than %s",
				unit_bytes(bytes->high).text);
		fputc('.', out);
		return;
	}
	fprintf(out, " %s allocated %s (95 %% confidence: %s to %s)",
		several(section->model) ? "They" : "It", unit_bytes(bytes->value).text,
		unit_bytes(bytes->low).text, unit_bytes(bytes->high).text);
	if (wall > 0)
		fprintf(out, ", %s/s", unit_bytes(bytes->value / wall * 1e9).text);
	fprintf(out, ", about %s object%s.", unit_rough(alloc->objects.value).text,
		plural((uint64_t)ceil(alloc->objects.value), "[|s]").text);
}

/* An estimate with its interval; without a filter, also how long calls were traced. */
static void print_estimated_calls(const struct model *model, FILE *out)
{
	const struct model_tracing *tracing = &model->tracing;

	fprintf(out, " About %s system calls (95 %% confidence: %s to %s",
		unit_rough(tracing->count.value).text, unit_rough(tracing->count.low).text,
		unit_rough(tracing->count.high).text);
	if (!model->filter)
		fprintf(out, "; traced for %s of %s", unit_time((double)tracing->traced_ns).text,
			unit_time((double)tracing->traced_ns + (double)tracing->untraced_ns).text);
	fprintf(out, ") took about %s including waiting",
		unit_time((double)model->syscall_ns).text);
}

static void print_syscalls(const struct section *section, FILE *out)
{
	const struct model *model = section->model;
	const struct model_tracing *tracing = &model->tracing;

	if (!is_recorded(section, "syscall"))
		return;
	if (model_calls_unknown(model) && model->filter)
		fprintf(out, " The number of selected system calls is unknown");
	else if (model_calls_unknown(model))
		fprintf(out,
			" The number of system calls is unknown: none was made in the %s of %s in "
			"which they were traced",
			unit_time((double)tracing->traced_ns).text,
			unit_time((double)tracing->traced_ns + (double)tracing->untraced_ns).text);
	else if (tracing->estimated)
		print_estimated_calls(model, out);
	else
		fprintf(out, " %s system call%s took %s including waiting",
			unit_count(model->syscall_count).text,
			plural(model->syscall_count, "[|s]").text,
			unit_time((double)model->syscall_ns).text);
	if (tracing->gaps && !tracing->estimated && !model->filter)
		fprintf(out,
			" in the %s of %s in which they were traced (the profile allows no "
			"estimate of the rest)",
			unit_time((double)tracing->traced_ns).text,
			unit_time((double)tracing->traced_ns + (double)tracing->untraced_ns).text);
	if (model->syscall_gc_ns)
		fprintf(out, "; %s of that overlapped collections",
			unit_time((double)model->syscall_gc_ns).text);
	fprintf(out, ".");
}

enum { BAR_LABEL = 36, BAR_FIGURES = 20, BAR_MAX = 50 };

static void print_bar(const struct section *section, const char *label, double ns, double whole)
{
	/* On a narrow page first the bar goes, then the end of the label. */
	int spare = section->page->width - 2 - BAR_LABEL - BAR_FIGURES;
	int width = spare < -2 ? BAR_LABEL + spare + 2 : BAR_LABEL;
	char bar[BAR_SIZE(BAR_MAX)];

	width = width > 1 ? width : 1;

	if (ns < 1 || whole <= 0)
		return;
	bar_draw(ns / whole, spare < BAR_MAX ? spare : BAR_MAX, bar);
	fprintf(section->page->out, "  %-*.*s%8s  %6s%s%s\n", width, width - 1, label,
		unit_time(ns).text, unit_percent(ns / whole).text, *bar ? "  " : "", bar);
}

/*
 * Shares of the CPU time, or of the wall time if that is longer (one thread that waits at
 * times).
 */
void section_bars(const struct section *section)
{
	const struct model *model = section->model;
	double wall = (double)model->run.wall, cpu = (double)model->cpu.on_cpu_ns;
	double gc = model->cpu.collector_ns, own = (double)model->cpu.recording_ns;
	double compiler = (double)model->cpu.work_ns[WORK_COMPILER];
	double whole = fmax(wall, cpu);

	if (!is_recorded(section, "cpu") || cpu <= 0)
		return;
	print_bar(section, "program, on the CPU", cpu - gc - compiler - own, whole);
	print_bar(section, "collector, on the CPU", gc, whole);
	print_bar(section, "compiler, on the CPU", compiler, whole);
	print_bar(section, "gcprof's own BPF programs", own, whole);
	/* Only a filter by time could select waiting time. */
	if (!model->filter)
		print_bar(section, "off CPU: blocked or waiting to run", wall - cpu, whole);
}

int section_summary(const struct section *section)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return -ENOMEM;
	page_heading(section->page, "Where the time went");
	section_bars(section);
	print_cpu(section, out);
	print_collections(section, out);
	print_cycles(section, out);
	print_allocation(section, out);
	print_syscalls(section, out);
	section_write_time(section, out);
	return page_written(section->page, out, &text);
}
