// SPDX-License-Identifier: BSD-2-Clause
/* opener_memory.c: tests of the process that changes blocks in the memory of programs. */
/* Plain: workers have their limits only without sanitizers. */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "fuse_rig.h"
#include "opener_rig.h"
#include "test.h"
#include "reader/protocol.h"
#include "reader/remote_memory.h"
#include "reader/worker.h"
#include "record/machine/clock.h"
#include "record/opener/undo.h"
#include "record/world/snapshot.h"

static struct gcprof_control block = {
	.magic = GCPROF_CONTROL_MAGIC,
	.version = GCPROF_CONTROL_VERSION,
	.recorded = GCPROF_RECORDED_AT_START,
	.names = 3,
};

static const struct gcprof_control constant_block = {
	.magic = GCPROF_CONTROL_MAGIC,
	.version = GCPROF_CONTROL_VERSION,
};

static struct opener_result reach(struct opener *opener, const struct opener_memory *order)
{
	struct opener_result result = {.err = 1};

	CHECK_EQ(opener_memory(opener, order, keep_result, &result), 0);
	CHECK(opener_settle(opener, UINT64_C(10000000000)));
	return result;
}

static void note_mapping(void *context, struct event_mmap *event, const char *path)
{
	struct opener_memory *order = context;
	struct stat own;

	(void)path;
	CHECK(!stat("/proc/self/exe", &own));
	if (event->inode != own.st_ino)
		return;
	order->mapping = opener_mapping_of(event);
}

/* A request for the block of a process that is a copy of this one. */
static struct opener_memory order_for(pid_t pid, const struct gcprof_control *at)
{
	struct opener_memory order = {
		.pid = (uint32_t)pid,
		.address = (uintptr_t)at,
		.size = sizeof(block),
		.change = OPENER_JOIN,
		.request = {.recorder = (uint32_t)getpid(), .period = 100, .ceiling = 200},
	};

	CHECK_EQ(snapshot_mappings((uint32_t)pid, 0, note_mapping, &order), 0);
	CHECK(order.mapping.inode);
	return order;
}

/* The row of a recorder; NULL: it has none. */
static const struct gcprof_request *row_of(pid_t recorder)
{
	for (int i = 0; i < GCPROF_RECORDERS_MAX; i++)
		if (block.requests[i].recorder == (uint32_t)recorder)
			return &block.requests[i];
	return NULL;
}

TEST(recorders_come_and_go_in_any_order)
{
	struct opener *opener = begin();
	struct opener_memory order = order_for(getpid(), &block), other;
	struct opener_result result = reach(opener, &order);

	CHECK(!result.err && result.block.changed && result.block.started);
	CHECK_EQ(result.block.recorded, GCPROF_RECORDED_AT_START);
	CHECK(block.recorded == 1 && block.generation == 1 && block.names == 3);
	CHECK(row_of(getpid())->period == 100 && row_of(getpid())->ceiling == 200);
	order.started = result.block.started;
	/* Another one, which runs as well. */
	other = order;
	other.request.recorder = (uint32_t)getppid();
	other.request.period = 7;
	CHECK_EQ(reach(opener, &other).block.recorded, 1);
	CHECK(block.recorded == 2 && row_of(getppid())->period == 7);
	CHECK(row_of(getppid())->generation > row_of(getpid())->generation);
	/* The first one asks for something else, in the row that it has. */
	order.request.period = 50;
	CHECK(reach(opener, &order).block.changed && block.recorded == 2);
	CHECK(row_of(getpid())->period == 50 && row_of(getpid())->generation == 3);
	order.change = other.change = OPENER_LEAVE;
	CHECK(reach(opener, &order).block.changed);
	CHECK(block.recorded == 1 && !row_of(getpid()) && row_of(getppid())->period == 7);
	CHECK(!reach(opener, &order).block.changed);
	CHECK(reach(opener, &other).block.changed);
	CHECK(!block.recorded && block.generation == 5 && block.names == 3);
	end(opener);
}

