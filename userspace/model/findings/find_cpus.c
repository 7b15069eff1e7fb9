/* SPDX-License-Identifier: BSD-2-Clause */
/* find_cpus.c: time without a CPU. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/units.h"
#include "../traits.h"
#include "finding.h"

#define QUEUED_MIN_NS 200e6
#define QUOTA_MIN     0.1 /* of the time without a CPU */
#define THREADS_MANY  1.5 /* for each CPU */
#define COMPILER_MIN  0.4 /* of the CPU time */

/* Threads that a runtime starts for itself, one for each CPU. */
static bool is_of_runtime(const char *thread)
{
	static const char *const names[] = {
#define THREAD(begin) begin,
#include "../../runtimes/reports.def"
	};

	for (size_t i = 0; thread && i < sizeof(names) / sizeof(*names); i++)
		if (strncmp(thread, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* Threads that compute: with a quarter of the busiest one's CPU time or more. */
static uint64_t busy_threads(const struct model *model)
{
	double most = 0;
	uint64_t count = 0;

	for (size_t i = 0; i < model->n_threads; i++)
		most = fmax(most, model->threads[i].cpu_ns);
	for (size_t i = 0; i < model->n_threads; i++)
		count += model->threads[i].cpu_ns > 0 && model->threads[i].cpu_ns >= most / 4 &&
			 !is_of_runtime(model->threads[i].name);
	return count;
}

struct queue {
	double queued_ns, wanted_ns, cpus;
	uint64_t threads;
	bool quota; /* a good part of it is for the quota of their control group */
	bool own;   /* alone on the machine, its threads would not all have a CPU either */
};

/* Did threads wait for a CPU for long? */
static bool find_queue(const struct evidence *evidence, struct queue *queue)
{
	const struct model *model = evidence->model;
	double queued = (double)model->cpu.queued_ns;

	*queue = (struct queue){
		.queued_ns = queued,
		.wanted_ns = queued + (double)model->cpu.on_cpu_ns,
		.cpus = model->run.cpus && !model->run.files ? strtod(model->run.cpus, NULL) : 0,
		.threads = busy_threads(model)};
	queue->quota = (double)model->cpu.quota_ns > QUOTA_MIN * queued;
	queue->own = !queue->quota && queue->cpus >= 1 &&
		     (double)queue->threads > THREADS_MANY * queue->cpus &&
		     queue->wanted_ns > 1.5 * queue->cpus * (double)model->run.wall;
	return queued >= QUEUED_MIN_NS && queued >= 0.25 * queue->wanted_ns;
}

static void write_queue(struct candidate *out, const struct queue *queue)
{
	out->lost_ns = queue->queued_ns;
	fprintf(out->text,
		"Threads were ready to run for %s but had no CPU, %s of the time in which they "
		"wanted one",
		unit_time(queue->queued_ns).text,
		unit_percent(queue->queued_ns / queue->wanted_ns).text);
	fprintf(out->command, "gcprof report --threads");
}

bool find_no_cpu(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	const struct model_cpu *cpu = &evidence->model->cpu;
	struct queue queue;

	if (n || !find_queue(evidence, &queue) || queue.own)
		return false;
	write_queue(out, &queue);
	if (queue.quota)
		fprintf(out->text, ": the CPU quota of their control group was used up for %s",
			unit_time((double)cpu->quota_ns).text);
	if (queue.quota && cpu->quota_milli_cpus)
		fprintf(out->text, " (%.3g CPUs)", (double)cpu->quota_milli_cpus / 1000);
	fprintf(out->text, ".");
	write_remedy(out, evidence,
		     queue.quota        ? TOPIC_QUOTA
		     : cpu->quota_known ? TOPIC_OTHERS
					: TOPIC_OTHERS_OR_QUOTA);
	return true;
}

bool find_own_threads(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	struct queue queue;

	if (n || !find_queue(evidence, &queue) || !queue.own)
		return false;
	write_queue(out, &queue);
	fprintf(out->text, ": %s threads compute on %.0f CPUs.", unit_count(queue.threads).text,
		queue.cpus);
	write_remedy(out, evidence, TOPIC_OWN_THREADS);
	return true;
}

/*
 * A compiler beside the program costs it nothing where CPUs are free. V8 compiles as much, but
 * programs are slower without that.
 */
bool find_compiling(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	const struct model_cpu *cpu = &evidence->model->cpu;
	double compiler = (double)cpu->work_ns[WORK_COMPILER];
	struct queue queue;

	if (n || !find_queue(evidence, &queue) || !has_trait(evidence->model, COMPILES_FIRST) ||
	    evidence->model->run.end_reason != END_EXITED ||
	    compiler < COMPILER_MIN * cpu_of(evidence))
		return false;
	out->lost_ns = compiler * queue.queued_ns / queue.wanted_ns;
	fprintf(out->text, "%s of the CPU time (%s) is the runtime's compiler",
		unit_percent(fmin(compiler / cpu_of(evidence), 1)).text, unit_time(compiler).text);
	fprintf(out->text, ", while threads were ready to run but had no CPU.");
	write_remedy(out, evidence, TOPIC_COMPILING);
	fprintf(out->command, "gcprof report --threads");
	return true;
}
