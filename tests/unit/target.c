/* SPDX-License-Identifier: BSD-2-Clause */
/* target.c: tests of how the recorded program is found, started, released and waited for. */
/* Plain: workers have their limits only without sanitizers. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/target/libraries.h"
#include "record/target/target.h"

static char folder[] = "/tmp/gcprof-target-XXXXXX";

static const char *in_folder(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void make_file(const char *name, const char *text, mode_t mode)
{
	FILE *file = fopen(in_folder(name), "w");
	bool made = file && fputs(text, file) >= 0;

	if (file)
		made = fclose(file) == 0 && made;
	CHECK(made && !chmod(in_folder(name), mode));
}

static void make_folder(void)
{
	CHECK(mkdtemp(folder));
}

static void remove_folder(void)
{
	char command[PATH_MAX + 16];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	CHECK(system(command) == 0);
}

static struct target *start(const char *path, char *const *arguments)
{
	struct invoker user = {.uid = getuid(), .gid = getgid()};
	struct target_setup setup = {
		.path = path,
		.arguments = arguments,
		.user = &user,
		.period = 4096,
		.ceiling = 0,
	};
	struct target *target = NULL;
	struct problem problem;

	CHECK_EQ(target_start(&setup, &target, &problem), 0);
	return target;
}

TEST(resolve_finds_commands_like_a_shell)
{
	const struct invoker user = {.uid = getuid(), .gid = getgid()};
	struct problem problem;
	char *path;

	make_folder();
	make_file("run", "#!/bin/sh\n", 0755);
	make_file("plain", "text\n", 0644);
	CHECK_EQ(setenv("PATH", folder, 1), 0);
	CHECK_EQ(target_resolve(&user, "run", &path, &problem), 0);
	CHECK_STR(path, in_folder("run"));
	free(path);
	CHECK_EQ(target_resolve(&user, in_folder("run"), &path, &problem), 0);
	free(path);
	CHECK_EQ(target_resolve(&user, "plain", &path, &problem), -EACCES);
	CHECK_EQ(target_resolve(&user, "absent", &path, &problem), -ENOENT);
	CHECK_STR(problem.text, "absent: command not found");
	CHECK_EQ(target_resolve(&user, "", &path, &problem), -ENOENT);
	CHECK_EQ(target_resolve(&user, folder, &path, &problem), -EISDIR);
	CHECK_EQ(target_resolve(&user, "/etc/passwd/x", &path, &problem), -ENOENT);

	/* An empty part of PATH is the current folder. */
	CHECK(!chdir(folder) && !setenv("PATH", "/nowhere::/nowhere", 1));
	CHECK_EQ(target_resolve(&user, "run", &path, &problem), 0);
	CHECK_STR(path, "./run");
	free(path);
	setenv("PATH", "/usr/bin:/bin", 1);
	remove_folder();
}

/* What a user cannot see or execute is not there, whatever root can see. */
TEST(resolve_sees_what_the_user_sees)
{
	const struct invoker user = {.uid = 12345, .gid = 12346, .change = true};
	struct problem problem;
	char *path;

	if (geteuid() != 0)
		test_skip("only root can become somebody else");
	make_folder();
	make_file("run", "#!/bin/sh\n", 0700);
	CHECK_EQ(target_resolve(&user, in_folder("run"), &path, &problem), -EACCES);
	CHECK_EQ(chmod(folder, 0711), 0);
	CHECK_EQ(target_resolve(&user, in_folder("run"), &path, &problem), -EACCES);
	CHECK(path == NULL);
	CHECK_EQ(chmod(in_folder("run"), 0711), 0);
	CHECK_EQ(target_resolve(&user, in_folder("run"), &path, &problem), 0);
	CHECK_STR(path, in_folder("run"));
	free(path);
	remove_folder();
}

TEST(status_and_environment)
{
	char *words[] = {"sh", "-c", "test \"$GCPROF_PERIOD-$GCPROF_CEILING\" = 4096-0 && exit 7",
			 NULL};
	struct target *target = start("/bin/sh", words);
	struct problem problem;
	int status;

	CHECK_EQ(target_wait(target, false, &status), -EAGAIN);
	CHECK_EQ(target_release(target, NULL, NULL, &problem), 0);
	CHECK_EQ(target_wait(target, true, &status), 0);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 7);
	CHECK_EQ(target_wait(target, false, &status), 0);
	target_free(target);
}

struct stop {
	struct target *target;
	char path[64];
	int calls;
};