TEST(rows_of_recorders_that_were_killed_are_freed)
{
	struct opener *opener = begin();
	struct opener_memory order = order_for(getpid(), &block);
	pid_t killed = fork();

	if (!killed)
		pause();
	order.request.recorder = (uint32_t)killed;
	CHECK(reach(opener, &order).block.changed && block.recorded == 1);
	/* A recorder in another pid namespace cannot be seen from here. */
	block.requests[5] = (struct gcprof_request){.recorder = (uint32_t)killed, .space = 1};
	kill(killed, SIGKILL);
	CHECK_EQ(waitpid(killed, NULL, 0), killed);
	order.request.recorder = (uint32_t)getpid();
	CHECK_EQ(reach(opener, &order).block.freed, 1);
	CHECK(block.recorded == 2 && block.requests[5].space == 1 && row_of(getpid()));
	/* Of a pid that somebody else has by now. */
	block.requests[6] = *row_of(getpid());
	block.requests[6].started--;
	order.change = OPENER_LEAVE;
	CHECK_EQ(reach(opener, &order).block.freed, 1);
	CHECK_EQ(block.recorded, 1);
	/* Where there is no room the oldest row of another namespace goes. */
	for (int i = 0; i < GCPROF_RECORDERS_MAX; i++)
		block.requests[i] = (struct gcprof_request){
			.recorder = 1, .space = 1, .generation = i == 4 ? 1 : 2};
	order.change = OPENER_JOIN;
	CHECK(reach(opener, &order).block.changed);
	CHECK(row_of(getpid()) == &block.requests[4] && block.recorded == 8);
	end(opener);
}

TEST(recorders_that_run_keep_their_rows_where_there_is_no_room)
{
	struct opener *opener = begin();
	struct opener_memory order = order_for(getpid(), &block);
	pid_t pids[GCPROF_RECORDERS_MAX];

	for (int i = 0; i < GCPROF_RECORDERS_MAX; i++) {
		pids[i] = fork();
		if (!pids[i])
			pause();
		order.request.recorder = (uint32_t)pids[i];
		CHECK(!reach(opener, &order).err && block.recorded == (uint32_t)i + 1);
	}
	order.request.recorder = (uint32_t)getpid();
	CHECK_EQ(reach(opener, &order).err, -EUSERS);
	CHECK(block.recorded == GCPROF_RECORDERS_MAX && row_of(pids[0]) && !row_of(getpid()));
	kill(pids[0], SIGKILL);
	CHECK_EQ(waitpid(pids[0], NULL, 0), pids[0]);
	CHECK_EQ(reach(opener, &order).block.freed, 1);
	CHECK(block.recorded == GCPROF_RECORDERS_MAX && row_of(getpid()));
	for (int i = 1; i < GCPROF_RECORDERS_MAX; i++) {
		kill(pids[i], SIGKILL);
		CHECK_EQ(waitpid(pids[i], NULL, 0), pids[i]);
	}
	end(opener);
}

/* Two recorders that write at the same time: none is lost. */
TEST(recorders_take_turns)
{
	enum { RECORDERS = 4, ROUNDS = 20 };
	pid_t pids[RECORDERS];

	for (int i = 0; i < RECORDERS; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		struct opener *opener = begin();
		struct opener_memory order = order_for(getppid(), &block);

		for (int round = 0; round < ROUNDS; round++) {
			order.request.recorder = (uint32_t)getpid();
			order.change = round % 2 ? OPENER_LEAVE : OPENER_JOIN;
			CHECK(reach(opener, &order).block.changed);
		}
		end(opener);
		_exit(0);
	}
	for (int i = 0; i < RECORDERS; i++) {
		int status = -1;

		CHECK_EQ(waitpid(pids[i], &status, 0), pids[i]);
		CHECK_EQ(status, 0);
	}
	CHECK(!block.recorded && block.generation == RECORDERS * ROUNDS);
}

