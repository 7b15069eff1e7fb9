/* SPDX-License-Identifier: BSD-2-Clause */
/* invoker.c: tests of who called gcprof, and of becoming that user. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/invoker.h"

static void need_root(void)
{
	if (geteuid() != 0)
		test_skip("only root acts on behalf of others");
}

static void forget_callers(void)
{
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	unsetenv("PKEXEC_UID");
	unsetenv("DOAS_USER");
}

/* Finds the invoker whom one variable alone names. */
static int find_by(const char *variable, const char *value, struct invoker *out)
{
	const char *wrong = NULL;
	int err;

	forget_callers();
	CHECK_EQ(setenv(variable, value, 1), 0);
	err = invoker_find(out, &wrong);
	if (err)
		CHECK_STR(wrong, variable);
	return err;
}

TEST(the_caller_of_sudo_pkexec_or_doas)
{
	const struct passwd *nobody = getpwnam("nobody");
	struct invoker found;
	const char *wrong;
	char number[16];

	need_root();
	if (!nobody)
		test_skip("there is no user nobody");
	forget_callers();
	CHECK_EQ(invoker_find(&found, &wrong), 0);
	CHECK(!found.change && found.uid == 0 && !found.name[0]);

	/* A number needs no entry if the group comes with it. */
	CHECK_EQ(setenv("SUDO_UID", "12345", 1), 0);
	CHECK_EQ(setenv("SUDO_GID", "12346", 1), 0);
	CHECK_EQ(invoker_find(&found, &wrong), 0);
	CHECK(found.change && found.uid == 12345 && found.gid == 12346 && !found.name[0]);

	snprintf(number, sizeof(number), "%u", (unsigned)nobody->pw_uid);
	CHECK_EQ(find_by("SUDO_UID", number, &found), 0);
	CHECK(found.change && found.uid == nobody->pw_uid && found.gid == nobody->pw_gid);
	CHECK_EQ(find_by("PKEXEC_UID", number, &found), 0);
	CHECK(found.change && found.uid == nobody->pw_uid && found.gid == nobody->pw_gid);
	CHECK_STR(found.name, "nobody");
	CHECK_EQ(find_by("DOAS_USER", "nobody", &found), 0);
	CHECK(found.change && found.uid == nobody->pw_uid && found.gid == nobody->pw_gid);

	/* Root that became root. */
	CHECK_EQ(find_by("SUDO_UID", "0", &found), 0);
	CHECK(!found.change);
	CHECK_EQ(find_by("DOAS_USER", "root", &found), 0);
	CHECK(!found.change);
}

TEST(a_caller_that_there_is_not_is_no_root)
{
	const char *bad[] = {"-1", "4294967295", "12x", "", " 5", "4000000000"};
	struct invoker found;

	need_root();
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_EQ(find_by("SUDO_UID", bad[i], &found), -EINVAL);
		CHECK_EQ(find_by("PKEXEC_UID", bad[i], &found), -EINVAL);
		CHECK_EQ(find_by("DOAS_USER", bad[i], &found), -EINVAL);
	}
}

/* doas keepenv, and the like, keep what the caller has set. */
TEST(callers_that_disagree_are_refused)
{
	static const struct {
		const char *sudo, *pkexec, *doas;
		int result;
	} cases[] = {
		{"0", NULL, "nobody", -EPERM},    {"0", "65534", NULL, -EPERM},
		{"65534", "0", NULL, -EPERM},     {"65534", NULL, "root", -EPERM},
		{"12345", "65534", NULL, -EPERM}, {NULL, "0", "nobody", -EPERM},
		{"65534", "65534", "nobody", 0},  {"0", "0", "root", 0},
		{"0", "none", NULL, -EINVAL},
	};
	const struct passwd *nobody = getpwnam("nobody");
	struct invoker found;
	const char *wrong;

	need_root();
	if (!nobody || nobody->pw_uid != 65534)
		test_skip("the user nobody has another number");
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		forget_callers();
		if (cases[i].sudo)
			CHECK(!setenv("SUDO_UID", cases[i].sudo, 1) && !setenv("SUDO_GID", "0", 1));
		if (cases[i].pkexec)
			CHECK(!setenv("PKEXEC_UID", cases[i].pkexec, 1));
		if (cases[i].doas)
			CHECK(!setenv("DOAS_USER", cases[i].doas, 1));
		CHECK_EQ(invoker_find(&found, &wrong), cases[i].result);
		/* An invented group is not taken either. */
		if (!cases[i].result && found.uid)
			CHECK(found.change && found.gid == nobody->pw_gid);
	}
}

/* Whether /proc/self/status has such a line. */
static bool has_line(const char *line)
{
	char text[4096], *at;
	int fd = open("/proc/self/status", O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, line);
	return at && at[strlen(line)] == '\n';
}

/* Runs in a child and succeeds if it returns true. */
static void in_child(bool (*run)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(!run());
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

static bool is_12345(void)
{
	return has_line("\nUid:\t12345\t12345\t12345\t12345") &&
	       has_line("\nGid:\t12346\t12346\t12346\t12346") && has_line("\nGroups:\t12346 ") &&
	       has_line("\nCapInh:\t0000000000000000") && has_line("\nCapPrm:\t0000000000000000") &&
	       has_line("\nCapEff:\t0000000000000000") && has_line("\nCapAmb:\t0000000000000000");
}

static const struct invoker user = {.uid = 12345, .gid = 12346, .change = true};

static bool become(void)
{
	return invoker_become(&user) == 0 && is_12345() && setuid(0) < 0 && setgid(0) < 0;
}

/* PR_SET_KEEPCAPS leaves what a change of user would take. */
static bool become_with_capabilities_kept(void)
{
	return prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0 && become();
}

/* As a file's capabilities come: the user is right already, and has more than other users. */
static bool become_without_a_change(void)
{
	const struct invoker same = {.uid = 12345, .gid = 12346};

	return prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0 && setgid(12346) == 0 &&
	       setuid(12345) == 0 && !has_line("\nCapPrm:\t0000000000000000") &&
	       invoker_become(&same) == 0 && has_line("\nCapPrm:\t0000000000000000");
}

TEST(root_is_given_up_for_good)
{
	need_root();
	in_child(become);
	in_child(become_with_capabilities_kept);
	in_child(become_without_a_change);
}
