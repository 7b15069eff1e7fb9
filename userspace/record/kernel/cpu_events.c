/* SPDX-License-Identifier: BSD-2-Clause */
/* cpu_events.c: BPF programs at perf events of each CPU. */
#include "session.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../machine/clock.h"
#include "session_parts.h"

/* On a CPU, between two draws of periods. A draw restarts a timer, which costs half a tick. */
#define DRAW_TICKS 64

/* Ticks that are measured at the start, and their period. */
#define TRIAL_TICKS 15
#define TRIAL_NS    100000
#define TRIALS      3 /* at most, where others take the CPU meanwhile */

/* Where a loop that reads the clock finds this gap, another program ran or an interrupt. */
#define GAP_NS 500

struct cpu_event {
	const struct bpf_program *program;
	struct bpf_link *link;
	int fd; /* of the perf event; owned by the link */
};

struct cpu_events {
	int n_cpus;
	uint64_t random; /* state of the generator */
	size_t turn;     /* number of cpu_events_draw() calls */
	uint64_t drawn;  /* ns: time of the last draw */
	size_t count;
	struct cpu_event all[]; /* CPU_EVENTS_MAX entries per CPU */
};

struct cpu_events *cpu_events_create(int n_cpus)
{
	struct cpu_events *events = calloc(1, sizeof(*events) + (size_t)n_cpus * CPU_EVENTS_MAX *
									sizeof(events->all[0]));

	if (!events)
		return NULL;
	events->n_cpus = n_cpus;
	if (getrandom(&events->random, sizeof(events->random), GRND_NONBLOCK) < 0)
		events->random = clock_now();
	events->random |= 1;
	return events;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* The median gap in the time that this thread has while such a timer interrupts it; 0: it had too
 * little time. */
static uint64_t median_gap(void)
{
	uint64_t gaps[TRIAL_TICKS] = {0}, last = clock_now(),
		 end = last + 2 * TRIAL_TICKS * TRIAL_NS;
	size_t n = 0;

	while (n < TRIAL_TICKS && last < end) {
		uint64_t now = clock_now();

		if (now - last > GAP_NS)
			gaps[n++] = now - last;
		last = now;
	}
	qsort(gaps, n, sizeof(*gaps), compare);
	return n > TRIAL_TICKS / 2 ? gaps[n / 2] : 0;
}

double cpu_events_tick_ns(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = TRIAL_NS,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	uint64_t ns = 0;

	if (fd < 0)
		return 0;
	for (int attempt = 0; attempt < TRIALS && !ns; attempt++)
		ns = median_gap();
	close(fd);
	return (double)ns;
}

/* -ENODEV: the CPU is offline. */
static int attach_one(struct cpu_events *events, const struct bpf_program *program,
		      const struct perf_event_attr *attr, int cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	struct bpf_link *link;
	int err;

	if (fd < 0)
		return -errno;
	link = bpf_program__attach_perf_event(program, fd);
	if (link) {
		events->all[events->count++] = (struct cpu_event){program, link, fd};
		return 0;
	}
	err = -errno;
	close(fd);
	return err;
}

int cpu_events_attach(struct cpu_events *events, const struct bpf_program *program,
		      const struct perf_event_attr *attr)
{
	size_t before = events->count;
	int failed = 0;

	if (before + (size_t)events->n_cpus > (size_t)events->n_cpus * CPU_EVENTS_MAX)
		return -E2BIG;
	for (int cpu = 0; cpu < events->n_cpus; cpu++) {
		int err = attach_one(events, program, attr, cpu);

		if (err && err != -ENODEV)
			failed = err;
	}
	return events->count == before && !failed ? -ENODEV : failed;
}

static uint64_t next_random(struct cpu_events *events)
{
	uint64_t *random = &events->random;

	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

/*
 * The period of one of a CPU's timers, which together fire every `ns` on average. Their rates
 * deviate by up to a quarter; two timers have opposite deviations, so that the total rate is right
 * at any time. `seed` determines the deviation of each CPU and pair.
 */
static uint64_t period_of(uint64_t seed, size_t cpu, size_t timer, uint64_t ns)
{
	uint64_t mixed = (seed + cpu * CPU_TIMERS + timer / 2) * UINT64_C(0x9e3779b97f4a7c15);
	double far;

	mixed = (mixed ^ mixed >> 32) * UINT64_C(0xd6e8feb86659fd93);
	far = 0.25 * (double)((mixed ^ mixed >> 32) >> 11) / (double)(UINT64_C(1) << 53);
	return (uint64_t)((double)ns * CPU_TIMERS / (timer % 2 ? 1 + far : 1 - far));
}

int cpu_events_time(struct cpu_events *events, const struct bpf_program *program, uint64_t ns)
{
	uint64_t seed = next_random(events);
	int err = 0;

	for (size_t timer = 0; timer < CPU_TIMERS && !err; timer++) {
		const struct perf_event_attr attr = {
			.type = PERF_TYPE_SOFTWARE,
			.size = sizeof(attr),
			.config = PERF_COUNT_SW_CPU_CLOCK,
			.sample_period = period_of(seed, 0, timer, ns),
		};

		err = cpu_events_attach(events, program, &attr);
	}
	return err;
}

/* Draws periods for the pairs `first` to `last` on each CPU. A CPU that went offline may refuse,
 * and has no ticks. */
static void draw(struct cpu_events *events, const struct bpf_program *program, uint64_t ns,
		 size_t first, size_t last)
{
	uint64_t seed = next_random(events);
	size_t cpus = 0, at = 0;

	for (size_t i = 0; i < events->count; i++)
		cpus += events->all[i].program == program;
	cpus /= CPU_TIMERS;
	for (size_t i = 0; i < events->count; i++) {
		size_t timer;
		uint64_t period;

		if (events->all[i].program != program)
			continue;
		timer = at / cpus;
		period = period_of(seed, at++ % cpus, timer, ns);
		if (timer / 2 >= first && timer / 2 <= last)
			ioctl(events->all[i].fd, PERF_EVENT_IOC_PERIOD, &period);
	}
}

void cpu_events_period(struct cpu_events *events, const struct bpf_program *program, uint64_t ns)
{
	draw(events, program, ns, 0, CPU_TIMERS / 2 - 1);
}

void cpu_events_draw(struct cpu_events *events, const struct bpf_program *program, uint64_t ns)
{
	uint64_t now = clock_now();
	size_t pair;

	if (now < events->drawn + DRAW_TICKS * ns)
		return;
	events->drawn = now;
	pair = events->turn++ % (CPU_TIMERS / 2);
	draw(events, program, ns, pair, pair);
}

void cpu_events_enable(const struct cpu_events *events, bool on)
{
	for (size_t i = 0; i < events->count; i++)
		ioctl(events->all[i].fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

void cpu_events_free(struct cpu_events *events)
{
	if (!events)
		return;
	for (size_t i = 0; i < events->count; i++)
		bpf_link__destroy(events->all[i].link);
	free(events);
}
