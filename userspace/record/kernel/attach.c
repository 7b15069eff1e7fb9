/* SPDX-License-Identifier: BSD-2-Clause */
/* attach.c: attaches the probe program to files, each file once, in a separate process. */
#include "attach.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "../../reader/worker.h"
#include "../../util/log.h"
#include "../../util/map.h"
#include "../machine/capabilities.h"
#include "../machine/clock.h"
#include "../../util/proc_file.h"
#include "attacher.h"
#include "locked.h"

#define LIMIT_NS      UINT64_C(2000000000)  /* of a request, before a message */
#define ONE_BY_ONE_NS UINT64_C(10000000000) /* to remove probes with one link each */
#define CHECK_NS      UINT64_C(150000000)   /* between two checks for obstacles */
#define BUSY_NS       UINT64_C(1000000000) /* time that a program is in the way, before a message */

enum { NOP = 0x90, POLL_MS = 20, NAMED_MAX = 4 };

/* The program may be waiting for a file whose server does not answer, and cannot end before
 * that. */
#define END_IT                                                                                 \
	"End it (kill -KILL), and the FUSE server whose answer it waits for, if there is one " \
	"(/sys/fs/fuse/connections/*/abort): "

/* Data of a file, at its first place. */
struct attachment {
	uint32_t count;    /* places; 0: not a file's first place */
	uint64_t user;     /* owner of the file */
	struct file *file; /* being attached; NULL: attached */
};

struct attach {
	int program, places;     /* descriptors */
	struct bpf_link *locked; /* an iterator over programs with locked memory maps */
	bool multi;
	struct worker *attacher;
	uint64_t began;                /* begin of its request; 0: none */
	bool late;                     /* it takes too long, and a message said so */
	uint32_t suspects[LOCKED_MAX]; /* locked at each check since then */
	size_t n_suspects;
	uint64_t next_check; /* ns */
	uint64_t deaths;
	uint32_t obstacle;       /* the last program in the way; 0: none */
	uint64_t obstacle_since; /* ns; 0: a message has named it */
	uint32_t n_places;       /* used in the map */
	uint32_t n_providers;
	unsigned count[PROBES];
	struct map *used; /* owner of files to the number of their places */
	uint64_t latest;
	bool in_use[PROBE_PLACES_MAX];
	struct attachment attachments[PROBE_PLACES_MAX];
	uint32_t queue[PROBE_PLACES_MAX]; /* first places of pending files, a circular buffer */
	size_t queue_from, queued;
	uint32_t detaching[PROBE_PLACES_MAX]; /* first places of files */
	size_t n_detaching;
	bool detaches; /* that is the current request */
};

bool attach_multi_supported(void)
{
	struct utsname name;
	unsigned major = 0, minor = 0;

	if (getenv("GCPROF_TEST_PROBES_ONE_BY_ONE"))
		return false;
	if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2)
		return false;
	return major > 6 || (major == 6 && minor >= 6);
}

void attach_prepare(struct bpf_program *program, bool multi)
{
	if (multi)
		bpf_program__set_expected_attach_type(
			program, (enum bpf_attach_type)ATTACH_TYPE_UPROBE_MULTI);
}

int attach_create(bool multi, struct attach **out)
{
	struct attach *attach = calloc(1, sizeof(*attach));
	int err = attach ? worker_create(WORKER_ATTACHER, true, &attach->attacher) : -ENOMEM;

	if (!err) {
		attach->multi = multi;
		attach->used = map_create(sizeof(uint64_t));
		worker_lend(attach->attacher, capabilities_lend);
		err = attach->used ? worker_prepare(attach->attacher) : -ENOMEM;
	}
	if (err)
		attach_free(attach);
	else
		*out = attach;
	return err;
}

int attach_begin(struct attach *attach, const struct bpf_program *program, int places,
		 const struct bpf_program *locked)
{
	attach->program = bpf_program__fd(program);
	attach->places = places;
	attach->locked = bpf_program__attach_iter(locked, NULL);
	return attach->locked ? 0 : -errno;
}

/* --- places ------------------------------------------------------------------------------- */

/* The first of `count` consecutive free places; PROBE_PLACES_MAX: none. */
static uint32_t find_room(const struct attach *attach, uint32_t count)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < PROBE_PLACES_MAX && i - first < count; i++)
		if (attach->in_use[i])
			first = i + 1;
	return first + count <= PROBE_PLACES_MAX ? first : PROBE_PLACES_MAX;
}

/* Writes the argument locations for the kernel side. */
static int put_places(struct attach *attach, const struct file *file, uint32_t first)
{
	for (uint32_t i = 0; i < file->facts.n_sites; i++) {
		uint32_t key = first + i;
		struct probe_place place = file->sites[i].place;
		int err;

		place.provider = file->provider;
		err = bpf_map_update_elem(attach->places, &key, &place, BPF_ANY);
		if (err)
			return err;
	}
	return 0;
}