/* Of a runtime: no block says what it is, only its value. */
static uint64_t variable = 7;
static const uint64_t constant = 7;

static struct opener_memory order_to_write(const void *at, uint64_t expected, uint64_t wanted)
{
	struct opener_memory order = order_for(getpid(), at);

	order.change = OPENER_WRITE;
	order.size = sizeof(expected);
	memcpy(&order.expected, &expected, sizeof(expected));
	memcpy(&order.wanted, &wanted, sizeof(wanted));
	return order;
}

TEST(variables_are_written_if_they_are_what_is_expected)
{
	struct opener *opener = begin();
	struct opener_memory order = order_to_write(&variable, 7, 0x1122334455667788);
	struct opener_result result;

	order.change = OPENER_CHECK;
	result = reach(opener, &order);
	CHECK(!result.err && !result.block.changed && variable == 7);
	CHECK(!memcmp(&result.block.before, &variable, sizeof(variable)));
	order.change = OPENER_WRITE;
	CHECK(reach(opener, &order).block.changed && variable == 0x1122334455667788);
	CHECK(!reach(opener, &order).block.changed);
	/* Only so many bytes. */
	order = order_to_write(&variable, 0x88, 0);
	order.size = 1;
	CHECK(reach(opener, &order).block.changed && variable == 0x1122334455667700);
	order.size = 9;
	CHECK_EQ(reach(opener, &order).err, -EINVAL);
	order.size = 0;
	CHECK_EQ(reach(opener, &order).err, -EINVAL);
	/* What the program itself cannot write to is none. */
	order = order_to_write(&constant, 7, 8);
	CHECK_EQ(reach(opener, &order).err, -ESTALE);
	CHECK_EQ(*(const volatile uint64_t *)&constant, 7);
	end(opener);
}

/* The file says where they are, and need not tell the truth. */
TEST(heaps_and_stacks_are_no_variables)
{
	struct opener *opener = begin();
	static uint64_t behind[4096]; /* .bss */
	uint64_t *heap = calloc(1, 8), on_stack = 0;
	uint64_t *mapped =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uint64_t *wrong[] = {heap, &on_stack, mapped};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct opener_memory order = order_to_write(wrong[i], 0, 1);

		CHECK_EQ(reach(opener, &order).err, -ESTALE);
		CHECK_EQ(*(const volatile uint64_t *)wrong[i], 0);
	}
	for (size_t i = 0; i < 4096; i += 512) {
		struct opener_memory order = order_to_write(&behind[i], 0, 1);

		CHECK(reach(opener, &order).block.changed && behind[i] == 1);
	}
	munmap(mapped, 4096);
	free(heap);
	end(opener);
}

/* What the opener itself does not do: it waits meanwhile. */
static void check_cpu_counts(int socket)
{
	struct remote_request request = {.address = (uintptr_t)&block, .size = sizeof(block)};
	uint64_t before = workers_cpu_ns();
	char answer[sizeof(struct remote_answer) + sizeof(block)];

	for (int i = 0; i < 1000000 && workers_cpu_ns() - before < 20000000; i++) {
		CHECK_EQ(send(socket, &request, sizeof(request), 0), sizeof(request));
		CHECK_EQ(recv(socket, answer, sizeof(answer), 0), sizeof(answer));
	}
	CHECK(workers_cpu_ns() - before >= 20000000);
}

