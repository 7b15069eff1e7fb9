/* SPDX-License-Identifier: BSD-2-Clause */
/* probes.c: finds the probes of gc/probes.def in an ELF file. */
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

#define PROVIDER      "gcprof"
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
	struct probes_found *found;
	bool spoilt[PROBES];
	struct problem *problem;
};

/* --- arguments -------------------------------------------------------------------------- */

/*
 * An argument (x86-64) is a size in bytes, negative if signed, an @, and an operand as
 * the assembler would print it. What is not understood to the last character is refused.
 */
enum { OPERAND_TEXT_MAX = 63 };

/* The words of struct pt_regs in their order, by all names that they go by. */
static const struct {
	const char *names[4]; /* 8, 4, 2 and 1 byte */
	uint8_t word;
} registers[] = {
	{{"r15", "r15d", "r15w", "r15b"}, 0}, {{"r14", "r14d", "r14w", "r14b"}, 1},
	{{"r13", "r13d", "r13w", "r13b"}, 2}, {{"r12", "r12d", "r12w", "r12b"}, 3},
	{{"rbp", "ebp", "bp", "bpl"}, 4},     {{"rbx", "ebx", "bx", "bl"}, 5},
	{{"r11", "r11d", "r11w", "r11b"}, 6}, {{"r10", "r10d", "r10w", "r10b"}, 7},
	{{"r9", "r9d", "r9w", "r9b"}, 8},     {{"r8", "r8d", "r8w", "r8b"}, 9},
	{{"rax", "eax", "ax", "al"}, 10},     {{"rcx", "ecx", "cx", "cl"}, 11},
	{{"rdx", "edx", "dx", "dl"}, 12},     {{"rsi", "esi", "si", "sil"}, 13},
	{{"rdi", "edi", "di", "dil"}, 14},    {{"rsp", "esp", "sp", "spl"}, 19},
};

/* Takes %NAME; with `whole` only registers of 8 bytes will do. */
static bool take_register(const char **at, bool whole, uint8_t *word)
{
	size_t length;

	if (**at != '%')
		return false;
	length = strspn(*at + 1, "abcdefghijklmnopqrstuvwxyz0123456789");
	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
		for (int name = 0; name < (whole ? 1 : 4); name++) {
			const char *candidate = registers[i].names[name];
			if (strlen(candidate) != length || memcmp(candidate, *at + 1, length) != 0)
				continue;
			*word = registers[i].word;
			*at += 1 + length;
			return true;
		}
	}
	return false;
}

/* Takes a decimal or hexadecimal number. */
static bool take_number(const char **at, int64_t *value)
{
	const char *digits = *at + (**at == '-');
	int base = digits[0] == '0' && digits[1] == 'x' ? 16 : 10;
	char *end;

	if (*digits < '0' || *digits > '9')
		return false;
	errno = 0;
	*value = (int64_t)strtoll(*at, &end, base);
	if (errno == ERANGE && **at != '-') {
		errno = 0;
		*value = (int64_t)strtoull(*at, &end, base);
	}
	*at = end;
	return errno == 0;
}

static bool take_character(const char **at, char wanted)
{
	if (**at != wanted)
		return false;
	++*at;
	return true;
}

/* The part in parentheses: (%base), (%base,%index), (%base,%index,scale). */
static bool take_memory(const char **at, struct probe_argument *out)
{
	int64_t scale = 1;

	out->operand = OPERAND_MEMORY;
	if (!take_character(at, '(') || !take_register(at, true, &out->base))
		return false;
	if (take_character(at, ',')) {
		if (!take_register(at, true, &out->index))
			return false;
		if (take_character(at, ',') && !take_number(at, &scale))
			return false;
	}
	if (scale != 1 && scale != 2 && scale != 4 && scale != 8)
		return false;
	out->scale = (uint8_t)scale;
	return take_character(at, ')');
}

static bool take_operand(const char **at, struct probe_argument *out)
{
	out->index = OPERAND_NO_INDEX;
	if (take_character(at, '$')) {
		out->operand = OPERAND_CONSTANT;
		return take_number(at, &out->value);
	}
	if (**at == '%') {
		out->operand = OPERAND_REGISTER;
		return take_register(at, false, &out->base);
	}
	if (**at != '(' && !take_number(at, &out->value))
		return false;
	return take_memory(at, out);
}

int operand_next(const char **text, struct probe_argument *out)
{
	char word[OPERAND_TEXT_MAX + 1];
	const char *at = word;
	size_t length;
	int64_t size;

	*text += strspn(*text, " ");
	length = strcspn(*text, " ");
	if (!length)
		return 0;
	if (length > OPERAND_TEXT_MAX)
		return -EINVAL;
	memcpy(word, *text, length);
	word[length] = '\0';
	*text += length;
	*out = (struct probe_argument){0};
	if (!take_number(&at, &size) || !take_character(&at, '@'))
		return -EINVAL;
	out->is_signed = size < 0;
	size = size < 0 ? -size : size;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return -EINVAL;
	out->size = (uint8_t)size;
	return take_operand(&at, out) && !*at ? 1 : -EINVAL;
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

/* Completes *site; the reason if the place is no good. */
static const char *check_place(struct search *search, const struct probe_note *note,
			       struct probe_site *site)
{
	unsigned char instruction = 0, semaphore[SEMAPHORE_LEN];

	if (!elf_offset(search->elf, note->address, 1, PF_X, &site->offset))
		return "lies outside the code of the file";
	if (pread(search->fd, &instruction, 1, (off_t)site->offset) != 1 || instruction != NOP)
		return "its instruction is not a one-byte nop";
	/* A segment may claim more than the file holds. */
	if (note->semaphore &&
	    (!elf_offset(search->elf, note->semaphore, SEMAPHORE_LEN, PF_W, &site->semaphore) ||
	     pread(search->fd, semaphore, SEMAPHORE_LEN, (off_t)site->semaphore) != SEMAPHORE_LEN))
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
