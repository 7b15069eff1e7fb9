/* SPDX-License-Identifier: BSD-2-Clause */
/* count.c: runs a command while the smallest BPF program there is counts all system calls. */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int run(char **command)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		execvp(command[0], command);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 2;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

int main(int argc, char **argv)
{
	struct bpf_object *object;
	struct bpf_program *program;
	struct bpf_link *link = NULL;
	int status = 2;

	if (argc < 3) {
		fprintf(stderr, "Usage: count OBJECT COMMAND...\n");
		return 2;
	}
	object = bpf_object__open(argv[1]);
	if (!object || bpf_object__load(object))
		goto out;
	program = bpf_object__find_program_by_name(object, "count_call");
	link = program ? bpf_program__attach(program) : NULL;
	if (link)
		status = run(argv + 2);
out:
	if (!link)
		fprintf(stderr, "count: the program cannot be loaded and attached\n");
	bpf_link__destroy(link);
	bpf_object__close(object);
	return status;
}