TEST(memory_is_read_while_the_file_is_mapped)
{
	struct opener *opener = begin();
	struct opener_memory order = order_for(getpid(), &block);
	struct opener_space space = {.pid = (uint32_t)getpid(), .mapping = order.mapping};
	struct opener_result result = {.err = 1};
	struct remote *memory;
	uint64_t word = 0;

	CHECK_EQ(opener_space(opener, &space, keep_result, &result), 0);
	CHECK(opener_settle(opener, UINT64_C(10000000000)));
	CHECK(!result.err && !remote_open(result.fd, &memory));
	CHECK(remote_read_all(memory, (uintptr_t)&constant, &word, 8));
	CHECK_EQ(word, constant);
	CHECK_EQ(result.file.uid, getuid());
	remote_close(memory);
	check_cpu_counts(result.fd);
	close(result.fd);
	space.mapping.inode++;
	CHECK_EQ(opener_space(opener, &space, keep_result, &result), 0);
	CHECK(opener_settle(opener, UINT64_C(10000000000)));
	CHECK_EQ(result.err, -ESTALE);
	end(opener);
}

TEST(only_the_block_that_is_meant_is_written)
{
	struct opener *opener = begin();
	struct opener_memory order = order_for(getpid(), &block), other;
	struct opener_result result = reach(opener, &order);

	order.started = result.block.started;
	/* Another process by that number; another file, or place of it; no data; no block. */
	other = order;
	other.started++;
	CHECK_EQ(reach(opener, &other).err, -ESRCH);
	other = order;
	other.mapping.inode++;
	CHECK_EQ(reach(opener, &other).err, -ESTALE);
	other = order;
	other.mapping.offset += 4096;
	CHECK_EQ(reach(opener, &other).err, -ESTALE);
	other = order;
	other.address = (uintptr_t)&constant_block;
	CHECK_EQ(reach(opener, &other).err, -ESTALE);
	CHECK_EQ(constant_block.generation, 0);
	other = order;
	other.address += 8;
	CHECK_EQ(reach(opener, &other).err, -ENOENT);
	other = order;
	other.pid = 0x7ffffff0;
	CHECK_EQ(reach(opener, &other).err, -ESRCH);
	CHECK_EQ(block.generation, 1);
	CHECK_EQ(reach(opener, &order).err, 0);
	CHECK_EQ(block.generation, 2);
	end(opener);
}

static void copy_self(const char *path)
{
	char command[128];

	snprintf(command, sizeof(command), "cp /proc/%d/exe %s", getpid(), path);
	CHECK_EQ(system(command), 0);
}

/* Waits until the process has executed a program (of another inode). */
static void wait_for_exec(pid_t pid)
{
	char path[64];
	struct stat own, now;

	CHECK(!stat("/proc/self/exe", &own));
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	for (int i = 0; i < 5000 && !stat(path, &now) && now.st_ino == own.st_ino; i++)
		usleep(1000);
	CHECK(now.st_ino != own.st_ino);
}

/* A copy of this program at the same addresses, as a program with other rights could be. */
TEST(a_program_that_was_executed_since_is_not_written_to)
{
	char *arguments[] = {(char *)(uintptr_t)WORKER_OPENER, NULL};
	struct opener *opener = begin();
	struct opener_memory order;
	int go[2], silent[2];
	pid_t pid;
	char byte;

	copy_self("copy");
	CHECK(!pipe(go) && !socketpair(AF_UNIX, SOCK_SEQPACKET, 0, silent));
	personality(ADDR_NO_RANDOMIZE);
	pid = fork();
	if (pid == 0) {
		/* It waits for requests, of which there are none. */
		dup2(silent[0], STDIN_FILENO);
		if (read(go[0], &byte, 1) == 1)
			execv("copy", arguments);
		_exit(1);
	}
	order = order_for(pid, &block);
	CHECK_EQ(reach(opener, &order).err, 0);
	CHECK_EQ(write(go[1], "", 1), 1);
	wait_for_exec(pid);
	CHECK_EQ(reach(opener, &order).err, -ESTALE);
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK_EQ(reach(opener, &order).err, -ESRCH);
	end(opener);
}

