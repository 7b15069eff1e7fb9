/* SPDX-License-Identifier: BSD-2-Clause */
/* churn.c: short-lived objects of several sizes and types, allocated at full speed. */
/*
 * Every thread goes down a chain of real calls, each with a shadow-stack frame,
 * and then allocates objects of the given sizes in turn. Each size is a type of
 * its own. A small ring keeps a few of them alive for a while, so that each
 * minor collection has something to promote and the old generation some garbage.
 */
#include <getopt.h>
#include <pthread.h>

#include "gc.h"
#include "../workload.h"

enum {
	MAX_SIZES = 32,
	MAX_THREADS = 256,
	MAX_DEPTH = 1000,
	MAX_KEEP = 1 << 20,
	MIN_SIZE = 16,
	MAX_SIZE = 1 << 26,
	KEEP_EVERY = 64,      /* one object in so many goes into the ring */
	ROUND_OBJECTS = 4096, /* objects between two looks at the clock */
};

struct object {
	struct gc_header header;
	uint64_t serial;
};

struct ring {
	struct gc_header header;
	uint64_t length;
	struct object *items[];
};

struct settings {
	uint64_t bytes; /* a thread, 0: no limit */
	uint64_t keep;
	uint64_t threads;
	uint64_t depth;
	uint64_t seconds; /* 0: no limit */
	uint64_t sizes[MAX_SIZES];
	uint32_t n_sizes;
};

struct churn {
	struct settings settings;
	struct gc_heap *heap;
	gc_type types[MAX_SIZES];
	gc_type ring;
	uint32_t code_descend;
	uint64_t deadline; /* CLOCK_MONOTONIC, 0: none */
};

/* One mutator; what it did is read after it was joined. */
struct worker {
	struct churn *churn;
	struct gc_thread *thread;
	pthread_t pthread;
	uint64_t bytes;
	uint64_t objects;
};

/* Allocates up to ROUND_OBJECTS objects; 0 when the thread's bytes are used up. */
NAMED_FUNCTION static int churn_round(struct worker *worker, struct ring *ring)
{
	const struct churn *churn = worker->churn;
	const struct settings *settings = &churn->settings;
	struct gc_thread *thread = worker->thread;
	uint64_t limit = settings->bytes ? settings->bytes : UINT64_MAX;
	uint64_t bytes = worker->bytes; /* in registers, not in memory that threads share */
	uint64_t serial = worker->objects;
	uint64_t end = serial + ROUND_OBJECTS;
	uint32_t next = (uint32_t)(serial % settings->n_sizes);
	GC_FRAME(thread, frame, 0, struct ring * ring;);
	frame.root.ring = ring;
	for (; serial < end && bytes < limit; serial++) {
		size_t size = settings->sizes[next];
		struct object *object = gc_alloc(thread, churn->types[next], size);
		object->serial = serial;
		bytes += GC_ALIGN(size);
		if (settings->keep && serial % KEEP_EVERY == 0) {
			uint64_t slot = serial / KEEP_EVERY % settings->keep;
			gc_write(thread, frame.root.ring, &frame.root.ring->items[slot], object);
		}
		if (++next == settings->n_sizes)
			next = 0;
	}
	GC_FRAME_END(thread, frame);
	worker->bytes = bytes;
	worker->objects = serial;
	return bytes < limit;
}

static void churn_loop(struct worker *worker)
{
	struct churn *churn = worker->churn;
	struct gc_thread *thread = worker->thread;
	GC_FRAME(thread, frame, 0, struct ring * ring;);
	frame.root.ring = gc_alloc_array(thread, churn->ring, churn->settings.keep);
	worker->bytes = GC_ALIGN(sizeof(struct ring) + churn->settings.keep * sizeof(void *));
	while (churn_round(worker, frame.root.ring)) {
		if (churn->deadline && clock_ns(CLOCK_MONOTONIC) >= churn->deadline)
			break;
	}
	GC_FRAME_END(thread, frame);
}

