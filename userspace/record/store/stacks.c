// SPDX-License-Identifier: BSD-2-Clause
/* stacks.c: turns the tail of an event into a stack of the profile. */
/*
 * The three lists of the tail are first merged into one, outermost frame first, which is looked up
 * in a cache: programs sample at few call sites, and a hit saves several lookups per frame. The
 * meaning of a frame depends on the process and its mappings, so both are hashed too. Two hashes of
 * 64 bits from a random seed make collisions negligible.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "../machine/clock.h"
#include "stacks.h"
#include "../../runtimes/runtime.h"
#include "../../../bpf/frame_place.h"
#include "../../../bpf/hotspot.h"

#define CACHED_STACKS 16384 /* a power of two */
#define FRAMES_MAX    (2 * STACK_DEPTH_MAX + MANAGED_DEPTH_MAX)

enum frame_kind { FRAME_NATIVE, FRAME_MANAGED, FRAME_KERNEL };

/* A frame, before its file is known. */
struct raw_frame {
	uint64_t kind;  /* enum frame_kind; of a managed frame also its provider, in bits 8 to 15 */
	uint64_t place; /* address; of a managed frame its code and line */
	uint64_t low;   /* managed frames below this address come after it */
};

struct cached_stack {
	uint64_t hash[2]; /* both 0: empty */
	uint64_t stack;
};

/* The stack written last; most stacks begin as the previous one does. */
struct written {
	uint64_t process, changes; /* process id; changes of its mappings */
	uint64_t below;
	size_t n;
	struct raw_frame frames[FRAMES_MAX];
	uint64_t ids[FRAMES_MAX]; /* of the stacks that end with each frame */
};

struct stacks {
	struct profile_writer *writer;
	struct processes *processes;
	uint64_t seed[2];
	struct cached_stack *cache;
	struct raw_frame frames[FRAMES_MAX];
	size_t n_frames;
	size_t function; /* number of frames up to the last interpreted function */
	struct written last;
	uint64_t at;      /* address of the last managed frame seen */
	uint64_t reach;   /* address that the walks reached; UINT64_MAX: the end */
	uint32_t quality; /* of the frames' meaning */
	struct files *files;
	struct stack_dumps *dumps; /* NULL: not created yet */
	uint64_t walks_end;        /* time after which dumps are not unwound; 0: no limit */
};

/* The three lists of a tail, and its stack dump. */
struct tail {
	struct event_stack counts;
	uint8_t provider; /* of the managed frames */
	bool sample;      /* as in struct stack_base */
	const uint64_t *kernel;
	const struct event_native *user;
	const struct event_managed *managed;
	const struct event_copy *copy; /* NULL: none */
};

int stacks_create(struct profile_writer *writer, struct processes *processes, struct files *files,
		  struct stacks **out)
{
	struct stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return -ENOMEM;
	stacks->writer = writer;
	stacks->processes = processes;
	stacks->files = files;
	stacks->cache = calloc(CACHED_STACKS, sizeof(*stacks->cache));
	if (!stacks->cache) {
		free(stacks);
		return -ENOMEM;
	}
	/* If the machine has no randomness so early after boot, none is needed. */
	if (getrandom(stacks->seed, sizeof(stacks->seed), GRND_NONBLOCK) < 0)
		stacks->seed[0] = (uintptr_t)stacks;
	*out = stacks;
	return 0;
}

void stacks_free(struct stacks *stacks)
{
	if (!stacks)
		return;
	stack_dumps_free(stacks->dumps);
	free(stacks->cache);
	free(stacks);
}

uint64_t stacks_walk_until(struct stacks *stacks, uint64_t time)
{
	uint64_t before = stacks->walks_end;

	stacks->walks_end = time;
	return before;
}

static int split_tail(const struct event_stack *counts, struct bytes bytes, struct tail *tail)
{
	size_t size = counts->n_kernel * sizeof(*tail->kernel) +
		      counts->n_user * sizeof(*tail->user) +
		      counts->n_managed * sizeof(*tail->managed);

	if (counts->n_kernel > STACK_DEPTH_MAX || counts->n_user > STACK_DEPTH_MAX ||
	    counts->n_managed > MANAGED_DEPTH_MAX || size > bytes.size)
		return -EBADMSG;
	tail->counts = *counts;
	tail->counts.quality &= ~STACK_COPIED;
	tail->kernel = (const void *)bytes.data;
	tail->user = (const void *)(tail->kernel + counts->n_kernel);
	tail->managed = (const void *)(tail->user + counts->n_user);
	tail->copy = NULL;
	if (!(counts->quality & STACK_COPIED))
		return 0;
	tail->copy = (const void *)(tail->managed + counts->n_managed);
	if (bytes.size - size < sizeof(*tail->copy) ||
	    tail->copy->size > bytes.size - size - sizeof(*tail->copy))
		return -EBADMSG;
	return 0;
}

