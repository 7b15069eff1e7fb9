// SPDX-License-Identifier: BSD-2-Clause
/* opener_space.c: tests of the process that reads the memory of one program for readers. */
/* Plain: workers have their limits only without sanitizers. */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuse_rig.h"
#include "reader/protocol.h"
#include "reader/remote_memory.h"
#include "record/machine/clock.h"
#include "record/machine/proc_memory.h"
#include "record/opener/opener_process.h"
#include "test.h"

#define PAGE 4096

/* A socket of the memory of a process as it is now, or a negative errno. */
static int serve_user(pid_t pid, uid_t user)
{
	char path[32];
	int memory, socket;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(memory >= 0);
	socket = opener_serve_space(memory, (uint32_t)pid, user);
	close(memory);
	return socket;
}

static int serve(pid_t pid)
{
	int socket = serve_user(pid, 0);

	CHECK(socket >= 0);
	return socket;
}

static struct remote *begin_reading(int socket)
{
	struct remote *memory;

	CHECK_EQ(remote_open(socket, &memory), 0);
	return memory;
}

static void *map(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	return at;
}

TEST(bytes_are_those_of_the_program)
{
	enum { SIZE = 70 * PAGE };
	unsigned char *bytes = map(SIZE + PAGE), *read = malloc(SIZE + PAGE);
	int socket = serve(getpid());
	struct remote *memory = begin_reading(socket);
	uint64_t at = (uintptr_t)bytes;

	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (unsigned char)(i * 7 + i / PAGE);
	munmap(bytes + SIZE, PAGE);
	/* More than an answer may have, across pages; again, when they are known. */
	for (int i = 0; i < 2; i++) {
		memset(read, 0, SIZE);
		CHECK_EQ(remote_read(memory, at + 3, read, SIZE - 3), SIZE - 3);
		CHECK(!memcmp(read, bytes + 3, SIZE - 3));
	}
	/* Fewer where it ends, none where there is none. */
	CHECK_EQ(remote_read(memory, at + SIZE - 10, read, 100), 10);
	CHECK_EQ(remote_read(memory, at + SIZE, read, 8), 0);
	CHECK(!remote_read_all(memory, at + SIZE - 4, read, 8));
	for (uint64_t wild = 1; wild; wild <<= 1)
		if (wild < PAGE || wild >> 47)
			CHECK_EQ(remote_read(memory, wild, read, SIZE), 0);
	CHECK_EQ(remote_read(memory, UINT64_MAX, read, 2), 0);
	CHECK_EQ(remote_error(memory), 0);
	remote_close(memory);
	close(socket);
	free(read);
}

/* The answer to a request as it is; how many bytes of memory there are. */
static ssize_t ask(int socket, const struct remote_request *request, struct remote_answer *head)
{
	static char bytes[REMOTE_ANSWER_MAX + 1];
	struct iovec parts[] = {{head, sizeof(*head)}, {bytes, sizeof(bytes)}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

	CHECK_EQ(send(socket, request, sizeof(*request), MSG_NOSIGNAL), sizeof(*request));
	return recvmsg(socket, &message, 0) - (ssize_t)sizeof(*head);
}

TEST(requests_are_bounded)
{
	struct remote_request request = {.number = 7, .size = REMOTE_ANSWER_MAX};
	struct remote_answer head;
	char *bytes = map(2 * REMOTE_ANSWER_MAX), byte;
	int socket = serve(getpid());

	request.address = (uintptr_t)bytes;
	CHECK_EQ(ask(socket, &request, &head), REMOTE_ANSWER_MAX);
	CHECK(head.number == 7 && !head.err);
	request.size++;
	CHECK_EQ(ask(socket, &request, &head), 0);
	CHECK_EQ(head.err, -EINVAL);
	request.size = UINT32_MAX;
	CHECK_EQ(ask(socket, &request, &head), 0);
	CHECK_EQ(head.err, -EINVAL);
	/* What is no request ends the process. */
	CHECK_EQ(send(socket, &request, sizeof(request) - 1, MSG_NOSIGNAL), sizeof(request) - 1);
	CHECK_EQ(recv(socket, &byte, 1, 0), 0);
	close(socket);
}

/* A reader that was killed has asked, and another one reads from the same socket. */
TEST(answers_for_others_are_not_taken)
{
	struct remote_request request = {.number = 1, .size = 8};
	uint64_t words[2] = {1, 2}, word = 0;
	int socket = serve(getpid());
	struct remote *memory;

	request.address = (uintptr_t)&words[0];
	for (int i = 0; i < 3; i++)
		CHECK_EQ(send(socket, &request, sizeof(request), 0), sizeof(request));
	memory = begin_reading(socket);
	CHECK(remote_read_all(memory, (uintptr_t)&words[1], &word, sizeof(word)));
	CHECK_EQ(word, 2);
	remote_close(memory);
	close(socket);
}

static const char secret[] = "what is in this program";

/* Where a process has something. */
static uint64_t first_address(pid_t pid)
{
	uint64_t address = 0;
	char path[32];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "r");
	CHECK(file && fscanf(file, "%" SCNx64, &address) == 1);
	fclose(file);
	return address;
}

