/* SPDX-License-Identifier: BSD-2-Clause */
/* probes.c: finds the probes of gc/provider/probes.def in an ELF file. */
#include "probes.h"

#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../runtimes/find.h"
#include "../symbols/elf_file.h"
#include "notes.h"

#define PROVIDER "gcprof"
#define NOP      0x90

const struct probe_info probe_table[PROBES] = {
#define PROBE(probe_name, tier, since, doc) \
	[PROBE_##probe_name] = {.name = #probe_name, .required = 0
#define ARG(probe, name, type, unit, doc)              +1
#define ARG_SINCE(probe, since, name, type, unit, doc) +0
#define END_PROBE(name, count) \
	, .arguments = count   \
	}                      \
	,
#include "../../gc/provider/probes.def"
#undef PROBE
#undef ARG
#undef END_PROBE
};

struct search {
	Elf *elf;
	int fd;
	struct probes_found *found;
	bool spoilt[PROBES];
	struct problem *problem;
};

/*
 * Parses the argument locations. The table's arguments are required; more may follow, in newer
 * versions.
 */
static const char *check_arguments(const char *text, struct probe_place *place)
{
	unsigned wanted = probe_table[place->probe].arguments;
	unsigned required = probe_table[place->probe].required;

	for (place->count = 0; place->count < wanted; place->count++) {
		int found = operand_next(&text, &place->arguments[place->count]);
		if (found < 0)
			return "has an argument that cannot be read";
		if (!found && place->count < required)
			return "has too few arguments";
		if (!found)
			break;
	}
	return NULL;
}

/* --- notes ------------------------------------------------------------------------------ */

static int probe_by_name(const char *name)
{
	for (int probe = 0; probe < PROBES; probe++)
		if (strcmp(probe_table[probe].name, name) == 0)
			return probe;
	return -1;
}

static void refuse(struct search *search, int probe, const char *why, uint64_t address)
{
	search->spoilt[probe] = true;
	if (search->found->refused++ == 0)
		problem_set(search->problem, 0, "probe %s at 0x%" PRIx64 ": %s",
			    probe_table[probe].name, address, why);
}

/* Completes *site; returns the reason if it is unusable. */
static const char *check_place(struct search *search, const struct probe_note *note,
			       struct probe_site *site)
{
	unsigned char instruction = 0;

	if (!elf_offset(search->elf, note->address, 1, PF_X, &site->offset))
		return "lies outside the code of the file";
	if (pread(search->fd, &instruction, 1, (off_t)site->offset) != 1 || instruction != NOP)
		return "its instruction is not a one-byte nop";
	if (!note_semaphore(search->elf, search->fd, note, &site->semaphore))
		return "its semaphore lies outside the data of the file";
	return check_arguments(note->arguments, &site->place);
}

static void note_check(void *context, const struct probe_note *note)
{
	struct search *search = context;
	struct probe_site site = {0};
	const char *fault;
	int probe;

	if (strcmp(note->provider, PROVIDER) != 0)
		return;
	probe = probe_by_name(note->name);
	if (probe < 0)
		return;
	site.place.probe = (uint32_t)probe;
	fault = check_place(search, note, &site);
	if (!fault && search->found->n_sites == PROBE_SITES_MAX)
		fault = "is one too many for a file";
	if (fault)
		refuse(search, probe, fault, note->address);
	else
		search->found->sites[search->found->n_sites++] = site;
}

/* Can probes in a file of this kind be attached? */
static bool machine_is_ours(Elf *elf)
{
	GElf_Ehdr header;

	if (!gelf_getehdr(elf, &header) || gelf_getclass(elf) != ELFCLASS64 ||
	    header.e_ident[EI_DATA] != ELFDATA2LSB)
		return false;
#ifdef __x86_64__
	return header.e_machine == EM_X86_64;
#else
	return false;
#endif
}

/*
 * Drops probes with an unusable site, and moves `sample` to the end. Its semaphore switches
 * sampling on, and the program then announces types, functions and threads: those probes must be
 * attached already.
 */
static void sites_arrange(struct search *search)
{
	struct probes_found *found = search->found;
	struct probe_site *sample = calloc(PROBE_SITES_MAX, sizeof(*sample));
	size_t kept = 0, n_sample = 0;

	for (size_t i = 0; sample && i < found->n_sites; i++) {
		const struct probe_site *site = &found->sites[i];

		if (search->spoilt[site->place.probe])
			continue;
		found->count[site->place.probe]++;
		if (site->place.probe == PROBE_sample)
			sample[n_sample++] = *site;
		else
			found->sites[kept++] = *site;
	}
	if (n_sample)
		memcpy(found->sites + kept, sample, n_sample * sizeof(*sample));
	found->n_sites = kept + n_sample;
	free(sample);
}

static void search_run(struct search *search)
{
	struct probes_found *found = search->found;

	notes_visit(search->elf, note_check, search);
	sites_arrange(search);
	found->n_sites = runtime_search(search->fd, search->elf, &found->runtime, found->sites,
					found->n_sites);
}

int probes_find(int fd, struct probes_found *out, struct problem *problem)
{
	struct search search = {.fd = fd, .found = out, .problem = problem};

	memset(out, 0, sizeof(*out));
	out->sites = calloc(PROBE_SITES_MAX, sizeof(out->sites[0]));
	if (!out->sites)
		return -ENOMEM;
	search.elf = elf_open(fd);
	if (search.elf && elf_kind(search.elf) == ELF_K_ELF && machine_is_ours(search.elf))
		search_run(&search);
	elf_end(search.elf);
	return 0;
}

void probes_free(struct probes_found *found)
{
	free(found->sites);
	found->sites = NULL;
	found->n_sites = 0;
}