#define QUALITY_USER (STACK_USER_FAILED | STACK_USER_CUT | STACK_USER_END | STACK_USER_GUESSED)

size_t stacks_own_frames(const struct runtime_facts *facts, const uint64_t *places, size_t count)
{
	const uint64_t around = facts->around.end - facts->around.begin;
	size_t own = 0, outer;

	while (own < count && runtime_is_own(facts, places[own]))
		own++;
	outer = own;
	while (outer < count && places[outer] - facts->around.begin < around)
		outer++;
	if (outer < count && frame_place_is_bytecode(places[outer]))
		own = outer;
	return own < count ? own : 0;
}

/* The link-time address of a frame in this file; 0: it is in another. Encoded frames stay as they
 * are. */
static uint64_t place_in(struct stacks *stacks, const struct process *process,
			 const struct file *file, const struct event_native *frame, size_t depth)
{
	uint64_t ip = frame->ip - (depth > 0), moved;
	const struct mapping *mapping;

	if (frame_place_is_made(frame->ip))
		return frame->ip;
	mapping = mappings_find(process->mappings, ip);
	return mapping && files_by_module(stacks->files, mapping->module) == file &&
			       facts_locate(&file->facts, mapping->start, mapping->offset, 0,
					    &moved)
		       ? ip - moved
		       : 0;
}

/*
 * Leaves out the innermost frames of a sample that are a runtime's own: of the first frame's file,
 * if that frame is the place that reports samples. Parts of the file may be mapped a second time,
 * as V8 does with its builtin functions.
 */
static void leave_own_out(struct stacks *stacks, const struct process *process, struct tail *tail)
{
	const size_t count = tail->counts.n_user;
	const struct mapping *mapping = count ? mappings_find(process->mappings, tail->user[0].ip)
					      : NULL;
	const struct file *file = mapping ? files_by_module(stacks->files, mapping->module) : NULL;
	uint64_t places[STACK_DEPTH_MAX], last = 1;
	size_t n = 0, own;

	if (!file || !file->facts.runtime.sampled)
		return;
	while (n < count && last && !frame_place_is_bytecode(last)) {
		last = place_in(stacks, process, file, &tail->user[n], n);
		places[n++] = last;
	}
	if (places[0] != file->facts.runtime.sampled)
		return;
	own = stacks_own_frames(&file->facts.runtime, places, n);
	tail->user += own;
	tail->counts.n_user = (uint16_t)(tail->counts.n_user - own);
}

/* Takes the stack from a dump, unless it is no better than the other. */
static void take_walk(const struct stack_walk *walk, struct tail *tail, struct stored_stack *out)
{
	const uint32_t worse = STACK_USER_FAILED | STACK_USER_END | STACK_USER_GUESSED;

	if (tail->copy->flags & COPY_WALKED && walk->quality & worse)
		return;
	tail->user = walk->frames;
	tail->counts.n_user = (uint16_t)walk->count;
	tail->counts.quality &= (uint16_t)~QUALITY_USER;
	tail->counts.quality |= (uint16_t)walk->quality;
	out->dump_short = walk->cut_short;
}

/* Unwinds the stack dump. */
static int walk_dump(struct stacks *stacks, const struct process *process, struct tail *tail,
		     struct stored_stack *out)
{
	static const struct stack_walk none = {.quality = STACK_USER_FAILED};
	const struct stack_walk *walk;
	int err = 0;

	if (stacks->walks_end && clock_now() > stacks->walks_end) {
		stack_dumps_skip(stacks->dumps);
		take_walk(&none, tail, out);
		return 0;
	}
	if (!stacks->dumps)
		err = stack_dumps_create(stacks->files, &stacks->dumps);
	if (!err)
		err = stack_dumps_walk(stacks->dumps, process, tail->copy, tail->copy + 1, &walk);
	if (err)
		return err;
	take_walk(walk, tail, out);
	return 0;
}

/* Where a walk followed frame pointers for lack of unwind rows, what it took for a return address
 * may be any word of the stack: what lies in no code that is mapped ends the walk. */
