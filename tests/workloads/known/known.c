/* SPDX-License-Identifier: BSD-2-Clause */
/* known.c: allocates, burns CPU, sleeps and calls the kernel in known amounts, and prints them. */
/*
 * A profile of this program can be compared with the truth. What makes the
 * survival exact: the threads allocate in turns, one batch each, a batch is far
 * smaller than the nursery, and every batch ends with an explicit minor
 * collection. No collection can begin inside a batch, so an object survives if
 * and only if it was chained to the thread's list of survivors; the program
 * checks that the collector agrees about the number of collections.
 *
 * A thread that waits for its turn, burns CPU or is in a system call has told
 * the collector so (gc_blocking_begin), so that no collection waits for it.
 */
#include "known.h"

const struct kind kinds[N_KINDS] = {
	/* name, object size, bytes of all objects, one of how many survives, by whom */
	{"dies16", 16, 20 << 20, 0, alloc_small},
	{"dies48", 48, 40 << 20, 0, alloc_small},
	{"half64", 64, 30 << 20, 2, alloc_medium},
	{"kept128", 128, 16 << 20, 1, alloc_medium},
	{"tenth512", 512, 40 << 20, 10, alloc_medium},
	{"dies4096", 4096, 60 << 20, 0, alloc_large},
	{"large", 256 << 10, 40 << 20, 0, alloc_large},
};

/* The objects of `kind` that thread `index` allocates: an equal share, the rest to the first. */
static uint64_t share_of_objects(const struct known *known, const struct kind *kind, uint32_t index)
{
	uint64_t total = kind->total_bytes / kind->size * known->scale;
	return total / known->threads + (index == 0 ? total % known->threads : 0);
}

static uint64_t batches_of(const struct known *known, const struct kind *kind)
{
	uint64_t per_batch = BATCH_BYTES / kind->size;
	return (share_of_objects(known, kind, 0) + per_batch - 1) / per_batch;
}

/* Waits until the thread may allocate. No object is touched while it waits. */
static void turn_take(struct worker *worker)
{
	struct known *known = worker->known;
	gc_blocking_begin(worker->thread);
	pthread_mutex_lock(&known->lock);
	while (known->turn != worker->index)
		pthread_cond_wait(&known->turned, &known->lock);
	gc_blocking_end(worker->thread);
}

static void turn_pass(struct worker *worker)
{
	struct known *known = worker->known;
	known->turn = (known->turn + 1) % known->threads;
	pthread_cond_broadcast(&known->turned);
	pthread_mutex_unlock(&known->lock);
}

/* Ends a batch. Counts the collection, and fails if there was any other. */
NAMED_FUNCTION static void collect(struct worker *worker)
{
	struct known *known = worker->known;
	struct gc_stats stats;
	gc_collect(worker->thread, GC_COLLECT_MINOR);
	known->minor++;
	gc_stats(known->heap, &stats);
	if (stats.minor_collections != known->minor || stats.full_collections)
		die("the collector ran %llu minor and %llu full collections, not %llu and 0",
		    (unsigned long long)stats.minor_collections,
		    (unsigned long long)stats.full_collections, (unsigned long long)known->minor);
}

/* One batch: `count` objects of a kind. Survivors are chained to *list, which is a root. */
static void run_batch(struct worker *worker, uint32_t kind, uint64_t count, struct node **list)
{
	uint64_t start;
	turn_take(worker);
	start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	kinds[kind].alloc(worker, kind, count, list);
	worker->cpu_ns[function_of(kinds[kind].alloc)] += clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
	collect(worker);
	turn_pass(worker);
}

static void run_kind(struct worker *worker, uint32_t kind, struct node **list)
{
	struct known *known = worker->known;
	uint64_t left = share_of_objects(known, &kinds[kind], worker->index);
	uint64_t per_batch = BATCH_BYTES / kinds[kind].size;
	/* Every thread takes as many turns as the first, or the others would wait forever. */
	for (uint64_t i = batches_of(known, &kinds[kind]); i > 0; i--) {
		uint64_t count = left < per_batch ? left : per_batch;
		run_batch(worker, kind, count, list);
		left -= count;
	}
}

static void *worker_main(void *arg)
{
	struct worker *worker = arg;
	struct known *known = worker->known;
	if (gc_thread_attach(known->heap, &worker->thread))
		die("cannot attach a thread: %s", gc_error());
	GC_FRAME(worker->thread, frame, 0, struct node * survivors;);
	for (uint32_t kind = 0; kind < N_KINDS; kind++)
		run_kind(worker, kind, &frame.root.survivors);

	gc_blocking_begin(worker->thread);
	burn_all(worker);
	call_kernel(worker);
	gc_blocking_end(worker->thread);

	GC_FRAME_END(worker->thread, frame);
	gc_thread_detach(worker->thread);
	return NULL;
}

