/* SPDX-License-Identifier: BSD-2-Clause */
/* attach.c: attaches the probe program to files in processes, in a separate process. */
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

#include "../../reader/worker.h"
#include "../../util/log.h"
#include "../machine/capabilities.h"
#include "../machine/clock.h"
#include "attach_parts.h"
#include "uprobe_multi.h"

#define LIMIT_NS      UINT64_C(2000000000)  /* of a request, before a message */
#define ONE_BY_ONE_NS UINT64_C(10000000000) /* to remove probes with one link each */
#define HELD_NS       UINT64_C(400000000)   /* at the end, for a program that is in the way */
#define RETRY_NS      UINT64_C(200000000)   /* to the next try */

enum { POLL_MS = 20, TRIES_MAX = 50 };

bool attach_multi_supported(void)
{
	static int supported = -1; /* not asked yet */

	if (getenv("GCPROF_TEST_PROBES_ONE_BY_ONE"))
		return false;
	if (supported < 0)
		supported = uprobe_multi_supported();
	return supported;
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
		worker_lend(attach->attacher, capabilities_lend);
		err = probe_places_create(&attach->places);
	}
	err = err ? err : probe_links_create(&attach->links);
	err = err ? err : worker_prepare(attach->attacher);
	if (err)
		attach_free(attach);
	else
		*out = attach;
	return err;
}

int attach_begin(struct attach *attach, const struct bpf_program *program, int places,
		 volatile uint16_t *links_of, const struct bpf_program *locked)
{
	attach->program = bpf_program__fd(program);
	probe_places_begin(attach->places, places);
	probe_links_count(attach->links, links_of);
	attach->locked = bpf_program__attach_iter(locked, NULL);
	if (!attach->locked)
		return -errno;
	attach->obstacles.iterator = bpf_link__fd(attach->locked);
	return 0;
}

void attach_stops(struct attach *attach, const int fds[STOPPED_FDS])
{
	attach->stops = true;
	memcpy(attach->stopped, fds, sizeof(attach->stopped));
}

/* --- requests ----------------------------------------------------------------------------- */

static int send(struct attach *attach, struct worker_order *order)
{
	order->cpu_ns = order->wall_ns = UINT64_MAX;
	order->answer_max = sizeof(struct attacher_answer);
	obstacles_begin(&attach->obstacles);
	return worker_start(attach->attacher, order);
}

static int send_link(struct attach *attach, uint32_t number)
{
	static struct attacher_file request;
	const struct probe_link *link = link_at(attach, number);
	const struct probed *file = probe_places_at(attach->places, link->first);
	int fds[ATTACHER_STOPPED + STOPPED_FDS] = {
		[ATTACHER_PROGRAM] = attach->program,
		[ATTACHER_FILE] = file->fd,
		[ATTACHER_LOCKED] = attach->obstacles.iterator,
	};
	struct worker_order order = {
		.kind = ATTACHER_ATTACH,
		.data = &request,
		.size = offsetof(struct attacher_file, sites) +
			file->count * sizeof(request.sites[0]),
		.fds = fds,
		.n_fds = ATTACHER_STOPPED,
	};

	if (attach->stops) {
		memcpy(fds + ATTACHER_STOPPED, attach->stopped, sizeof(attach->stopped));
		order.n_fds += STOPPED_FDS;
	}
	request = (struct attacher_file){
		.link = number,
		.first = link->first,
		.count = file->count,
		.pid = link->pid,
		.together = attach->multi,
		.ahead = link->mapped == UINT64_MAX,
		.since = link->from,
	};
	memcpy(request.sites, file->sites, file->count * sizeof(*file->sites));
	attach->current = number;
	attach->request = REQUEST_ATTACH;
	return send(attach, &order);
}

static int send_ending(struct attach *attach)
{
	struct worker_order order = {.kind = ATTACHER_DETACH};

	order.data = probe_links_ending(attach->links, &attach->n_sent);
	order.size = attach->n_sent * sizeof(uint32_t);
	attach->request = REQUEST_DETACH;
	return send(attach, &order);
}