/* Probes being removed may still fire, in addition to those that replace them. */
static void silence_places(const struct attach *attach, uint32_t first)
{
	const struct probe_place silent = {.probe = UINT32_MAX};

	for (uint32_t i = 0; i < attach->attachments[first].count; i++) {
		uint32_t key = first + i;

		(void)bpf_map_update_elem(attach->places, &key, &silent, BPF_ANY);
	}
}

/* Places that the owner of a file may still use: a quarter in all, if not root. */
static uint32_t places_left(struct attach *attach, const struct file *file, uint64_t **used)
{
	uint64_t user = file->user;
	uint32_t all = PROBE_PLACES_MAX - attach->n_places, share = PROBE_PLACES_MAX / 4;

	*used = map_put(attach->used, &user, NULL);
	if (!*used || !user)
		return all;
	share = **used < share ? share - (uint32_t) * *used : 0;
	return share < all ? share : all;
}

static int take_places(struct attach *attach, struct file *file)
{
	uint32_t count = file->facts.n_sites, first = find_room(attach, count);
	uint64_t *used;
	int err;

	if (count > places_left(attach, file, &used) || first == PROBE_PLACES_MAX)
		return -E2BIG;
	file->provider = (uint8_t)(attach->n_providers++ % PROVIDERS_MAX + 1);
	err = put_places(attach, file, first);
	if (err)
		return err;
	attach->attachments[first] = (struct attachment){count, file->user, file};
	memset(&attach->in_use[first], true, count);
	attach->n_places += count;
	if (used)
		*used += count;
	file->first_place = first;
	return 0;
}

static void free_places(struct attach *attach, uint32_t first)
{
	struct attachment *attachment = &attach->attachments[first];
	uint64_t *used = map_get(attach->used, &attachment->user);

	memset(&attach->in_use[first], false, attachment->count);
	attach->n_places -= attachment->count;
	if (used)
		*used -= attachment->count;
	attachment->count = 0;
}

/* A runtime's place counts as a probe of ours. */
static void count_site(struct attach *attach, const struct probe_place *place)
{
	const struct runtime *runtime;

	if (place->probe != PROBE_PLACE) {
		attach->count[place->probe]++;
		return;
	}
	runtime = runtime_get(place->runtime);
	attach->count[PROBE_sample] += runtime->places[place->place].report == PLACE_SAMPLE;
	attach->count[PROBE_gc_begin] += runtime->places[place->place].report == PLACE_PAUSE_BEGIN;
	attach->count[PROBE_gc_end] += runtime->places[place->place].report == PLACE_PAUSE_END;
}

/* --- requests ----------------------------------------------------------------------------- */

static void set_site(struct attacher_site *out, const struct probe_site *site)
{
	*out = (struct attacher_site){.offset = site->offset,
				      .semaphore = site->semaphore,
				      .code = {NOP},
				      .code_size = 1};
	if (site->place.probe != PROBE_PLACE)
		return;
	memcpy(out->code, site->code, sizeof(out->code));
	out->code_size = sizeof(out->code);
}

static int send_file(struct attach *attach, const struct file *file)
{
	static struct attacher_file request;
	const int fds[] = {
		[ATTACHER_PROGRAM] = attach->program,
		[ATTACHER_FILE] = file->fd,
		[ATTACHER_LOCKED] = bpf_link__fd(attach->locked),
	};
	const struct worker_order order = {
		.kind = ATTACHER_ATTACH,
		.data = &request,
		.size = offsetof(struct attacher_file, sites) +
			file->facts.n_sites * sizeof(request.sites[0]),
		.fds = fds,
		.n_fds = sizeof(fds) / sizeof(*fds),
		.cpu_ns = UINT64_MAX,
		.wall_ns = UINT64_MAX,
		.answer_max = sizeof(struct attacher_answer),
	};

	request = (struct attacher_file){.first = file->first_place,
					 .count = file->facts.n_sites,
					 .together = attach->multi};
	for (uint32_t i = 0; i < file->facts.n_sites; i++)
		set_site(&request.sites[i], &file->sites[i]);
	return worker_start(attach->attacher, &order);
}

/* Detaches these files; none: all files. */
static int send_detach(struct attach *attach, const uint32_t *first_places, size_t n)
{
	const struct worker_order order = {
		.kind = ATTACHER_DETACH,
		.data = first_places,
		.size = n * sizeof(*first_places),
		.cpu_ns = UINT64_MAX,
		.wall_ns = UINT64_MAX,
		.answer_max = sizeof(struct attacher_answer),
	};

	return worker_start(attach->attacher, &order);
}

