/* SPDX-License-Identifier: BSD-2-Clause */
/* store_path.c: the path of an event into the profile, many times; e2e/instructions.bats counts its
 * instructions. */
/* Plain: the instructions are those without sanitizers. */
#include "store_rig.h"

enum { TIMES = 5000 };

/* Timer samples at 32 different stacks of eight frames. */
TEST(timer_samples_are_stored)
{
	struct stack_input in = {.n_user = 8};

	begin();
	send_mmap(1, 0x10000, 0x100000, 0, "/bin/program");
	for (uint64_t i = 0; i < TIMES; i++) {
		for (uint64_t depth = 0; depth < in.n_user; depth++)
			in.user[depth].ip = 0x10000 + (i % 32 >> depth) * 0x100 + depth;
		send_cpu(1, 100, &in);
	}
	CHECK_EQ(store_count(rig.store, STREAM_CPU), TIMES);
	CHECK_EQ(profile_writer_close(rig.writer), 0);
}

TEST(system_calls_are_stored)
{
	begin();
	for (uint64_t i = 0; i < TIMES; i++) {
		struct event_syscall *call = event(EVENT_syscall, sizeof(*call), 1, 100);

		call->stack.quality = STACK_USER_FAILED;
		call->duration = 1;
		call->number = (uint32_t)(i % 8);
		call->result = (int64_t)(i % 4096);
		call->args[0] = i;
		call->stands = 1;
		CHECK_EQ(send_event(), 0);
	}
	CHECK_EQ(store_count(rig.store, STREAM_SYSCALL), TIMES);
	CHECK_EQ(profile_writer_close(rig.writer), 0);
}