static void leave_guesses_out(const struct process *process, struct tail *tail)
{
	for (uint32_t i = 1; i < tail->counts.n_user; i++) {
		uint64_t ip = tail->user[i].ip;

		if (ip >= HOTSPOT_INTERPRETED || frame_place_is_bytecode(ip) ||
		    mappings_find(process->mappings, ip - 1))
			continue;
		tail->counts.n_user = i;
		tail->counts.quality |= STACK_USER_END;
	}
}

static enum frame_kind kind_of(const struct raw_frame *frame)
{
	return (enum frame_kind)(frame->kind & 0xff);
}

static void add_frame(struct stacks *stacks, uint64_t kind, uint64_t place, uint64_t low)
{
	stacks->frames[stacks->n_frames++] = (struct raw_frame){kind, place, low};
}

/*
 * The address to look up. A caller is known by its return address, which may belong to the next
 * line or, after a call that never returns, to the next function; one byte before is inside the
 * call.
 */
static void add_address(struct stacks *stacks, enum frame_kind kind, uint64_t ip, size_t depth,
			uint64_t low)
{
	if ((ip >= HOTSPOT_INTERPRETED || frame_place_is_bytecode(ip)) && kind == FRAME_NATIVE)
		add_frame(stacks, kind, ip, low);
	else if (ip)
		add_frame(stacks, kind, depth ? ip - 1 : ip, low);
	else if (kind == FRAME_KERNEL)
		add_frame(stacks, kind, 0, low);
}

/* Address of a managed frame; one without an address is at the last one's, which called it. */
static uint64_t address_of(struct stacks *stacks, const struct event_managed *frame)
{
	if (frame->address & ~(uint64_t)MANAGED_FLAGS)
		stacks->at = frame->address & ~(uint64_t)MANAGED_FLAGS;
	return stacks->at;
}

/* Adds an interpreted function. One that goes on in compiled code is shown once: what lies between
 * is the interpreter's. */
static void add_function(struct stacks *stacks, const struct event_managed *frame, uint64_t place)
{
	if (frame->address & MANAGED_COMPILED && stacks->function &&
	    stacks->frames[stacks->function - 1].place == place)
		stacks->n_frames = stacks->function;
	else
		add_frame(stacks, FRAME_NATIVE, place, stacks->at);
	stacks->function = stacks->n_frames;
}

/* Adds the managed frames at or above `limit`, outermost first. Returns how many are left. */
static size_t add_managed(struct stacks *stacks, const struct tail *tail, size_t left,
			  uint64_t limit)
{
	while (left && address_of(stacks, &tail->managed[left - 1]) >= limit) {
		const struct event_managed *frame = &tail->managed[--left];
		uint64_t place = (uint64_t)frame->code << 32 | frame->pc;

		if (!(frame->address & MANAGED_PLACE))
			add_frame(stacks, FRAME_MANAGED | (uint64_t)tail->provider << 8, place,
				  frame->address);
		else if (frame_place_is_bytecode(place))
			add_function(stacks, frame, place);
	}
	return left;
}

/* Is the next native function, whose callees lie below `limit`, an interpreter's loop? It is
 * replaced by the functions that it runs, if these are known. */
static bool is_interpreter(struct stacks *stacks, const struct tail *tail, size_t left,
			   uint64_t limit)
{
	const struct event_managed *next = left ? &tail->managed[left - 1] : NULL;

	return next && next->address & MANAGED_PLACE &&
	       !(tail->counts.quality & STACK_USER_GUESSED) && address_of(stacks, next) >= limit;
}

/* How far up did the walks get? `highest` is the highest native frame. */
static uint64_t reach_of(const struct tail *tail, uint64_t highest)
{
	const uint32_t quality = tail->counts.quality;
	const size_t managed = tail->counts.n_managed;
	uint64_t reach = UINT64_MAX, last = managed ? tail->managed[managed - 1].address : 0;

	if (quality & (STACK_USER_FAILED | STACK_USER_CUT | STACK_USER_END))
		reach = highest;
	if (quality & (STACK_MANAGED_TORN | STACK_MANAGED_CUT) && last < reach)
		reach = last;
	return reach;
}

/*
 * Merges user and managed frames. A managed frame belongs to the innermost function whose own frame
 * lies above it. It therefore comes before all functions whose frames, like those of all their
 * callees, lie below.
 */