/* It has been executed, and is what it will be. */
static void note_stop(void *context)
{
	struct stop *stop = context;
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", target_pid(stop->target));
	n = readlink(link, stop->path, sizeof(stop->path) - 1);
	stop->path[n > 0 ? n : 0] = '\0';
	stop->calls++;
}

TEST(stopped_at_exec)
{
	char *words[] = {"true", NULL};
	struct stop stop = {.target = start("/bin/true", words)};
	struct problem problem;
	int status;

	/* What is sent to it meanwhile reaches it, and does not keep us waiting. */
	kill(target_pid(stop.target), SIGCONT);
	CHECK_EQ(target_release(stop.target, note_stop, &stop, &problem), 0);
	CHECK_EQ(stop.calls, 1);
	CHECK_STR(strrchr(stop.path, '/'), "/true");
	CHECK_EQ(target_wait(stop.target, true, &status), 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	target_free(stop.target);
}

/* From its change of user on, others can stop it. */
TEST(the_child_has_no_descriptor_of_the_recorder)
{
	char *arguments[] = {"true", NULL}, path[64];
	int null = open("/dev/null", O_RDONLY), kept = fcntl(null, F_DUPFD, 100), status;
	int own = fcntl(null, F_DUPFD_CLOEXEC, 200);
	struct target *target = start("/bin/true", arguments);

	CHECK(kept >= 100 && own >= 200);
	/* It closes them as soon as it runs. */
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)target_pid(target), own);
	for (int i = 0; i < 60000 && !faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW); i++)
		usleep(1000);
	CHECK(faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) && errno == ENOENT);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)target_pid(target), kept);
	CHECK(!faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW));
	CHECK_EQ(target_release(target, NULL, NULL, &(struct problem){""}), 0);
	CHECK_EQ(target_wait(target, true, &status), 0);
	CHECK_EQ(status, 0);
	target_free(target);
}

TEST(not_stopped_if_exec_fails)
{
	char *words[] = {"x", NULL};
	struct stop stop = {.target = start("/nonexistent", words)};
	struct problem problem;

	CHECK_EQ(target_release(stop.target, note_stop, &stop, &problem), -ENOENT);
	CHECK_EQ(stop.calls, 0);
	target_free(stop.target);
}

TEST(failed_exec_is_told)
{
	char *words[] = {"x", NULL};
	struct target *target;
	struct problem problem;

	make_folder();
	make_file("noformat", "neither binary nor script\n", 0755);
	target = start(in_folder("noformat"), words);
	CHECK_EQ(target_release(target, NULL, NULL, &problem), -ENOEXEC);
	target_free(target);
	target = start(in_folder("absent"), words);
	CHECK_EQ(target_release(target, NULL, NULL, &problem), -ENOENT);
	target_free(target);
	remove_folder();
}

/* Nothing runs if the recorder goes away before it released the program. */
TEST(not_released_not_run)
{
	char *words[] = {"sh", "-c", "touch ran", NULL};
	struct target *target;
	pid_t pid;
	int status;

	make_folder();
	CHECK(!chdir(folder));
	target = start("/bin/sh", words);
	pid = target_pid(target);
	target_free(target);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK(access("ran", F_OK) != 0);
	remove_folder();
}

TEST(killed_before_release)
{
	char *words[] = {"true", NULL};
	struct target *target = start("/bin/true", words);
	struct problem problem;
	int status;

	signal(SIGPIPE, SIG_IGN);
	kill(target_pid(target), SIGKILL);
	CHECK_EQ(target_wait(target, true, &status), 0);
	CHECK_EQ(target_release(target, NULL, NULL, &problem), -ECHILD);
	target_free(target);
}

struct seen {
	unsigned files;
	bool shell, libc;
};

static void see(void *context, const char *path, int fd)
{
	struct seen *seen = context;
	char byte;

	seen->files++;
	CHECK(path[0] == '/' && pread(fd, &byte, 1, 0) == 1);
	if (access(path, R_OK) == 0 && strstr(path, "/libc.so"))
		seen->libc = true;
	if (strcmp(path, "/bin/sh") == 0)
		seen->shell = true;
}

static int each_library_of(const char *path, const struct invoker *user, struct seen *seen)
{
	struct libraries *libraries;
	struct opener *opener;
	struct files *files;
	int err;

	CHECK_EQ(opener_create(false, &opener) | files_create(opener, &files), 0);
	err = libraries_start(path, true, NULL, user, opener, files, &libraries);
	if (!err) {
		err = libraries_visit_all(libraries, see, seen);
		libraries_free(libraries);
	}
	files_free(files);
	opener_free(opener);
	return err;
}