static int send_settle(struct attach *attach)
{
	struct worker_order order = {.kind = ATTACHER_SETTLE};

	attach->request = REQUEST_SETTLE;
	return send(attach, &order);
}

/* --- answers ------------------------------------------------------------------------------ */

static void set_done(struct attach *attach, struct attach_result *out)
{
	const struct probe_link *link = link_at(attach, attach->current);
	const struct file_facts *facts;

	probe_places_attached(attach->places, link->first);
	out->sites = (int)probe_places_at(attach->places, link->first)->count;
	if (!out->file)
		return;
	attach->latest = clock_now();
	facts = &out->file->facts;
	if (facts->refused)
		out->sites = problem_set(&out->problem, -EINVAL, "%s: refused: %s (%u such)",
					 out->file->path, facts->problem, facts->refused);
}

/* Was the file mapped, as far as known, after the request was sent, and perhaps after its answer?
 */
static bool mapped_meanwhile(const struct attach *attach, const struct probe_link *link)
{
	return link->mapped != UINT64_MAX && link->mapped > attach->obstacles.began;
}

/* A program is in the way, or its main thread is being replaced: a forked child is tried again; a
 * mapping is by whoever reported it. */
static bool tries_again(struct attach *attach, int err)
{
	const struct probe_link *link = link_at(attach, attach->current);

	if (err == -ENOENT && mapped_meanwhile(attach, link)) {
		probe_links_retry(attach->links, attach->current, 0);
		return true;
	}
	if ((err != -EBUSY && err != -ECHILD) || (link->file && err == -EBUSY) ||
	    link->tries >= (err == -EBUSY ? TRIES_MAX : 1))
		return false;
	probe_links_retry(attach->links, attach->current, clock_now() + RETRY_NS);
	return true;
}

static void set_problem(struct attach *attach, int err, uint32_t pid, struct attach_result *out)
{
	if (err == -EBUSY)
		obstacles_busy(&attach->obstacles, pid,
			       out->file ? out->file->path : "files of its parent", &out->problem);
	else if (err == -ECHILD)
		problem_set(&out->problem, err,
			    "process %" PRIu32 " is recorded without probes: its main thread has "
			    "ended, and Linux attaches them to no such process",
			    out->pid);
	else if (err == -EUSERS)
		problem_set(&out->problem, err,
			    "process %" PRIu32 " of another user is recorded without probes: "
			    "without CAP_KILL it could not be stopped when it copies them",
			    out->pid);
	else if (err != -ESRCH && err != -ENOENT && out->file)
		problem_set(&out->problem, err, "%s: its probes could not be attached: %s",
			    out->file->path, strerror(-err));
	if (err != -EBUSY && err != -ECHILD && err != -EUSERS && err != -ESRCH && err != -ENOENT &&
	    out->file)
		out->file->refused = true;
}

/* The process has the file, but no thread any more; or it was forked, and is ending, or something
 * was in the way for too long. A fork that it made meanwhile may be reported later. */
static bool is_lost(const struct attach_result *result)
{
	return result->sites == -ESRCH || result->sites == -ECHILD ||
	       (!result->file && (result->sites == -EBUSY || result->sites == -ENOENT));
}

/* False: there is none, or not yet. */
static bool set_result(struct attach *attach, int err, const struct attacher_answer *said,
		       struct attach_result *out)
{
	struct probe_link *link = link_at(attach, attach->current);
	bool wanted = link->state != LINK_ENDS;

	*out = (struct attach_result){.file = link->file,
				      .process = link->process,
				      .pid = link->pid,
				      .from = link->from,
				      .sites = err};
	link->thread = said->thread;
	if (err && wanted && tries_again(attach, err))
		return false;
	if (err && wanted)
		set_problem(attach, err, said->pid, out);
	else if (wanted)
		set_done(attach, out);
	if (wanted && is_lost(out))
		probe_links_lose(attach->links, attach->current);
	else if (err)
		probe_links_fail(attach->links, attach->current);
	else
		probe_links_hold(attach->links, attach->current, clock_now());
	return wanted;
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
	enum request request = attach->request;