static void order_user(struct stacks *stacks, const struct tail *tail)
{
	uint64_t limits[STACK_DEPTH_MAX + 1]; /* highest frame inside each function */
	size_t n = tail->counts.n_user, left = tail->counts.n_managed;

	limits[0] = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t frame = tail->user[i].frame;

		limits[i + 1] = frame > limits[i] ? frame : limits[i];
	}
	stacks->reach = reach_of(tail, limits[n]);
	stacks->at = UINT64_MAX;
	left = add_managed(stacks, tail, left, limits[n]);
	for (size_t i = n; i-- > 0;) {
		if (!is_interpreter(stacks, tail, left, limits[i]))
			add_address(stacks, FRAME_NATIVE, tail->user[i].ip, i, limits[i]);
		left = add_managed(stacks, tail, left, limits[i]);
	}
}

static void order(struct stacks *stacks, const struct tail *tail)
{
	stacks->n_frames = stacks->function = 0;
	order_user(stacks, tail);
	for (size_t i = tail->counts.n_kernel; i-- > 0;)
		add_address(stacks, FRAME_KERNEL, tail->kernel[i], i, 0);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0xff51afd7ed558ccd);
	hash ^= hash >> 32;
	hash *= UINT64_C(0xc4ceb9fe1a85ec53);
	return hash ^ hash >> 29;
}

static void hash_frames(const struct stacks *stacks, const struct process *process, uint64_t below,
			uint64_t hash[2])
{
	for (int i = 0; i < 2; i++)
		hash[i] =
			mix(mix(mix(stacks->seed[i] + (uint64_t)i, process->id), process->changes),
			    below);
	for (size_t i = 0; i < stacks->n_frames; i++) {
		const struct raw_frame *frame = &stacks->frames[i];

		hash[0] = mix(hash[0] + frame->kind, frame->place);
		hash[1] = mix(hash[1] ^ frame->kind, frame->place + UINT64_C(0x9e3779b97f4a7c15));
	}
}

static uint64_t native_frame(struct stacks *stacks, const struct process *process, uint64_t address)
{
	const struct mapping *mapping = mappings_find(process->mappings, address);

	if (frame_place_is_made(address))
		return profile_writer_native(
			stacks->writer,
			files_generated(stacks->files, stacks->writer, process->id, process->user),
			address);
	if (!mapping)
		return profile_writer_native(stacks->writer, 0, address);
	return profile_writer_native(stacks->writer, mapping->module,
				     address - mapping->start + mapping->offset);
}

static uint64_t managed_frame(struct stacks *stacks, struct process *process,
			      const struct raw_frame *frame)
{
	uint64_t number = process_number(process, (uint8_t)(frame->kind >> 8), frame->place >> 32);

	if (processes_reference(stacks->processes, process, GCPROF_NAME_CODE, number) == -ENOMEM)
		return 0;
	return profile_writer_managed(stacks->writer, process->id, number, (uint32_t)frame->place);
}

static uint64_t write_frame(struct stacks *stacks, struct process *process,
			    const struct raw_frame *frame)
{
	switch (kind_of(frame)) {
	case FRAME_NATIVE:
		return native_frame(stacks, process, frame->place);
	case FRAME_MANAGED:
		return managed_frame(stacks, process, frame);
	case FRAME_KERNEL:
		return profile_writer_kernel(stacks->writer, frame->place);
	}
	return 0;
}

/* How many outermost frames are those of the stack written last. */
static size_t count_same(const struct stacks *stacks, const struct process *process, uint64_t below)
{
	const struct written *last = &stacks->last;
	size_t same = 0;

	if (last->process != process->id || last->changes != process->changes ||
	    last->below != below || !last->n ||
	    !profile_writer_knows_stack(stacks->writer, last->ids[0]))
		return 0;
	while (same < last->n && same < stacks->n_frames &&
	       last->frames[same].kind == stacks->frames[same].kind &&
	       last->frames[same].place == stacks->frames[same].place)
		same++;
	return same;
}

static uint64_t write_frames(struct stacks *stacks, struct process *process, uint64_t below)
{
	struct written *last = &stacks->last;
	size_t same = count_same(stacks, process, below);
	uint64_t stack = same ? last->ids[same - 1] : below;

	last->process = process->id;
	last->changes = process->changes;
	last->below = below;
	last->n = same;
	for (size_t i = same; i < stacks->n_frames; i++) {
		uint64_t frame = write_frame(stacks, process, &stacks->frames[i]);

		stack = frame ? profile_writer_stack(stacks->writer, stack, frame) : 0;
		if (!stack)
			return 0;
		last->frames[i] = stacks->frames[i];
		last->ids[i] = stack;
		last->n = i + 1;
	}
	return stack;
}

/* Generated code is found by address (store_system.c), not by a place in a file. */
static bool is_generated(const struct process *process, const struct raw_frame *frame)
{
	const struct mapping *mapping = mappings_find(process->mappings, frame->place);

	return kind_of(frame) == FRAME_NATIVE && (!mapping || mapping->offset == mapping->start);
}