static struct file *first_file(const struct attach *attach)
{
	return attach->attachments[attach->queue[attach->queue_from]].file;
}

/* --- answers ------------------------------------------------------------------------------ */

/* Formats "process 12 (name), process 13 (name)". */
static const char *describe(const uint32_t *pids, size_t n)
{
	static char text[NAMED_MAX * 40];
	size_t used = 0;
	char name[16];

	for (size_t i = 0; i < n && i < NAMED_MAX; i++) {
		if (proc_file_read(pids[i], "comm", name, sizeof(name)))
			name[0] = '\0';
		name[strcspn(name, "\n")] = '\0';
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%sprocess %" PRIu32 " (%s)", i ? ", " : "", pids[i],
					 name);
	}
	return text;
}

/* On busy CPUs a program may lose its CPU while it holds the lock. */
static void set_busy(struct attach *attach, uint32_t pid, struct attach_result *out)
{
	const uint32_t pids[] = {pid};
	uint64_t now = clock_now();

	if (pid != attach->obstacle)
		attach->obstacle_since = now;
	attach->obstacle = pid;
	if (!attach->obstacle_since || now - attach->obstacle_since < BUSY_NS)
		return;
	attach->obstacle_since = 0;
	problem_set(&out->problem, -EBUSY,
		    "memory map kept locked by %s: if the kernel waited for that, no process of "
		    "this machine could fork\n" END_IT "until then probes are not attached to %s",
		    describe(pids, 1), out->file->path);
}

/* While the kernel waits for a program, all forks on the machine wait too. `what` is not done. */
static int set_late(struct attach *attach, const char *what, struct problem *problem)
{
	attach->late = true;
	if (!attach->n_suspects)
		return problem_set(problem, -ETIME,
				   "not %s within 2 s, though no program keeps the kernel "
				   "waiting: the machine may be busy",
				   what);
	return problem_set(problem, -ETIME,
			   "memory map kept locked by %s: where the kernel waits for that, no "
			   "process of this machine can fork\n" END_IT
			   "until then probes are not %s",
			   describe(attach->suspects, attach->n_suspects), what);
}

static void set_done(struct attach *attach, struct attach_result *out)
{
	struct file *file = out->file;
	const struct file_facts *facts = &file->facts;

	attach->attachments[file->first_place].file = NULL;
	attach->latest = file->attached = clock_now();
	for (uint32_t i = 0; i < facts->n_sites; i++)
		count_site(attach, &file->sites[i].place);
	out->sites = (int)facts->n_sites;
	if (facts->refused)
		out->sites = problem_set(&out->problem, -EINVAL, "%s: refused: %s (%u such)",
					 file->path, facts->problem, facts->refused);
}

static void set_result(struct attach *attach, int err, uint32_t pid, struct attach_result *out)
{
	*out = (struct attach_result){.file = first_file(attach), .sites = err};
	attach->queue_from = (attach->queue_from + 1) % PROBE_PLACES_MAX;
	attach->queued--;
	if (!err) {
		set_done(attach, out);
		return;
	}
	free_places(attach, out->file->first_place);
	out->file->attached = 0;
	out->file->tried = err != -EBUSY;
	if (err == -EBUSY)
		set_busy(attach, pid, out);
	else
		problem_set(&out->problem, err, "%s: its probes could not be attached: %s",
			    out->file->path, strerror(-err));
}

static void note_deaths(struct attach *attach)
{
	uint64_t deaths = worker_deaths(attach->attacher);

	if (deaths != attach->deaths)
		log_warning("the process that keeps gcprof's probes was killed: nothing more is "
			    "recorded at those that were attached before");
	attach->deaths = deaths;
}

/* The request ended. True if it was that of a file. */
static bool take(struct attach *attach, const struct worker_answer *answer,
		 struct attach_result *out)
{
	struct attacher_answer said = {0};
	bool detached = attach->detaches;

	attach->began = 0;
	attach->late = attach->detaches = false;
	note_deaths(attach);
	if (answer->size == sizeof(said))
		memcpy(&said, answer->data, sizeof(said));
	while (detached && attach->n_detaching)
		free_places(attach, attach->detaching[--attach->n_detaching]);
	if (!detached)
		set_result(attach, answer->err, said.pid, out);
	return !detached;
}

/* Starts the next request. True: it failed at once. */
static bool start(struct attach *attach, struct attach_result *out)
{
	struct worker_answer none = {.fd = -1};

	if (attach->n_detaching) {
		none.err = send_detach(attach, attach->detaching, attach->n_detaching);
		attach->detaches = true;
	} else if (attach->queued) {
		none.err = send_file(attach, first_file(attach));
	} else {
		return false;
	}
	attach->began = clock_now();
	return none.err && take(attach, &none, out);
}