/* One native and one managed frame for every level, then the work. */
NAMED_FUNCTION static void descend(struct worker *worker, uint64_t levels)
{
	struct gc_thread *thread = worker->thread;
	GC_FRAME(thread, frame, worker->churn->code_descend, struct object * unused;);
	frame.header.pc = __LINE__;
	if (levels > 1)
		descend(worker, levels - 1);
	else
		churn_loop(worker);
	GC_FRAME_END(thread, frame);
}

static void *worker_main(void *arg)
{
	struct worker *worker = arg;
	if (gc_thread_attach(worker->churn->heap, &worker->thread))
		die("cannot attach a thread: %s", gc_error());
	if (worker->churn->settings.depth)
		descend(worker, worker->churn->settings.depth);
	else
		churn_loop(worker);
	gc_thread_detach(worker->thread);
	return NULL;
}

/* The first worker runs on the calling thread, the others on threads of their own. */
static void run_workers(struct worker *workers, uint64_t count)
{
	for (uint64_t i = 1; i < count; i++) {
		int err = pthread_create(&workers[i].pthread, NULL, worker_main, &workers[i]);
		if (err)
			die("cannot start thread %d: %s", (int)i, strerror(err));
	}
	worker_main(&workers[0]);
	for (uint64_t i = 1; i < count; i++)
		pthread_join(workers[i].pthread, NULL);
}

static void churn_open(struct churn *churn)
{
	static const uint32_t zero = 0;
	const struct settings *settings = &churn->settings;
	const struct gc_type_desc ring = {
		.name = "ring",
		.size = sizeof(struct ring),
		.item_size = sizeof(struct object *),
		.length_offset = offsetof(struct ring, length),
		.item_pointers = &zero,
		.n_item_pointers = 1,
	};
	if (gc_heap_create(NULL, &churn->heap) ||
	    gc_type_register(churn->heap, &ring, &churn->ring))
		die("cannot set up a heap: %s", gc_error());
	for (uint32_t i = 0; i < settings->n_sizes; i++) {
		char name[32];
		struct gc_type_desc desc = {.name = name, .size = (uint32_t)settings->sizes[i]};
		snprintf(name, sizeof(name), "object%llu", (unsigned long long)settings->sizes[i]);
		if (gc_type_register(churn->heap, &desc, &churn->types[i]))
			die("cannot register the type %s: %s", name, gc_error());
	}
	churn->code_descend = gc_code("descend", __FILE__, __LINE__);
	if (settings->seconds)
		churn->deadline = clock_ns(CLOCK_MONOTONIC) + settings->seconds * 1000000000;
}

static void print_summary(struct churn *churn, const struct worker *workers, uint64_t ns)
{
	uint64_t bytes = 0;
	uint64_t objects = 0;
	struct gc_stats stats;
	for (uint64_t i = 0; i < churn->settings.threads; i++) {
		bytes += workers[i].bytes;
		objects += workers[i].objects;
	}
	gc_stats(churn->heap, &stats);
	printf("threads=%llu bytes=%llu objects=%llu seconds=%.3f minor=%llu full=%llu "
	       "promoted=%llu\n",
	       (unsigned long long)churn->settings.threads, (unsigned long long)bytes,
	       (unsigned long long)objects, (double)ns / 1e9,
	       (unsigned long long)stats.minor_collections,
	       (unsigned long long)stats.full_collections,
	       (unsigned long long)stats.promoted_bytes);
}

static const char usage[] =
	"usage: churn [OPTION]...\n"
	"Allocates short-lived objects at full speed and prints one line of summary.\n"
	"\n"
	"  -b, --bytes SIZE     bytes each thread allocates (default 16G, or no limit\n"
	"                       when --seconds is given; 0: no limit)\n"
	"  -s, --sizes LIST     sizes of the objects, with commas, one type each\n"
	"                       (default 16,24,32,48,64,128,512)\n"
	"  -t, --threads N      threads that allocate (default 1)\n"
	"  -k, --keep N         objects that a thread keeps alive (default 256)\n"
	"  -d, --depth N        calls below which it allocates (default 8)\n"
	"  -S, --seconds N      stop after so many seconds\n"
	"  -h, --help           this text\n"
	"Sizes understand the suffixes K, M and G.\n";