/* Leaves out the innermost native frame that is in no file, and all frames outside it. */
static void cut_generated(struct stacks *stacks, const struct process *process)
{
	size_t from = stacks->n_frames;

	while (from && !is_generated(process, &stacks->frames[from - 1]))
		from--;
	stacks->n_frames -= from;
	memmove(stacks->frames, stacks->frames + from, stacks->n_frames * sizeof(*stacks->frames));
}

uint64_t stacks_put_known(struct stacks *stacks, struct process *process, uint8_t provider,
			  const struct gcprof_frame *frames, size_t n)
{
	uint64_t stack = 0;

	while (n--) {
		const struct raw_frame frame = {
			.kind = FRAME_MANAGED | (uint64_t)provider << 8,
			.place = (uint64_t)frames[n].code << 32 | frames[n].line,
		};
		uint64_t written = managed_frame(stacks, process, &frame);

		stack = written ? profile_writer_stack(stacks->writer, stack, written) : 0;
		if (!stack)
			return 0;
	}
	return stack;
}

int stacks_put(struct stacks *stacks, struct process *process, const struct stack_base *base,
	       const struct event_stack *counts, struct bytes bytes, struct stored_stack *out)
{
	const uint64_t below = base->below;
	struct tail tail = {.provider = base->provider, .sample = base->sample};
	struct cached_stack *cached;
	uint64_t hash[2];
	int err = split_tail(counts, bytes, &tail);

	*out = (struct stored_stack){.id = below};
	if (!err && tail.copy)
		err = walk_dump(stacks, process, &tail, out);
	if (err)
		return err;
	if (tail.sample)
		leave_own_out(stacks, process, &tail);
	if (tail.counts.quality & STACK_USER_GUESSED && process->mappings)
		leave_guesses_out(process, &tail);
	out->quality = stacks->quality = tail.counts.quality;
	order(stacks, &tail);
	if (base->cut)
		cut_generated(stacks, process);
	if (!stacks->n_frames)
		return 0;
	hash_frames(stacks, process, below, hash);
	cached = &stacks->cache[hash[0] % CACHED_STACKS];
	if (cached->stack && cached->hash[0] == hash[0] && cached->hash[1] == hash[1] &&
	    profile_writer_knows_stack(stacks->writer, cached->stack)) {
		out->id = cached->stack;
		return 0;
	}
	out->id = write_frames(stacks, process, below);
	if (!out->id)
		return -ENOMEM;
	*cached = (struct cached_stack){{hash[0], hash[1]}, out->id};
	return 0;
}

/* The first frame of the innermost function to which a shadow frame at `top` can belong. */
static size_t frame_at(const struct stacks *stacks, size_t from, uint64_t top)
{
	while (from < stacks->n_frames && stacks->frames[from].low > top)
		from++;
	return from;
}

/* Are there managed frames above `above` among these frames? */
static bool has_managed_above(const struct stacks *stacks, size_t from, size_t end, uint64_t above)
{
	for (size_t i = from; i < end; i++)
		if (kind_of(&stacks->frames[i]) == FRAME_MANAGED && stacks->frames[i].low > above)
			return true;
	return false;
}

int stacks_cut(struct stacks *stacks, struct process *process, const struct gcprof_piece *pieces,
	       size_t n, stacks_visit *visit, void *context)
{
	const uint32_t guessed = stacks->quality & STACK_USER_GUESSED;
	uint64_t frames[FRAMES_MAX];
	size_t from = 0, end;

	for (size_t i = 1; i < n; i++)
		if (pieces[i].top >= pieces[i - 1].top)
			return -EBADMSG;
	for (size_t i = 0; i < n; i++, from = end) {
		bool open = pieces[i].top > stacks->reach;
		struct stack_segment segment = {.frames = frames,
						.quality = open ? stacks->quality : guessed,
						.open = open};
		int err;

		end = i + 1 < n ? frame_at(stacks, from, pieces[i + 1].top) : stacks->n_frames;
		/* A segment's key covers its own managed frames and those right above. */
		if (i && has_managed_above(stacks, from, end, pieces[i - 1].top))
			continue;
		for (size_t k = from; k < end; k++) {
			frames[segment.n] = write_frame(stacks, process, &stacks->frames[k]);
			if (!frames[segment.n++])
				return -ENOMEM;
		}
		err = visit(context, pieces[i].piece, &segment);
		if (err)
			return err;
	}
	return 0;
}
