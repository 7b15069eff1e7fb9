/* SPDX-License-Identifier: BSD-2-Clause */
/* indexer.c: builds an inverted index of real directories on the collected heap. */
/*
 * A program as people write them: it reads files, keeps what it learns in tables
 * that grow, answers questions and writes a result. Long-lived data, short-lived
 * strings, recursion, and many small system calls. A tree that does not change
 * gives the same output every time.
 */
#include <fcntl.h>
#include <getopt.h>
#include <sys/stat.h>
#include <unistd.h>

#include "indexer.h"

struct settings {
	char **paths;
	int n_paths;
	const char *queries[MAX_QUERIES];
	int n_queries;
	const char *output; /* NULL: a temporary file */
	uint64_t passes;
};

static const char *const common_words[] = {"the", "include", "license", "struct", "collector"};

NAMED_FUNCTION static struct index *build(struct indexer *indexer, const struct settings *settings)
{
	struct gc_thread *thread = indexer->thread;
	struct index *index;
	GC_FRAME(thread, frame, 0, struct index * index;);
	frame.root.index = index_new(indexer);
	indexer->skipped = 0;
	indexer->binary = 0;
	for (int i = 0; i < settings->n_paths; i++) {
		int err = walk(indexer, frame.root.index, settings->paths[i]);
		if (err)
			die("cannot read %s: %s", settings->paths[i],
			    err == -EINVAL ? "neither a directory nor a regular file"
					   : strerror(-err));
	}
	index = frame.root.index;
	GC_FRAME_END(thread, frame);
	return index;
}

/* The posting with the highest count; of equals the first. The term has one at least. */
static const struct posting *best_posting(const struct term *term)
{
	const struct posting *best = &term->postings->items[0];
	for (uint64_t i = 1; i < term->used; i++) {
		if (term->postings->items[i].count > best->count)
			best = &term->postings->items[i];
	}
	return best;
}

/* Nothing here allocates: the index stays where it is. */
NAMED_FUNCTION static void answer(const struct index *index, const char *query)
{
	char word[MAX_WORD];
	size_t length = 0;
	const struct term *term;
	for (; length < MAX_WORD && query[length]; length++) {
		char byte = query[length];
		word[length] = byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
	}
	term = index_find(index, word, length);
	printf("query=%s files=%llu occurrences=%llu", query,
	       (unsigned long long)(term ? term->used : 0),
	       (unsigned long long)(term ? term->total : 0));
	if (term) {
		const struct posting *best = best_posting(term);
		const struct file *file = index->files->items[best->file];
		printf(" most=%u in %.*s", best->count, (int)file->path->length, file->path->bytes);
	}
	putchar('\n');
}

/* The file that the user named, or one that has no name any more. */
static int open_output(const char *path)
{
	char name[PATH_MAX];
	const char *dir = getenv("TMPDIR");
	int fd;
	if (path) {
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (fd < 0)
			die("cannot write %s: %s", path, strerror(errno));
		return fd;
	}
	if (!dir || !*dir)
		dir = "/tmp";
	if (snprintf(name, sizeof(name), "%s/indexer-XXXXXX", dir) >= (int)sizeof(name))
		die("the name of the temporary directory is too long");
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		die("cannot make a temporary file in %s: %s", dir, strerror(errno));
	unlink(name);
	return fd;
}

static void print_summary(const struct indexer *indexer, const struct index *index,
			  uint64_t index_bytes)
{
	printf("files=%llu words=%llu distinct=%llu postings=%llu bytes=%llu index_bytes=%llu "
	       "binary=%llu skipped=%llu\n",
	       (unsigned long long)index->n_files, (unsigned long long)index->n_words,
	       (unsigned long long)index->n_terms, (unsigned long long)index->n_postings,
	       (unsigned long long)index->n_bytes, (unsigned long long)index_bytes,
	       (unsigned long long)indexer->binary, (unsigned long long)indexer->skipped);
}

static void run(struct indexer *indexer, const struct settings *settings)
{
	uint64_t index_bytes;
	int fd = open_output(settings->output); /* first, so that a bad name costs no time */
	int err;
	GC_FRAME(indexer->thread, frame, 0, struct index * index;);
	for (uint64_t pass = 0; pass < settings->passes; pass++)
		frame.root.index = build(indexer, settings); /* the last one is garbage now */
	for (int i = 0; i < settings->n_queries; i++)
		answer(frame.root.index, settings->queries[i]);
	err = output_write(frame.root.index, fd, &index_bytes);
	if (close(fd) && !err)
		err = -errno;
	if (err)
		die("cannot write the index: %s", strerror(-err));
	print_summary(indexer, frame.root.index, index_bytes);
	GC_FRAME_END(indexer->thread, frame);
}

static const char usage[] =
	"usage: indexer [OPTION]... PATH...\n"
	"Builds an inverted index of the text files in directories, answers queries and\n"
	"writes the index to a file. Links are not followed; what cannot be read is counted.\n"
	"\n"
	"  -q, --query WORD     look this word up (may be repeated; default: a few\n"
	"                       common words)\n"
	"  -o, --output FILE    where the index goes (default: a temporary file that\n"
	"                       is removed)\n"
	"  -m, --max-files N    stop after so many files (default 0: no limit)\n"
	"  -p, --passes N       build the index so many times (default 1)\n"
	"  -h, --help           this text\n";

static const struct option options[] = {
	{"query", required_argument, NULL, 'q'},
	{"output", required_argument, NULL, 'o'},
	{"max-files", required_argument, NULL, 'm'},
	{"passes", required_argument, NULL, 'p'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static void parse_option(struct settings *settings, struct indexer *indexer, int option)
{
	switch (option) {
	case 'q':
		if (settings->n_queries == MAX_QUERIES)
			die("--query: more than %d words", MAX_QUERIES);
		settings->queries[settings->n_queries++] = optarg;
		break;
	case 'o':
		settings->output = optarg;
		break;
	case 'm':
		indexer->max_files = option_number("--max-files", optarg, 0, UINT32_MAX);
		break;
	case 'p':
		settings->passes = option_number("--passes", optarg, 1, 1000000);
		break;
	case 'h':
		fputs(usage, stdout);
		exit(EXIT_SUCCESS);
	default:
		die_usage();
	}
}

static void parse_options(struct settings *settings, struct indexer *indexer, int argc, char **argv)
{
	int option;
	while ((option = getopt_long(argc, argv, "q:o:m:p:h", options, NULL)) != -1)
		parse_option(settings, indexer, option);
	if (optind == argc) {
		fprintf(stderr, "indexer: which directory?\n");
		die_usage();
	}
	settings->paths = argv + optind;
	settings->n_paths = argc - optind;
	if (!settings->n_queries) {
		settings->n_queries = sizeof(common_words) / sizeof(common_words[0]);
		memcpy(settings->queries, common_words, sizeof(common_words));
	}
}

int main(int argc, char **argv)
{
	struct settings settings = {.passes = 1};
	struct indexer indexer = {0};
	parse_options(&settings, &indexer, argc, argv);
	indexer_open(&indexer);
	run(&indexer, &settings);
	indexer_close(&indexer);
	return EXIT_SUCCESS;
}