	attach->request = REQUEST_NONE;
	note_deaths(attach);
	if (answer->size == sizeof(said))
		memcpy(&said, answer->data, sizeof(said));
	if (request == REQUEST_ATTACH)
		return set_result(attach, answer->err, &said, out);
	attach->copying = request == REQUEST_SETTLE && answer->err == -EINPROGRESS;
	if (request == REQUEST_DETACH)
		probe_links_removed(attach->links, attach->n_sent);
	while (request == REQUEST_SETTLE && attach->n_leaving)
		probe_places_leave(attach->places, attach->leaving[--attach->n_leaving]);
	return false;
}

static bool any_end(const struct attach *attach)
{
	size_t n;

	(void)probe_links_ending(attach->links, &n);
	return n;
}

/* Starts the next request. True: it failed at once. */
static bool start(struct attach *attach, struct attach_result *out)
{
	struct worker_answer none = {.fd = -1};
	uint32_t number;

	if (any_end(attach))
		none.err = send_ending(attach);
	else if (attach->n_leaving)
		none.err = send_settle(attach);
	else if ((number = probe_links_next(attach->links, clock_now())) != LINKS_NONE)
		none.err = send_link(attach, number);
	else
		return false;
	return none.err && take(attach, &none, out);
}

static void describe_late(struct attach *attach, struct attach_result *out)
{
	const struct probe_link *link = link_at(attach, attach->current);
	char what[PATH_MAX + 64];
	bool attaches = attach->request == REQUEST_ATTACH;

	*out = (struct attach_result){.file = attaches ? link->file : NULL};
	if (out->file)
		snprintf(what, sizeof(what), "attached to %s", out->file->path);
	else if (attaches)
		snprintf(what, sizeof(what), "attached to process %" PRIu32, link->pid);
	out->sites = obstacles_late(&attach->obstacles, attaches ? what : "removed", &out->problem);
}

bool attach_turn(struct attach *attach, struct attach_result *out)
{
	struct worker_answer answer;

	for (;;) {
		if (!attach->request && start(attach, out))
			return true;
		if (!attach->request)
			return false;
		if (worker_poll(attach->attacher, &answer) != WORKER_ANSWERED)
			break;
		if (take(attach, &answer, out))
			return true;
	}
	if (attach->obstacles.late || !obstacles_exceed(&attach->obstacles, LIMIT_NS))
		return false;
	describe_late(attach, out);
	return true;
}

/* Are there probes that can be attached? As attach_file(). */
static int check(struct file *file, struct problem *problem)
{
	const struct file_facts *facts = &file->facts;

	if (file->refused || (!facts->n_sites && !facts->refused))
		return 0;
	if (file->filesystem != FUSE_SUPER_MAGIC && facts->n_sites)
		return 1;
	file->refused = true;
	if (!facts->n_sites)
		return problem_set(problem, -EINVAL, "%s: refused: %s (%u such)", file->path,
				   facts->problem, facts->refused);
	/* The kernel reads the file again when it attaches, and waits for that. */
	return problem_set(problem, -EOPNOTSUPP,
			   "%s: its probes are not attached: it lies in a file system that "
			   "a program provides (FUSE), which could keep gcprof waiting",
			   file->path);
}

/* Finds the file's places, or takes them. */
static int find_places(struct attach *attach, struct file *file, uint32_t *first)
{
	struct probed *probed;
	int err = 0;

	*first = probe_places_find(attach->places, file);
	if (*first == PLACES_NONE)
		err = probe_places_take(attach->places, file, first);
	if (err)
		return err;
	probed = probe_places_at(attach->places, *first);
	if (probed->leaves)
		return -E2BIG;
	probed->id = file->id;
	probed->latest = clock_now();
	file->provider = probed->provider;
	return 0;
}

/* Its own, or that of every process; LINKS_NONE: it has neither. */
static uint32_t find_link(const struct attach *attach, uint32_t first, uint32_t process)
{
	uint32_t number = probe_links_find(attach->links, process, first);

	return number == LINKS_NONE ? probe_links_find(attach->links, 0, first) : number;
}

