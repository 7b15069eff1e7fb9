/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_top_head.c: gcprof top: the lines above the table of a page. */
#include "cmd_top.h"

#include <stdarg.h>
#include <time.h>

#include "report/units.h"

static double per_second(const struct model *model, double value)
{
	return model->run.wall ? value * 1e9 / (double)model->run.wall : 0;
}

/* A part of the head; parts of a line are two spaces apart. */
struct head {
	FILE *out;
	int width, column, lines;
};

__attribute__((format(printf, 2, 3))) static void put_part(struct head *head, const char *format,
							   ...)
{
	char text[200];
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	size = size < (int)sizeof(text) ? size : (int)sizeof(text) - 1;
	if (head->column && head->column + 2 + size > head->width) {
		fputs("\n", head->out);
		head->column = 0;
		head->lines++;
	}
	head->column += fprintf(head->out, "%s%s", head->column ? "  " : "", text);
}

static void end_line(struct head *head)
{
	fputs("\n", head->out);
	head->column = 0;
	head->lines++;
}

static void put_title(const struct model *model, const struct head_subject *subject,
		      struct head *head)
{
	const struct model_run *run = &model->run;
	time_t at = (time_t)((run->realtime + run->duration) / 1000000000);
	char clock[16] = "";
	struct tm local;

	if (localtime_r(&at, &local))
		strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	put_part(head, "%s  %.60s", clock,
		 run->command_line && *run->command_line ? run->command_line
		 : run->attached                         ? run->attached
							 : "the machine");
	put_part(head, "%s of %s%s%s", subject->table, unit_time((double)run->wall).text,
		 subject->order ? ", by " : "", subject->order ? subject->order : "");
	if (*subject->filter)
		put_part(head, "only %s", subject->filter);
	end_line(head);
}

static void put_figures(const struct model *model, struct head *head)
{
	const struct model_gc *gc = &model->gc;
	const struct model_cpu *cpu = &model->cpu;
	double wall = (double)model->run.wall, used = (double)cpu->on_cpu_ns;

	put_part(head, "CPU %.2f, collector %s", wall > 0 ? used / wall : 0,
		 unit_percent(used > 0 ? model_collector_ns(cpu) / used : 0).text);
	if (cpu->queue_known)
		put_part(head, "without a CPU %.2f", wall > 0 ? (double)cpu->queued_ns / wall : 0);
	put_part(head, "allocated %s/s",
		 unit_bytes(per_second(model, model->alloc.bytes.value)).text);
	put_part(head, "calls %s/s",
		 unit_count((uint64_t)per_second(model, (double)model->syscall_count)).text);
	if (model_gc_count(gc))
		put_part(head, "pauses %s, %s, longest %s", unit_count(model_gc_count(gc)).text,
			 unit_percent(wall > 0 ? model_gc_ns(gc) / wall : 0).text,
			 unit_time((double)(gc->minor.max_ns > gc->major.max_ns ? gc->minor.max_ns
										: gc->major.max_ns))
				 .text);
	end_line(head);
}

int head_print(const struct model *model, const struct head_subject *subject, int width, FILE *out)
{
	struct head head = {.out = out, .width = width};

	put_title(model, subject, &head);
	put_figures(model, &head);
	return head.lines;
}