/* It may have other rights. */
TEST(a_program_that_was_executed_since_is_not_read)
{
	char *arguments[] = {(char *)(uintptr_t)WORKER_OPENER, NULL}, byte, text[sizeof(secret)];
	struct remote *memory;
	int go[2], silent[2], socket;
	pid_t pid;

	CHECK(!pipe(go) && !socketpair(AF_UNIX, SOCK_SEQPACKET, 0, silent));
	pid = fork();
	if (pid == 0) {
		dup2(silent[0], STDIN_FILENO);
		fcntl(go[0], F_SETFD, FD_CLOEXEC);
		fcntl(go[1], F_SETFD, FD_CLOEXEC);
		if (read(go[0], &byte, 1) == 1)
			execv("/proc/self/exe", arguments);
		_exit(1);
	}
	close(go[0]);
	socket = serve(pid);
	memory = begin_reading(socket);
	CHECK(remote_read_all(memory, (uintptr_t)secret, text, sizeof(text)));
	CHECK_STR(text, secret);
	remote_close(memory);
	/* Its end of the pipe is closed once it has executed. */
	CHECK_EQ(write(go[1], "", 1), 1);
	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < 5000 && write(go[1], "", 1) == 1; i++)
		usleep(1000);
	memory = begin_reading(socket);
	CHECK_EQ(proc_memory_fetch((uint32_t)pid, first_address(pid), text, 1), 1);
	CHECK_EQ(remote_read(memory, first_address(pid), text, 1), 0);
	CHECK_EQ(remote_error(memory), 0);
	remote_close(memory);
	/* Nor what comes after it. */
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	memory = begin_reading(socket);
	CHECK_EQ(remote_read(memory, (uintptr_t)secret, text, 1), 0);
	remote_close(memory);
	close(socket);
}

/* A copy of this process that maps something all the while. */
static pid_t start_mapping(uint64_t *rounds)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;; __atomic_add_fetch(rounds, 1, __ATOMIC_SEQ_CST)) {
		munmap(map(PAGE), PAGE);
		usleep(1000);
	}
}

TEST(a_page_that_never_comes_keeps_neither_the_reader_nor_the_program)
{
	char folder[] = "/tmp/gcprof-space-XXXXXX", path[64], byte;
	uint64_t *rounds = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
				0),
		 word = 5, began;
	struct remote *memory;
	struct fuse_rig rig;
	int fd, socket;
	void *page;
	pid_t pid;

	CHECK(mkdtemp(folder));
	rig = fuse_rig_begin(folder);
	snprintf(path, sizeof(path), "%s/file", folder);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(page != MAP_FAILED);
	pid = start_mapping(rounds);
	socket = serve(pid);
	memory = begin_reading(socket);
	CHECK(remote_read_all(memory, (uintptr_t)&word, &byte, 1));
	began = clock_now();
	CHECK_EQ(remote_read(memory, (uintptr_t)page, &byte, 1), 0);
	CHECK(clock_now() - began < UINT64_C(5000000000));
	CHECK_EQ(remote_error(memory), -ETIMEDOUT);
	/* It can still be mapped there, and nothing else is waited for. */
	*rounds = 0;
	for (int i = 0; i < 10000 && *(volatile uint64_t *)rounds <= 10; i++)
		usleep(1000);
	CHECK(*rounds > 10);
	CHECK_EQ(remote_read(memory, (uintptr_t)rounds, &byte, 1), 0);
	CHECK(clock_now() - began < UINT64_C(16000000000));
	remote_close(memory);
	fuse_rig_end(&rig);
	/* The process has the end of its socket open until then. */
	while (recv(socket, &byte, 1, 0) > 0)
		;
	CHECK_EQ(recv(socket, &byte, 1, 0), 0);
	close(socket);
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK_EQ(rmdir(folder), 0);
}

TEST(programs_of_one_user_leave_processes_to_others)
{
	enum { USER = 1001, MOST = 768 / 4 };
	int sockets[MOST], other;
	char byte;

	for (int i = 0; i < MOST; i++)
		CHECK((sockets[i] = serve_user(getpid(), USER)) >= 0);
	CHECK_EQ(serve_user(getpid(), USER), -EAGAIN);
	CHECK((other = serve_user(getpid(), USER + 1)) >= 0);
	close(other);
	close(serve(getpid()));
	/* One that ends makes room. */
	shutdown(sockets[0], SHUT_WR);
	CHECK_EQ(recv(sockets[0], &byte, 1, 0), 0);
	close(sockets[0]);
	while ((sockets[0] = serve_user(getpid(), USER)) == -EAGAIN)
		usleep(1000);
	for (int i = 0; i < MOST; i++)
		close(sockets[i]);
}

/* A wait that can be ended: the process that waits ends. */
TEST(a_page_that_its_program_holds_back_is_given_up)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC), socket = serve(getpid());
	struct remote *memory = begin_reading(socket);
	char byte;

	if (fd < 0)
		test_skip("no userfaultfd here");
	range.range = (struct uffdio_range){(uintptr_t)map(PAGE), PAGE};
	CHECK(!ioctl(fd, UFFDIO_API, &api) && !ioctl(fd, UFFDIO_REGISTER, &range));
	CHECK_EQ(remote_read(memory, range.range.start, &byte, 1), 0);
	CHECK_EQ(remote_error(memory), -ETIMEDOUT);
	CHECK_EQ(recv(socket, &byte, 1, 0), 0);
	remote_close(memory);
	close(socket);
	close(fd);
}