/* A child that has a page of a file whose content nobody ever provides. */
static pid_t start_silent(struct opener_memory *order)
{
	int fd = open("fuse/file", O_RDONLY);
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	struct stat st;
	pid_t pid;

	CHECK(page != MAP_FAILED && !fstat(fd, &st));
	*order = order_for(getpid(), page);
	order->mapping = (struct opener_mapping){.start = (uintptr_t)page,
						 .inode = st.st_ino,
						 .major = major(st.st_dev),
						 .minor = minor(st.st_dev)};
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	order->pid = (uint32_t)pid;
	munmap(page, 4096);
	close(fd);
	return pid;
}

TEST(memory_that_does_not_answer_holds_up_nobody_else)
{
	struct opener *opener = begin();
	struct opener_memory silent, order = order_for(getpid(), &block);
	struct opener_result first = {.err = 1}, second = {.err = 1}, file = {.err = 1};
	struct module_place place;
	struct fuse_rig rig;
	char expected[128];
	uint64_t began;
	pid_t pid;

	make_file("a", "first");
	place = place_of("a");
	CHECK(!mkdir("fuse", 0755));
	rig = fuse_rig_begin("fuse");
	pid = start_silent(&silent);
	began = clock_now();
	CHECK_EQ(opener_memory(opener, &silent, keep_result, &first), 0);
	CHECK_EQ(opener_memory(opener, &order, keep_result, &second), 0);
	CHECK_EQ(opener_open(opener, &place, keep_result, &file), 0);
	/* Files do not wait for memory. */
	while (file.err && clock_now() - began < UINT64_C(30000000000))
		opener_turn(opener);
	CHECK(has_text(file.fd, "first") && first.err == 1);
	CHECK(opener_settle(opener, UINT64_C(20000000000)));
	CHECK_EQ(first.err, -ETIME);
	CHECK_EQ(second.err, 0);
	CHECK(row_of(getpid()) && row_of(getpid())->period == 100);
	snprintf(expected, sizeof(expected), "process %d: its memory was not reached within 2 s",
		 pid);
	CHECK(strstr(trouble_of(opener), expected));
	/* It is not tried again: each time would take 2 s. */
	began = clock_now();
	for (int i = 0; i < 10; i++) {
		CHECK_EQ(reach(opener, &silent).err, -ETIME);
		CHECK_EQ(opener_trouble(opener), NULL);
	}
	CHECK(clock_now() - began < UINT64_C(10000000000));
	fuse_rig_end(&rig);
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	end(opener);
}

/* What a recorder that was killed has listed is undone, though a program before it in the list does
 * not answer, and what is not listed any more is not. */
TEST(what_is_listed_is_undone_after_the_recorder)
{
	struct opener *opener = begin(), *its;
	struct opener_memory silent, orders[2];
	struct fuse_rig rig;
	pid_t program, recorder;
	uint64_t began;

	CHECK(!mkdir("fuse", 0755));
	rig = fuse_rig_begin("fuse");
	program = start_silent(&silent);
	orders[0] = order_to_write(&variable, 8, 7);
	orders[1] = order_to_write(&block.names, 3, 4);
	variable = 8;
	recorder = fork();
	if (!recorder) {
		undo_slot slots[3] = {0};

		CHECK_EQ(opener_create(true, &its), 0);
		undo_put(opener_undo_list(its), &slots[0], &silent);
		undo_put(opener_undo_list(its), &slots[1], &orders[1]);
		undo_put(opener_undo_list(its), &slots[2], &orders[0]);
		undo_put(opener_undo_list(its), &slots[1], NULL);
		kill(getpid(), slots[0] && !slots[1] && slots[2] ? SIGKILL : SIGABRT);
	}
	began = clock_now();
	CHECK_EQ(waitpid(recorder, NULL, 0), recorder);
	while (*(volatile uint64_t *)&variable != 7 && clock_now() - began < UINT64_C(30000000000))
		usleep(1000);
	CHECK_EQ(variable, 7);
	CHECK_EQ(block.names, 3);
	fuse_rig_end(&rig);
	kill(program, SIGKILL);
	CHECK_EQ(waitpid(program, NULL, 0), program);
	end(opener);
}