/* Has the request taken `ns`? Until then, checks from time to time which program is in the way. */
static bool has_exceeded(struct attach *attach, uint64_t ns)
{
	uint64_t now = clock_now();
	bool first = attach->next_check < attach->began;

	if (!attach->began || now - attach->began < CHECK_NS)
		return false;
	if (!first && now < attach->next_check)
		return now - attach->began > ns;
	attach->n_suspects = first ? locked_find(bpf_link__fd(attach->locked), attach->suspects)
				   : locked_still(bpf_link__fd(attach->locked), attach->suspects,
						  attach->n_suspects);
	attach->next_check = now + CHECK_NS;
	return now - attach->began > ns;
}

bool attach_turn(struct attach *attach, struct attach_result *out)
{
	struct worker_answer answer;
	char what[PATH_MAX + 32];

	if (!attach->began && start(attach, out))
		return true;
	if (worker_poll(attach->attacher, &answer) == WORKER_ANSWERED)
		return take(attach, &answer, out) || start(attach, out);
	if (attach->late || !has_exceeded(attach, LIMIT_NS))
		return false;
	*out = (struct attach_result){.file = attach->detaches ? NULL : first_file(attach)};
	snprintf(what, sizeof(what), "%s%s", out->file ? "attached to " : "removed",
		 out->file ? out->file->path : "");
	out->sites = set_late(attach, what, &out->problem);
	return true;
}

int attach_file(struct attach *attach, struct file *file, struct problem *problem)
{
	const struct file_facts *facts = &file->facts;
	int err = 0;

	if (file->attached == ATTACHING)
		return 1;
	if (file->tried || (!facts->n_sites && !facts->refused))
		return 0;
	file->tried = true;
	if (file->filesystem == FUSE_SUPER_MAGIC) {
		/* The kernel reads the file again when it attaches, and waits for that. */
		return problem_set(problem, -EOPNOTSUPP,
				   "%s: its probes are not attached: it lies in a file system that "
				   "a program provides (FUSE), which could keep gcprof waiting",
				   file->path);
	}
	if (!facts->n_sites)
		return problem_set(problem, -EINVAL, "%s: refused: %s (%u such)", file->path,
				   facts->problem, facts->refused);
	err = take_places(attach, file);
	if (err)
		return problem_set(problem, err, "%s: its probes could not be attached: %s",
				   file->path,
				   err == -E2BIG ? "there is no room for so many" : strerror(-err));
	file->attached = ATTACHING;
	attach->queue[(attach->queue_from + attach->queued++) % PROBE_PLACES_MAX] =
		file->first_place;
	return 1;
}

bool attach_is_busy(const struct attach *attach)
{
	return attach->queued && !attach->late;
}

int attach_file_now(struct attach *attach, struct file *file, struct problem *problem)
{
	int sites = attach_file(attach, file, problem);
	struct attach_result result;

	if (sites <= 0)
		return sites;
	for (; attach_is_busy(attach); worker_wait_any(POLL_MS)) {
		while (attach_turn(attach, &result)) {
			if (result.file != file)
				continue;
			*problem = result.problem;
			return result.sites;
		}
	}
	return -ETIME;
}

/* --- the end ------------------------------------------------------------------------------ */

void attach_detach(struct attach *attach, const uint32_t *first_places, size_t n)
{
	for (size_t i = 0; i < n; i++)
		silence_places(attach, first_places[i]);
	memcpy(attach->detaching, first_places, n * sizeof(*first_places));
	attach->n_detaching = n;
}

bool attach_detaches(const struct attach *attach)
{
	return attach->n_detaching;
}

uint64_t attach_latest(const struct attach *attach)
{
	return attach->latest;
}

unsigned attach_sites(const struct attach *attach, enum probe_number probe)
{
	return attach->count[probe];
}

/* False: the kernel still waits for a program at the end of the time. */
static bool detach_all(struct attach *attach)
{
	struct worker_answer answer;
	bool sent = false;

	attach->began = clock_now();
	while (!has_exceeded(attach, attach->multi ? LIMIT_NS : ONE_BY_ONE_NS)) {
		if (worker_is_busy(attach->attacher))
			worker_wait(attach->attacher, &answer);
		else if (sent || send_detach(attach, NULL, 0))
			return true;
		else
			sent = true;
	}
	return false;
}

void attach_free(struct attach *attach)
{
	struct problem problem;

	if (!attach)
		return;
	if (attach->n_places && !detach_all(attach)) {
		(void)set_late(attach, "removed", &problem);
		log_escaped(LOG_WARNING, problem.text);
		worker_leave(attach->attacher);
	}
	if (attach->attacher)
		note_deaths(attach);
	worker_free(attach->attacher);
	bpf_link__destroy(attach->locked);
	map_free(attach->used);
	free(attach);
}
