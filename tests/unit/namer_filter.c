// SPDX-License-Identifier: BSD-2-Clause
/* namer_filter.c: tests of what a process may do, and may not, behind the filter for names. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "record/namer_filter.h"

static bool reads_files(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char bytes[4];
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return fd >= 0 && pread(fd, bytes, sizeof(bytes), 0) == sizeof(bytes) && !close(fd) &&
	       memory != MAP_FAILED && !munmap(memory, 4096);
}

static bool runs_programs(void)
{
	execl("/bin/true", "true", (char *)NULL);
	return errno != ENOSYS;
}

static bool makes_processes(void)
{
	return syscall(SYS_fork) >= 0 || errno != ENOSYS;
}

static bool makes_sockets(void)
{
	return socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != ENOSYS;
}

static bool writes_files(void)
{
	return open("/dev/null", O_WRONLY) >= 0 ||
	       open("/tmp/gcprof-not-there", O_CREAT, 0600) >= 0;
}

static bool makes_code(void)
{
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory != MAP_FAILED)
		return true;
	memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return mprotect(memory, 4096, PROT_READ | PROT_EXEC) == 0;
}

static bool looks_into_others(void)
{
	return syscall(SYS_ptrace, 0, 0, 0, 0) == 0 || errno != ENOSYS;
}

static const struct {
	bool (*does)(void);
	bool may;
} deeds[] = {
	{reads_files, true},        {runs_programs, false}, {makes_processes, false},
	{makes_sockets, false},     {writes_files, false},  {makes_code, false},
	{looks_into_others, false},
};

TEST(only_reading_and_memory_are_left)
{
	for (size_t i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++) {
		pid_t pid = fork();
		int status = -1;

		if (!pid) {
			if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || namer_filter_enter())
				_exit(9);
			_exit(deeds[i].does() == deeds[i].may ? 0 : 10 + (int)i);
		}
		CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 9)
			test_skip("this kernel has no filters");
		CHECK_EQ(status, 0);
	}
}