static int each_library(const char *path, struct seen *seen)
{
	const struct invoker user = {.uid = getuid(), .gid = getgid()};

	return each_library_of(path, &user, seen);
}

TEST(libraries_of_a_program_and_of_a_script)
{
	struct seen seen = {0};

	CHECK_EQ(each_library("/bin/sh", &seen), 0);
	CHECK(seen.shell && seen.libc);
	make_folder();
	make_file("script", "#! /bin/sh -e\n", 0755);
	seen = (struct seen){0};
	CHECK_EQ(each_library(in_folder("script"), &seen), 0);
	CHECK(seen.shell && seen.libc);

	/* A script that is its own interpreter, a file that is neither, none at all. */
	char loop[PATH_MAX + 8];
	snprintf(loop, sizeof(loop), "#!%s\n", in_folder("loop"));
	make_file("loop", loop, 0755);
	seen = (struct seen){0};
	CHECK(each_library(in_folder("loop"), &seen) < 0);
	CHECK_EQ(seen.files, 0);
	CHECK(each_library(in_folder("absent"), &seen) < 0);
	CHECK(each_library(folder, &seen) < 0);
	/* Nobody waits for a linker that nobody wants an answer of. */
	const struct invoker user = {.uid = getuid(), .gid = getgid()};
	struct libraries *libraries;
	struct opener *opener;
	struct files *files;
	while (waitpid(-1, NULL, 0) > 0)
		;
	CHECK_EQ(opener_create(false, &opener) | files_create(opener, &files), 0);
	CHECK_EQ(libraries_start("/bin/sh", true, NULL, &user, opener, files, &libraries), 0);
	libraries_free(libraries);
	libraries_free(NULL);
	/* The reader and the opener are there, and no one is who has ended. */
	CHECK_EQ(waitpid(-1, NULL, WNOHANG), 0);
	files_free(files);
	opener_free(opener);
	remove_folder();
}

/* A copy of a program that names another file as its linker: a script of ours. */
static void make_program(const char *name, const char *linker)
{
	static const char usual[] = "/lib64/ld-linux-x86-64.so.2";
	static char image[1 << 20];
	int from = open("/bin/true", O_RDONLY),
	    to = open(in_folder(name), O_WRONLY | O_CREAT, 0755);
	ssize_t size = read(from, image, sizeof(image));
	char *at = size > 0 ? memmem(image, (size_t)size, usual, sizeof(usual)) : NULL;

	CHECK(at);
	if (at)
		memcpy(at, linker, strnlen(linker, sizeof(usual) - 2) + 1);
	CHECK(write(to, image, (size_t)size) == size && !close(from) && !close(to));
	CHECK_EQ(chmod(in_folder(name), 0755), 0);
}

TEST(what_a_user_may_not_read_is_not_opened_for_the_user)
{
	const struct invoker user = {.uid = 1001, .gid = 1001, .change = true};
	char text[2 * PATH_MAX], linker[32] = "/tmp/ld-gcprof-XXXXXX";
	struct seen seen = {0};
	int fd;

	CHECK_EQ(geteuid(), 0);
	make_folder();
	CHECK_EQ(chmod(folder, 0755), 0);
	/* Its own program, and as many as it wants to name. */
	snprintf(text, sizeof(text),
		 "#!/bin/sh\necho ' /etc/shadow (0x1)'\necho ' x => %s (0x1)'\n"
		 "echo ' /dev/null (0x1)'\necho ' /bin/sh (0x1)'\n",
		 in_folder("fifo"));
	fd = mkstemp(linker);
	CHECK(fd >= 0 && write(fd, text, strlen(text)) > 0 && !fchmod(fd, 0755) && !close(fd));
	CHECK_EQ(mkfifo(in_folder("fifo"), 0666), 0);
	make_program("program", linker);
	CHECK_EQ(each_library_of(in_folder("program"), &user, &seen), 0);
	CHECK_EQ(seen.files, 2);
	CHECK(seen.shell);
	/* A script's interpreter, or a program that it may only execute. */
	make_file("script", "#!/etc/shadow\n", 0755);
	CHECK_EQ(each_library_of(in_folder("script"), &user, &seen), -EACCES);
	CHECK_EQ(chmod(in_folder("program"), 0711), 0);
	CHECK_EQ(each_library_of(in_folder("program"), &user, &seen), -EACCES);
	make_file("script", "#!/dev/zero\n", 0755);
	CHECK_EQ(each_library_of(in_folder("script"), &user, &seen), -EINVAL);
	CHECK_EQ(seen.files, 2);
	CHECK_EQ(unlink(linker), 0);
	remove_folder();
}
