// SPDX-License-Identifier: BSD-2-Clause
/* neighbour.c: allocates for SECONDS, and 120 MB at least; at the end says how many samples it
 * took. Its provider is a shared library, whose semaphores are those of all processes that map it.
 */
#include <provider/provider.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LEAST = 300 };

static volatile sig_atomic_t is_over;

static void end(int signal)
{
	(void)signal;
	is_over = 1;
}

int main(int argc, char **argv)
{
	struct gcprof_options options;
	struct gcprof_provider *provider;
	struct gcprof_thread *thread;
	uint64_t pair, buffer, samples = 0;

	signal(SIGTERM, end);
	if (argc < 2 || gcprof_options_default(&options))
		return 2;
	options.period = 32 << 10;
	options.ceiling = UINT64_MAX;
	options.name = "neighbour";
	options.version = "1.0";
	if (gcprof_open(&options, &provider) || gcprof_thread_attach(provider, NULL, &thread))
		return 1;
	pair = gcprof_type(provider, "pair");
	buffer = gcprof_type(provider, "buffer");
	alarm((unsigned)atoi(argv[1]));
	signal(SIGALRM, end);
	for (int rounds = 0; !is_over || rounds < LEAST; rounds++) {
		for (int i = 0; i < 1000; i++) {
			samples += gcprof_alloc(thread, 100, pair, GCPROF_SAMPLE_FOREIGN) != 0;
			samples += gcprof_alloc(thread, 300, buffer, GCPROF_SAMPLE_FOREIGN) != 0;
		}
		usleep(1000);
	}
	printf("%llu\n", (unsigned long long)samples);
	gcprof_thread_detach(thread);
	gcprof_close(provider);
	return 0;
}