static void run_workers(struct known *known)
{
	for (uint32_t i = 1; i < known->threads; i++) {
		struct worker *worker = &known->workers[i];
		int err = pthread_create(&worker->pthread, NULL, worker_main, worker);
		if (err)
			die("cannot start thread %u: %s", i, strerror(err));
	}
	worker_main(&known->workers[0]);
	for (uint32_t i = 1; i < known->threads; i++)
		pthread_join(known->workers[i].pthread, NULL);
}

static void known_open(struct known *known)
{
	static const uint32_t pointers[] = {offsetof(struct node, next)};
	struct gc_options heap_options;
	if (gc_options_default(&heap_options))
		die("%s", gc_error());
	/* The truth must not depend on the environment, and no full collection may come. */
	heap_options.nursery_size = NURSERY_BYTES;
	heap_options.large_size = LARGE_BYTES;
	heap_options.min_heap = (size_t)1 << 40;
	if (gc_heap_create(&heap_options, &known->heap))
		die("cannot set up a heap: %s", gc_error());
	for (uint32_t i = 0; i < N_KINDS; i++) {
		const struct gc_type_desc desc = {
			.name = kinds[i].name,
			.size = kinds[i].size,
			.pointers = pointers,
			.n_pointers = 1,
		};
		if (gc_type_register(known->heap, &desc, &known->types[i]))
			die("cannot register the type %s: %s", desc.name, gc_error());
	}
	known->workers = must_alloc(known->threads * sizeof(*known->workers));
	for (uint32_t i = 0; i < known->threads; i++) {
		known->workers[i].known = known;
		known->workers[i].index = i;
	}
}

/* What the program kept and what the collector promoted must be the same bytes. */
static void check_survivors(const struct known *known)
{
	struct gc_stats stats;
	uint64_t kept = 0;
	for (uint32_t i = 0; i < known->threads; i++) {
		for (uint32_t kind = 0; kind < N_KINDS; kind++)
			kept += known->workers[i].survivors[kind] * GC_ALIGN(kinds[kind].size);
	}
	gc_stats(known->heap, &stats);
	if (stats.promoted_bytes != kept)
		die("the collector promoted %llu bytes, but the program kept %llu",
		    (unsigned long long)stats.promoted_bytes, (unsigned long long)kept);
}

static void known_close(struct known *known)
{
	free(known->workers);
	gc_heap_destroy(known->heap);
}

static const char usage[] =
	"usage: known [OPTION]...\n"
	"Does exactly known amounts of work and prints them as one line of JSON.\n"
	"\n"
	"  -t, --threads N    threads (default 2)\n"
	"  -s, --scale N      multiplies what is allocated, about 246 MB (default 1;\n"
	"                     0: nothing)\n"
	"  -b, --burn-ms MS   CPU time burned by all threads together, in burn_a,\n"
	"                     burn_b and burn_c as 1:2:3 (default 1500)\n"
	"  -c, --calls N      multiplies the system calls (default 1; 0: none)\n"
	"      --seed N       accepted and ignored: nothing here is random\n"
	"  -h, --help         this text\n";

static const struct option options[] = {
	{"threads", required_argument, NULL, 't'},
	{"scale", required_argument, NULL, 's'},
	{"burn-ms", required_argument, NULL, 'b'},
	{"calls", required_argument, NULL, 'c'},
	{"seed", required_argument, NULL, 'r'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static void parse_options(struct known *known, int argc, char **argv)
{
	int option;
	while ((option = getopt_long(argc, argv, "t:s:b:c:h", options, NULL)) != -1) {
		switch (option) {
		case 't':
			known->threads =
				(uint32_t)option_number("--threads", optarg, 1, MAX_THREADS);
			break;
		case 's':
			known->scale = option_number("--scale", optarg, 0, 1000);
			break;
		case 'b':
			known->burn_ns = option_number("--burn-ms", optarg, 0, 1000000) * 1000000;
			break;
		case 'c':
			known->calls = option_number("--calls", optarg, 0, 1000);
			break;
		case 'r':
			option_number("--seed", optarg, 0, UINT64_MAX);
			break;
		case 'h':
			fputs(usage, stdout);
			exit(EXIT_SUCCESS);
		default:
			die_usage();
		}
	}
	if (optind < argc) {
		fprintf(stderr, "known: '%s': no arguments are needed\n", argv[optind]);
		die_usage();
	}
}

int main(int argc, char **argv)
{
	struct known known = {
		.threads = 2,
		.scale = 1,
		.burn_ns = UINT64_C(1500) * 1000000,
		.calls = 1,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.turned = PTHREAD_COND_INITIALIZER,
	};
	parse_options(&known, argc, argv);
	known_open(&known);
	run_workers(&known);
	check_survivors(&known);
	truth_print(&known);
	known_close(&known);
	return EXIT_SUCCESS;
}