static void parse_sizes(struct settings *settings, char *list)
{
	char *save;
	settings->n_sizes = 0;
	for (char *item = strtok_r(list, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		uint64_t size = option_size("--sizes", item, MIN_SIZE, MAX_SIZE);
		for (uint32_t i = 0; i < settings->n_sizes; i++) {
			if (settings->sizes[i] == size)
				die("--sizes: %s is there twice", item);
		}
		if (settings->n_sizes == MAX_SIZES)
			die("--sizes: more than %d sizes", MAX_SIZES);
		settings->sizes[settings->n_sizes++] = size;
	}
	if (!settings->n_sizes)
		die_value("--sizes", list, "a list of sizes");
}

static const struct option options[] = {
	{"bytes", required_argument, NULL, 'b'},   {"sizes", required_argument, NULL, 's'},
	{"threads", required_argument, NULL, 't'}, {"keep", required_argument, NULL, 'k'},
	{"depth", required_argument, NULL, 'd'},   {"seconds", required_argument, NULL, 'S'},
	{"help", no_argument, NULL, 'h'},          {0},
};

static void parse_option(struct settings *settings, int option)
{
	switch (option) {
	case 'b':
		settings->bytes = option_size("--bytes", optarg, 0, UINT64_C(1) << 50);
		break;
	case 's':
		parse_sizes(settings, optarg);
		break;
	case 't':
		settings->threads = option_number("--threads", optarg, 1, MAX_THREADS);
		break;
	case 'k':
		settings->keep = option_number("--keep", optarg, 0, MAX_KEEP);
		break;
	case 'd':
		settings->depth = option_number("--depth", optarg, 0, MAX_DEPTH);
		break;
	case 'S':
		settings->seconds = option_number("--seconds", optarg, 1, 1000000);
		break;
	case 'h':
		fputs(usage, stdout);
		exit(EXIT_SUCCESS);
	default:
		die_usage();
	}
}

static void parse_options(struct settings *settings, int argc, char **argv)
{
	static const struct settings defaults = {
		.bytes = UINT64_MAX,
		.keep = 256,
		.threads = 1,
		.depth = 8,
		.sizes = {16, 24, 32, 48, 64, 128, 512},
		.n_sizes = 7,
	};
	int option;
	*settings = defaults;
	while ((option = getopt_long(argc, argv, "b:s:t:k:d:S:h", options, NULL)) != -1)
		parse_option(settings, option);
	if (optind < argc) {
		fprintf(stderr, "churn: '%s': no arguments are needed\n", argv[optind]);
		die_usage();
	}
	if (settings->bytes == UINT64_MAX)
		settings->bytes = settings->seconds ? 0 : UINT64_C(16) << 30;
	if (!settings->bytes && !settings->seconds)
		die("--bytes 0 needs --seconds, or it would never end");
}

int main(int argc, char **argv)
{
	struct churn churn = {0};
	struct worker *workers;
	uint64_t start;
	parse_options(&churn.settings, argc, argv);
	churn_open(&churn);
	workers = must_alloc(churn.settings.threads * sizeof(*workers));
	for (uint64_t i = 0; i < churn.settings.threads; i++)
		workers[i].churn = &churn;
	start = clock_ns(CLOCK_MONOTONIC);
	run_workers(workers, churn.settings.threads);
	print_summary(&churn, workers, clock_ns(CLOCK_MONOTONIC) - start);
	free(workers);
	gc_heap_destroy(churn.heap);
	return EXIT_SUCCESS;
}
