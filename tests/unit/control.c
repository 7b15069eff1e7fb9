// SPDX-License-Identifier: BSD-2-Clause
/* control.c: tests of what programs that sample are asked for. */
#include <unistd.h>

#define STAP_SDT_ARG_CONSTRAINT nr
#include <sys/sdt.h>

#include "test.h"
#include "record/machine/clock.h"
#include "record/opener/opener.h"
#include "record/target/control.h"
#include "record/world/files.h"
#include "../../gc/provider/frame.h"

/* This program has a control block, as those with a collector have. */
struct gcprof_control gcprof_control = {
	.magic = GCPROF_CONTROL_MAGIC,
	.version = GCPROF_CONTROL_VERSION,
	.ceiling = 7,
};

static volatile struct gcprof_control *block(void)
{
	/* Blocks are looked for in files that have probes. */
	STAP_PROBE3(gcprof, period, (uint64_t)0, (uint64_t)0, (uint32_t)0);
	return &gcprof_control;
}

static struct opener *opener;

static struct files *files;

static void ignore(void *context, const struct event_mmap *mapping, uint64_t address)
{
	(void)context;
	(void)mapping;
	(void)address;
}

static struct control *control;

static void begin(void)
{
	CHECK_EQ(opener_create(true, &opener), 0);
	CHECK_EQ(files_create(opener, &files), 0);
	/* What a program that takes samples has mapped is known. */
	CHECK_EQ(control_search(files, (uint32_t)getpid(), clock_now() + 3000000000u, BLOCK_CONTROL,
				ignore, NULL),
		 0);
	CHECK_EQ(control_create(files, &control), 0);
}

/* Asks for a ceiling, which is in the program's memory afterwards. */
static void keep(uint64_t ceiling)
{
	control_keep(control, (uint32_t)getpid(), ceiling);
	CHECK(opener_settle(opener, UINT64_C(10000000000)));
}

static void end(void)
{
	control_free(control);
	files_free(files);
	opener_free(opener);
}

TEST(a_program_is_asked_once_for_each_ceiling_and_set_back)
{
	begin();
	CHECK_EQ(block()->generation, 0);
	keep(1000);
	CHECK_EQ(block()->ceiling, 1000);
	CHECK_EQ(block()->generation, 1);
	/* Another heap begins to sample: nothing new. */
	keep(1000);
	CHECK_EQ(block()->generation, 1);
	keep(500);
	CHECK_EQ(block()->ceiling, 500);
	CHECK_EQ(block()->generation, 2);
	end();
	CHECK_EQ(block()->ceiling, 7);
	CHECK_EQ(block()->period, 0);
	CHECK_EQ(block()->generation, 0);
}

TEST(what_was_set_back_can_be_asked_again)
{
	begin();
	keep(1000);
	control_restore(control);
	CHECK(opener_settle(opener, UINT64_C(10000000000)));
	CHECK_EQ(block()->ceiling, 7);
	keep(500);
	CHECK_EQ(block()->ceiling, 500);
	end();
	CHECK_EQ(block()->ceiling, 7);
}

TEST(what_the_program_changed_itself_is_left_alone)
{
	begin();
	keep(1000);
	CHECK_EQ(block()->ceiling, 1000);
	block()->ceiling = 33;
	block()->generation++;
	end();
	CHECK_EQ(block()->ceiling, 33);
}

TEST(processes_that_are_gone_or_never_were_do_no_harm)
{
	begin();
	for (uint32_t i = 0; i < 3000; i++)
		control_keep(control, UINT32_MAX - i, 1000);
	keep(500);
	CHECK_EQ(block()->ceiling, 500);
	end();
	control_free(NULL);
}