int attach_file(struct attach *attach, struct file *file, const struct probe_target *target,
		struct problem *problem)
{
	uint32_t first, number;
	int err = check(file, problem);

	if (err <= 0)
		return err;
	err = find_places(attach, file, &first);
	if (!err) {
		number = find_link(attach, first, target->process);
		if (number != LINKS_NONE && link_at(attach, number)->state == LINK_LOST) {
			probe_links_end(attach->links, number);
			number = LINKS_NONE;
		}
		if (number != LINKS_NONE) {
			link_at(attach, number)->mapped = clock_now();
			return link_at(attach, number)->state == LINK_WAITS;
		}
		err = attach_add_link(attach, target, first, file);
	}
	if (!err)
		return 1;
	if (err != -E2BIG && err != -EUSERS)
		file->refused = true;
	return problem_set(problem, err, "%s: its probes could not be attached: %s", file->path,
			   err == -E2BIG    ? "there is no room for so many"
			   : err == -EUSERS ? "too many processes have probes"
					    : strerror(-err));
}

void attach_leave(struct attach *attach, const struct file *file, uint32_t process)
{
	uint32_t first = probe_places_find(attach->places, file);
	uint32_t number = first == PLACES_NONE ? LINKS_NONE
					       : probe_links_find(attach->links, process, first);

	if (number != LINKS_NONE)
		probe_links_end(attach->links, number);
}

uint64_t attach_since(const struct attach *attach, const struct file *file, uint32_t process)
{
	uint32_t first = probe_places_find(attach->places, file);
	uint32_t number = first == PLACES_NONE ? LINKS_NONE : find_link(attach, first, process);

	return number == LINKS_NONE ? 0 : link_at(attach, number)->since;
}

bool attach_is_busy(const struct attach *attach)
{
	return (probe_links_wait(attach->links) || attach->request == REQUEST_ATTACH) &&
	       !attach->obstacles.late;
}

int attach_file_now(struct attach *attach, struct file *file, const struct probe_target *target,
		    struct problem *problem)
{
	int sites = attach_file(attach, file, target, problem);
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

bool attach_detaches(const struct attach *attach)
{
	return attach->n_leaving;
}

uint64_t attach_latest(const struct attach *attach)
{
	return attach->latest;
}

unsigned attach_sites(const struct attach *attach, enum probe_number probe)
{
	return probe_places_sites(attach->places, probe);
}

/* Continues until nothing is pending. False: a program is in the way, or the time is over. */
static bool settles(struct attach *attach, uint64_t end)
{
	struct attach_result result;

	while (any_end(attach) || probe_links_wait(attach->links) || attach->request) {
		(void)attach_turn(attach, &result);
		if (clock_now() > end || obstacles_hold(&attach->obstacles, HELD_NS))
			return false;
		if (attach->request)
			worker_wait_any(POLL_MS);
	}
	return true;
}

/* False: the attacher goes on after us. */
static bool detach_all(struct attach *attach)
{
	uint64_t end = clock_now() + (attach->multi ? LIMIT_NS : ONE_BY_ONE_NS);
	enum link_state state;

	for (uint32_t i = 0; i < PROBE_LINKS_MAX; i++) {
		state = link_at(attach, i)->state;
		if (state == LINK_WAITS || state == LINK_HOLDS)
			probe_links_end(attach->links, i);
	}
	if (!settles(attach, end))
		return false;
	return send_settle(attach) || settles(attach, end);
}

void attach_free(struct attach *attach)
{
	struct problem problem;

	if (!attach)
		return;
	if (attach->links && probe_links_any(attach->links) && !detach_all(attach)) {
		(void)obstacles_late(&attach->obstacles, "removed", &problem);
		log_problem(LOG_WARNING, &problem);
		worker_leave(attach->attacher);
	}
	if (attach->copying)
		worker_leave(attach->attacher);
	if (attach->attacher)
		note_deaths(attach);
	worker_free(attach->attacher);
	bpf_link__destroy(attach->locked);
	probe_places_free(attach->places);
	probe_links_free(attach->links);
	free(attach);
}
