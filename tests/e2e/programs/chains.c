/* SPDX-License-Identifier: BSD-2-Clause */
/* chains.c: two managed functions, called from wherever somebody who means harm says. */
/*
 * chains CHAIN: the shadow stack is inner, middle, and then what CHAIN says.
 * The program has used the CPU, slept and told samples with it when it ends, and
 * prints how many of the latter two.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "provider/frame.h"
#include "provider/probe.h"
#include "provider/probe_args.h"

#define DEEP     100000 /* frames */
#define SAMPLES  200
#define SLEEPS   40
#define SPIN_NS  UINT64_C(400000000)
#define SLEEP_US 2000

static struct {
	struct gc_frame inner, middle, outer;
	struct gc_frame deep[DEEP];
} stack;
static struct gc_anchor anchor;

static uint64_t address(const void *of)
{
	return (uintptr_t)of;
}

static uint64_t wild_page(int protection)
{
	return address(mmap(NULL, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static uint64_t deep_chain(void)
{
	for (unsigned i = 0; i < DEEP; i++)
		stack.deep[i] = (struct gc_frame){
			.prev = i + 1 < DEEP ? address(&stack.deep[i + 1]) : 0, .code = 3, .pc = i};
	return address(stack.deep);
}

/* A caller at the end of what can be read: its head is there, the rest is not. */
static uint64_t edge(void)
{
	uint64_t pages = address(
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

	memset((void *)(uintptr_t)pages, 0, 8192);
	mprotect((void *)(uintptr_t)(pages + 4096), 4096, PROT_NONE);
	return pages + 4096 - 8;
}

/* What the middle one says its caller is. */
static uint64_t link_of(const char *chain)
{
	if (!strcmp(chain, "whole"))
		return address(&stack.outer);
	if (!strcmp(chain, "cycle"))
		return address(&stack.inner);
	if (!strcmp(chain, "self"))
		return address(&stack.middle);
	if (!strcmp(chain, "overlap"))
		return address(&stack.middle) + 8;
	if (!strcmp(chain, "unaligned"))
		return address(&stack.outer) + 4;
	if (!strcmp(chain, "kernel"))
		return UINT64_C(0xffffffff81000000);
	if (!strcmp(chain, "hole"))
		return UINT64_C(0x8000000000000000);
	if (!strcmp(chain, "last"))
		return UINT64_MAX - 7;
	if (!strcmp(chain, "forbidden"))
		return wild_page(PROT_NONE);
	if (!strcmp(chain, "absent"))
		return wild_page(PROT_READ);
	if (!strcmp(chain, "edge"))
		return edge();
	if (!strcmp(chain, "deep"))
		return deep_chain();
	return 1;
}

static void announce(void)
{
	static const char *const names[] = {"managed_inner", "managed_middle", "managed_outer"};

	for (unsigned i = 0; i < 3; i++)
		probe_code(&(struct probe_code){.code = i + 1, .name = names[i]});
	probe_type(&(struct probe_type){.type = 1, .name = "thing"});
	probe_thread(&(struct probe_thread){
		.heap = 1, .anchor = &anchor, .event = GCPROF_THREAD_ATTACH});
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

__attribute__((noinline)) static void spin(void)
{
	uint64_t end = now() + SPIN_NS;
	volatile unsigned sink = 0;

	while (now() < end)
		for (unsigned i = 0; i < 2000000; i++)
			sink += i;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	stack.outer = (struct gc_frame){.code = 3};
	stack.middle = (struct gc_frame){.prev = link_of(argv[1]), .code = 2};
	stack.inner = (struct gc_frame){.prev = address(&stack.middle), .code = 1};
	anchor.top = address(&stack.inner);
	announce();
	spin();
	for (unsigned i = 0; i < SLEEPS; i++)
		usleep(SLEEP_US);
	for (unsigned i = 0; i < SAMPLES; i++)
		probe_sample(&(struct probe_sample){.sample = i + 1,
						    .type = 1,
						    .size = 4096,
						    .period = 4096,
						    .kind = GCPROF_SAMPLE_NURSERY,
						    .anchor = &anchor});
	printf("%u samples, %u sleeps\n", SAMPLES, SLEEPS);
	return 0;
}
