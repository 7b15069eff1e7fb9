/* SPDX-License-Identifier: BSD-2-Clause */
/* blocks.c: programs that do little but allocate and free; prints the CPU time of a pair of these,
 * ns.
 */
/*
 *	blocks pairs COUNT	each block is freed at once, sizes from 16 to 271 bytes
 *	blocks ring COUNT	the same, 1000 blocks later
 *	blocks live COUNT LIVE	LIVE blocks of 64 bytes: one of them, at random, is replaced
 *	blocks trees COUNT	binary trees of up to depth 14, which differ, are built, walked and
 *freed blocks large COUNT	blocks of 100 KB to 1 MB of which the first and last byte are
 *written
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RING = 1000, DEPTH = 14 };

static char *ring[RING];

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static char *take(size_t size)
{
	char *volatile block = malloc(size);

	block[0] = block[size - 1] = 1;
	return block;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t run_pairs(uint64_t count, uint64_t unused)
{
	(void)unused;
	for (uint64_t i = 0; i < count; i++)
		free(take(16 + (i & 255)));
	return count;
}

static uint64_t run_ring(uint64_t count, uint64_t unused)
{
	(void)unused;
	for (uint64_t i = 0; i < count; i++) {
		free(ring[i % RING]);
		ring[i % RING] = take(16 + (i & 255));
	}
	return count;
}

static uint64_t run_live(uint64_t count, uint64_t live)
{
	char **blocks = calloc(live, sizeof(*blocks));
	uint64_t state = 88172645463325252;

	for (uint64_t i = 0; i < count; i++) {
		char **block = &blocks[next_random(&state) % live];

		free(*block);
		*block = take(64);
	}
	return count;
}

struct node {
	struct node *left, *right;
};

/*
 * One branch in 256 is missing. Equal trees would get the same memory in the same order each time,
 * which is faster by a third, until a single block is missing there: a sample, for instance.
 */
static struct node *build(int depth, uint64_t *state)
{
	struct node *node;

	if (!depth || !(next_random(state) & 255))
		return NULL;
	node = malloc(sizeof(*node));
	node->left = build(depth - 1, state);
	node->right = build(depth - 1, state);
	return node;
}

static uint64_t walk(const struct node *node)
{
	return node ? 1 + walk(node->left) + walk(node->right) : 0;
}

static void destroy(struct node *node)
{
	if (!node)
		return;
	destroy(node->left);
	destroy(node->right);
	free(node);
}

static uint64_t run_trees(uint64_t count, uint64_t unused)
{
	uint64_t nodes = 0, state = 88172645463325252;

	(void)unused;
	while (count--) {
		struct node *tree = build(DEPTH + 1, &state);

		nodes += walk(tree);
		destroy(tree);
	}
	return nodes;
}

static uint64_t run_large(uint64_t count, uint64_t unused)
{
	uint64_t state = 88172645463325252;

	(void)unused;
	for (uint64_t i = 0; i < count; i++)
		free(take(100000 + next_random(&state) % 900000));
	return count;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		uint64_t (*run)(uint64_t count, uint64_t live);
	} modes[] = {{"pairs", run_pairs},
		     {"ring", run_ring},
		     {"live", run_live},
		     {"trees", run_trees},
		     {"large", run_large}};
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
	uint64_t live = argc > 3 ? strtoull(argv[3], NULL, 0) : 0;

	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(*modes); i++) {
		double begin = now_ns();

		if (strcmp(argv[1], modes[i].name))
			continue;
		count = modes[i].run(count, live);
		printf("%.2f\n", (now_ns() - begin) / (double)count);
		return 0;
	}
	return 2;
}
