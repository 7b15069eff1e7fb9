/* SPDX-License-Identifier: BSD-2-Clause */
/* probes.c: finds the probes of gc/probes.def in an ELF file. */
/*
 * A SystemTap note (version 3) is: owner "stapsdt", type 3, and as its content
 * three addresses (the nop, the address that section .stapsdt.base had when the
 * note was written, the semaphore or 0) and three strings (provider, name,
 * arguments). Tools that move code after linking leave the note as it was but
 * move .stapsdt.base, so all addresses are corrected by the difference.
 */
#include "probes.h"

#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "operand.h"
#include "../symbols/elf_open.h"
#include "../symbols/elf_section.h"

#define PROVIDER      "gcprof"
#define NOTE_SECTION  ".note.stapsdt"
#define BASE_SECTION  ".stapsdt.base"
#define NOTE_OWNER    "stapsdt"
#define NOTE_TYPE     3
#define NOTES_MAX     (4u << 20) /* bytes of notes that are read */
#define NOP           0x90
#define SEMAPHORE_LEN 2

const struct probe_info probe_table[PROBES] = {
#define PROBE(probe_name, since, doc)                  [PROBE_##probe_name] = {.name = #probe_name, .required = 0
#define ARG(probe, name, type, unit, doc)              +1
#define ARG_SINCE(probe, since, name, type, unit, doc) +0
#define END_PROBE(name, count) \
	, .arguments = count   \
	}                      \
	,
#include "../../gc/probes.def"
#undef PROBE
#undef ARG
#undef END_PROBE
};

struct search {
	Elf *elf;
	int fd;
	bool has_base;
	uint64_t base; /* where .stapsdt.base is now */
	struct probes_found *found;
	bool spoilt[PROBES];
	struct problem *problem;
};

struct note {
	uint64_t address, base, semaphore;
	const char *provider, *name, *arguments;
};

/* The offset in the file of `length` bytes at `address`, in a segment with these flags. */
static int file_offset(struct search *search, uint64_t address, uint64_t length, uint32_t flags,
		       uint64_t *offset)
{
	size_t count = 0;

	if (elf_getphdrnum(search->elf, &count) || count > INT_MAX)
		return -EINVAL;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(search->elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    (header.p_flags & flags) != flags || address < header.p_vaddr)
			continue;
		if (header.p_filesz < length || address - header.p_vaddr > header.p_filesz - length)
			continue;
		if (header.p_offset > INT64_MAX - (address - header.p_vaddr))
			continue;
		*offset = header.p_offset + (address - header.p_vaddr);
		return 0;
	}
	return -ENOENT;
}

/*
 * Where the arguments are. The table's arguments must be there; more may follow,
 * newer than this program.
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

/* Takes one string off *rest; NULL if it has no end. */
static const char *take_string(const char **rest, size_t *left)
{
	const char *start = *rest;
	const char *end = memchr(start, '\0', *left);

	if (!end)
		return NULL;
	*left -= (size_t)(end + 1 - start);
	*rest = end + 1;
	return start;
}

/* The content of a note; false if it does not hold what it must. */
static bool note_parse(const char *content, size_t size, struct note *out)
{
	uint64_t words[3];

	if (size < sizeof(words))
		return false;
	memcpy(words, content, sizeof(words));
	out->address = words[0];
	out->base = words[1];
	out->semaphore = words[2];
	content += sizeof(words);
	size -= sizeof(words);
	out->provider = take_string(&content, &size);
	out->name = out->provider ? take_string(&content, &size) : NULL;
	out->arguments = out->name ? take_string(&content, &size) : NULL;
	return out->arguments != NULL;
}

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

/* Completes *site; the reason if the place is no good. */
static const char *check_place(struct search *search, const struct note *note, uint64_t moved,
			       struct probe_site *site)
{
	unsigned char instruction = 0, semaphore[SEMAPHORE_LEN];

	if (file_offset(search, note->address + moved, 1, PF_X, &site->offset))
		return "lies outside the code of the file";
	if (pread(search->fd, &instruction, 1, (off_t)site->offset) != 1 || instruction != NOP)
		return "its instruction is not a one-byte nop";
	/* A segment may claim more than the file holds. */
	if (note->semaphore &&
	    (file_offset(search, note->semaphore + moved, SEMAPHORE_LEN, PF_W, &site->semaphore) ||
	     pread(search->fd, semaphore, SEMAPHORE_LEN, (off_t)site->semaphore) != SEMAPHORE_LEN))
		return "its semaphore lies outside the data of the file";
	return check_arguments(note->arguments, &site->place);
}

static void note_check(struct search *search, const struct note *note)
{
	uint64_t moved = search->has_base && note->base ? search->base - note->base : 0;
	struct probe_site site = {0};
	const char *fault;
	int probe;

	if (strcmp(note->provider, PROVIDER) != 0)
		return;
	probe = probe_by_name(note->name);
	if (probe < 0)
		return;
	site.place.probe = (uint32_t)probe;
	fault = check_place(search, note, moved, &site);
	if (!fault && search->found->n_sites == PROBE_SITES_MAX)
		fault = "is one too many for a file";
	if (fault)
		refuse(search, probe, fault, note->address + moved);
	else
		search->found->sites[search->found->n_sites++] = site;
}

static void notes_read(struct search *search, Elf_Data *data)
{
	size_t at = 0, next, name_at, content_at;
	GElf_Nhdr header;
	struct note note;

	while (at < data->d_size &&
	       (next = gelf_getnote(data, at, &header, &name_at, &content_at)) > 0) {
		const char *owner = (const char *)data->d_buf + name_at;
		const char *content = (const char *)data->d_buf + content_at;

		at = next;
		if (header.n_type != NOTE_TYPE || header.n_namesz != sizeof(NOTE_OWNER) ||
		    memcmp(owner, NOTE_OWNER, sizeof(NOTE_OWNER)) != 0)
			continue;
		if (note_parse(content, header.n_descsz, &note))
			note_check(search, &note);
	}
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
 * Takes out the probes with a bad place, and puts `sample` behind the rest: its
 * semaphore switches sampling on, and what the program then announces (types,
 * functions, threads) must find its probes attached.
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
	GElf_Shdr header;
	Elf_Scn *notes;
	Elf_Data *data;

	if (elf_section_find(search->elf, BASE_SECTION, &header)) {
		search->has_base = true;
		search->base = header.sh_addr;
	}
	notes = elf_section_find(search->elf, NOTE_SECTION, &header);
	if (!notes || header.sh_type != SHT_NOTE || header.sh_size > NOTES_MAX)
		return;
	data = elf_section_data(notes);
	if (!data || !data->d_buf)
		return;
	notes_read(search, data);
	sites_arrange(search);
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
