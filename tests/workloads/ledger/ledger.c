/* SPDX-License-Identifier: BSD-2-Clause */
/* ledger.c: adds up payments, in a slow way and in a fixed one: the example to find out why. */
/*
 * Payments are read as records and added up by account. As it is usually first written,
 * all records of a batch are collected before the batch is added up: so they all outlive
 * the nursery, are copied, and die right after that. A profile by CPU time shows a
 * collector that is busy; one by allocation shows who reads records, which is the same in
 * both versions. With --fixed a record is added up as soon as it is read, and dies in the
 * nursery. Both print the same.
 */
#include <getopt.h>
#include <stdbool.h>

#include "gc.h"
#include "../workload.h"

enum { ACCOUNTS = 1000, BATCH = 100000, BATCHES = 300, ITEMS_MAX = 1000000000 };

struct record {
	struct gc_header header;
	uint64_t account, amount, purpose, line;
};

struct batch {
	struct gc_header header;
	uint64_t length;
	struct record *items[];
};

struct ledger {
	struct gc_heap *heap;
	struct gc_thread *thread;
	gc_type record, batch;
	uint64_t balances[ACCOUNTS];
	uint64_t random;
};

/* Stands for a file: the same payments every time. */
static uint64_t next_number(struct ledger *ledger, uint64_t below)
{
	ledger->random = ledger->random * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (ledger->random >> 33) % below;
}

NAMED_FUNCTION static struct record *read_record(struct ledger *ledger, uint64_t number)
{
	struct record *record = GC_NEW(ledger->thread, ledger->record, struct record);

	record->account = next_number(ledger, ACCOUNTS);
	record->amount = next_number(ledger, 1000);
	record->purpose = next_number(ledger, 97);
	record->line = number;
	return record;
}

NAMED_FUNCTION static void add_up(struct ledger *ledger, const struct record *record)
{
	ledger->balances[record->account % ACCOUNTS] += record->amount + record->purpose;
}

NAMED_FUNCTION static void read_batch(struct ledger *ledger, struct batch *batch, uint64_t first)
{
	GC_FRAME(ledger->thread, frame, 0, struct batch * batch;);
	frame.root.batch = batch;
	for (uint64_t i = 0; i < BATCH; i++) {
		struct record *record = read_record(ledger, first + i);

		gc_array_write(ledger->thread, frame.root.batch, (void **)frame.root.batch->items,
			       i, record);
	}
	GC_FRAME_END(ledger->thread, frame);
}

NAMED_FUNCTION static void add_batches(struct ledger *ledger, uint64_t batches)
{
	GC_FRAME(ledger->thread, frame, 0, struct batch * batch;);

	for (uint64_t i = 0; i < batches; i++) {
		frame.root.batch = gc_alloc_array(ledger->thread, ledger->batch, BATCH);
		read_batch(ledger, frame.root.batch, i * BATCH);
		for (uint64_t j = 0; j < BATCH; j++)
			add_up(ledger, frame.root.batch->items[j]);
	}
	GC_FRAME_END(ledger->thread, frame);
}

NAMED_FUNCTION static void add_records(struct ledger *ledger, uint64_t records)
{
	for (uint64_t i = 0; i < records; i++)
		add_up(ledger, read_record(ledger, i));
}

static void ledger_open(struct ledger *ledger)
{
	static const struct gc_type_desc record = {.name = "record", .size = sizeof(struct record)};
	static const uint32_t item_pointers[] = {0};
	static const struct gc_type_desc batch = {
		.name = "batch",
		.size = sizeof(struct batch),
		.item_size = sizeof(struct record *),
		.length_offset = offsetof(struct batch, length),
		.item_pointers = item_pointers,
		.n_item_pointers = 1,
	};

	if (gc_heap_create(NULL, &ledger->heap) ||
	    gc_type_register(ledger->heap, &record, &ledger->record) ||
	    gc_type_register(ledger->heap, &batch, &ledger->batch) ||
	    gc_thread_attach(ledger->heap, &ledger->thread))
		die("cannot set up a heap: %s", gc_error());
}

static const char usage[] = "usage: ledger [--fixed] [BATCHES]\n"
			    "Adds up BATCHES (default 300) of 100,000 payments, and prints a sum.\n"
			    "\n"
			    "      --fixed  add up each payment when it is read, not in batches\n"
			    "  -h, --help   this text\n";

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"help", no_argument, NULL, 'h'}, {"fixed", no_argument, NULL, 'f'}, {0}};
	struct ledger ledger = {.random = 1};
	uint64_t batches = BATCHES, sum = 0;
	bool fixed = false;
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (option == 'h') {
			fputs(usage, stdout);
			return EXIT_SUCCESS;
		}
		if (option != 'f')
			die_usage();
		fixed = true;
	}
	if (optind < argc)
		batches = option_number("BATCHES", argv[optind], 0, ITEMS_MAX / BATCH);
	ledger_open(&ledger);
	if (fixed)
		add_records(&ledger, batches * BATCH);
	else
		add_batches(&ledger, batches);
	for (uint64_t i = 0; i < ACCOUNTS; i++)
		sum = sum * 31 + ledger.balances[i];
	printf("%llu payments, sum %016llx\n", (unsigned long long)(batches * BATCH),
	       (unsigned long long)sum);
	gc_thread_detach(ledger.thread);
	gc_heap_destroy(ledger.heap);
	return EXIT_SUCCESS;
}
