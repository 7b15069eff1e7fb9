// SPDX-License-Identifier: BSD-2-Clause
/* control.c: what programs that run already are asked for: a sampling period, their names. */
/*
 * A block is found by its symbol, and taken for one only if it begins with
 * what it must. It is written through /proc/PID/mem, which stays with the memory
 * that it was opened for: a process that runs another program by now is not hit.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control.h"
#include "modules.h"
#include "snapshot.h"
#include "../../gc/frame.h"
#include "../util/buffer.h"

#define CONTROL_SYMBOLS_MAX (1 << 22) /* of one file that are looked at */

/* What is looked for. */
struct wanted {
	const char *name;
	uint64_t size;
};

static const struct wanted control_symbol = {"gcprof_control", sizeof(struct gcprof_control)};
static const struct wanted singly_symbol = {"gcprof_singly", sizeof(struct gcprof_singly)};
static const struct wanted arrivals_symbol = {"gcprof_arrivals", sizeof(struct gcprof_arrivals)};

struct block {
	int memory; /* of the process */
	uint64_t address;
	uint32_t proc_pid;
	struct gcprof_control before, after;
};

/* A count that was raised. */
struct raised {
	int memory;
	uint64_t address; /* of its block */
};

struct control {
	struct buffer blocks; /* struct block[] */
	struct buffer raised; /* struct raised[] */
};

/* A search in one process, and what is done where the symbol is. */
struct search {
	const struct wanted *symbol;
	int (*found_at)(struct search *search, uint64_t address);
	struct control *control;
	uint32_t proc_pid;
	uint64_t period, ceiling;
	uint64_t last; /* address: a file may be mapped in several pieces */
	int found;
};

int control_create(struct control **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

/* --- the symbol -------------------------------------------------------------- */

static bool table_find(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
		       const struct wanted *wanted, uint64_t *value)
{
	Elf_Data *data = elf_getdata(section, NULL);
	uint64_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

	for (uint64_t i = 0; data && i < count && i < CONTROL_SYMBOLS_MAX; i++) {
		const char *name;
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol) ||
		    GELF_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_size != wanted->size)
			continue;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (!name || strcmp(name, wanted->name) != 0)
			continue;
		*value = symbol.st_value;
		return true;
	}
	return false;
}

static bool symbol_find(Elf *elf, const struct wanted *wanted, uint64_t *value)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB))
			continue;
		if (table_find(elf, section, &header, wanted, value))
			return true;
	}
	return false;
}

/* What is to be added to the addresses in the file, as one of its mappings shows. */
static bool bias_find(Elf *elf, const struct event_mmap *mapping, uint64_t *bias)
{
	size_t count = 0;

	if (elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count && i < 4096; i++) {
		GElf_Phdr header;
		uint64_t first;

		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD)
			continue;
		first = header.p_offset & ~UINT64_C(0xfff);
		if (!(header.p_flags & PF_X) || mapping->offset < first ||
		    mapping->offset - first >= header.p_filesz + (header.p_offset - first))
			continue;
		*bias = mapping->address - (mapping->offset - first) -
			(header.p_vaddr - (header.p_offset - first));
		return true;
	}
	return false;
}

/* Where the symbol is in the process, if the file has it. */
static bool block_find(int fd, const struct event_mmap *mapping, const struct wanted *wanted,
		       uint64_t *address)
{
	uint64_t value = 0, bias = 0;
	bool found = false;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF && symbol_find(elf, wanted, &value))
		found = bias_find(elf, mapping, &bias);
	elf_end(elf);
	*address = value + bias;
	return found;
}

/* --- the block --------------------------------------------------------------- */

static bool block_read(const struct block *block, struct gcprof_control *out)
{
	return pread(block->memory, out, sizeof(*out), (off_t)block->address) ==
		       (ssize_t)sizeof(*out) &&
	       out->magic == GCPROF_CONTROL_MAGIC && out->version == GCPROF_CONTROL_VERSION;
}

static bool put(const struct block *block, size_t offset, const void *data, size_t size)
{
	return pwrite(block->memory, data, size, (off_t)(block->address + offset)) == (ssize_t)size;
}

/* The generation goes last: it is what the collector looks at. */
static bool block_write(const struct block *block, const struct gcprof_control *wanted)
{
	return put(block, offsetof(struct gcprof_control, period), &wanted->period,
		   sizeof(wanted->period)) &&
	       put(block, offsetof(struct gcprof_control, ceiling), &wanted->ceiling,
		   sizeof(wanted->ceiling)) &&
	       put(block, offsetof(struct gcprof_control, generation), &wanted->generation,
		   sizeof(wanted->generation));
}

static int memory_open(const struct search *search)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/mem", search->proc_pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Generation 0 stands for "nobody asked". */
static void count_change(struct gcprof_control *wanted)
{
	wanted->generation += wanted->generation == UINT32_MAX ? 2 : 1;
}

static int block_set(struct search *search, uint64_t address)
{
	struct block block = {.address = address, .proc_pid = search->proc_pid};
	int err = 0;

	block.memory = memory_open(search);
	if (block.memory < 0)
		return block.memory;
	if (!block_read(&block, &block.before)) {
		close(block.memory);
		return 0;
	}
	block.after = block.before;
	block.after.period = search->period;
	block.after.ceiling = search->ceiling;
	count_change(&block.after);
	if (!block_write(&block, &block.after))
		err = -EIO;
	if (err || buffer_append(&search->control->blocks, &block, sizeof(block))) {
		close(block.memory);
		return err ? err : -ENOMEM;
	}
	search->found++;
	return 0;
}

/* As it was before anybody asked. */
static int block_reclaim(struct search *search, uint64_t address)
{
	struct block block = {.address = address};
	struct gcprof_control own;
	int err = 0;

	block.memory = memory_open(search);
	if (block.memory < 0)
		return block.memory;
	if (block_read(&block, &own) && own.generation) {
		own.period = own.ceiling = 0;
		own.generation = 0;
		err = block_write(&block, &own) ? 0 : -EIO;
		search->found += !err;
	}
	close(block.memory);
	return err;
}

/* Blocks with a count have the same layout. */
_Static_assert(sizeof(struct gcprof_singly) == sizeof(struct gcprof_arrivals) &&
		       offsetof(struct gcprof_singly, count) ==
			       offsetof(struct gcprof_arrivals, count),
	       "gc/frame.h");

/* The count of a block, if it begins as it should. */
static bool count_read(int memory, uint64_t address, const struct gcprof_arrivals *head,
		       uint32_t *count)
{
	struct gcprof_arrivals block;

	if (pread(memory, &block, sizeof(block), (off_t)address) != (ssize_t)sizeof(block) ||
	    block.magic != head->magic || block.version != head->version)
		return false;
	*count = block.count;
	return true;
}

static int count_write(int memory, uint64_t address, uint32_t count)
{
	const off_t at = (off_t)(address + offsetof(struct gcprof_arrivals, count));

	return pwrite(memory, &count, sizeof(count), at) == sizeof(count) ? 0 : -EIO;
}

/* Adds to the count of a block that begins as it should; 1 if it does. */
static int count_add(int memory, uint64_t address, const struct gcprof_arrivals *head, int more)
{
	uint32_t count;
	int err;

	if (!count_read(memory, address, head, &count))
		return 0;
	/* It was set to 0 meanwhile: what is to be taken back is gone. */
	if (more < 0 && !count)
		return 1;
	err = count_write(memory, address, count + (uint32_t)more);
	return err ? err : 1;
}

/* Somebody else may add one at the same moment: the count changes all the same. */
static int arrival_tell(struct search *search, uint64_t address)
{
	static const struct gcprof_arrivals head = {GCPROF_ARRIVALS_MAGIC, GCPROF_ARRIVALS_VERSION,
						    0};
	int memory = memory_open(search), told;

	if (memory < 0)
		return memory;
	told = count_add(memory, address, &head, 1);
	close(memory);
	search->found += told > 0;
	return told < 0 ? told : 0;
}

static const struct gcprof_arrivals singly_head = {GCPROF_SINGLY_MAGIC, GCPROF_SINGLY_VERSION, 0};

static int singly_raise(struct search *search, uint64_t address)
{
	struct raised raised = {memory_open(search), address};
	int told;

	if (raised.memory < 0)
		return raised.memory;
	told = count_add(raised.memory, address, &singly_head, 1);
	if (told > 0 && buffer_append(&search->control->raised, &raised, sizeof(raised))) {
		count_add(raised.memory, address, &singly_head, -1);
		told = -ENOMEM;
	}
	if (told <= 0)
		close(raised.memory);
	search->found += told > 0;
	return told < 0 ? told : 0;
}

static int singly_reclaim(struct search *search, uint64_t address)
{
	int memory = memory_open(search), err = 0;
	uint32_t count;

	if (memory < 0)
		return memory;
	if (count_read(memory, address, &singly_head, &count) && count) {
		err = count_write(memory, address, 0);
		search->found += !err;
	}
	close(memory);
	return err;
}

static void look(void *context, struct event_mmap *event, const char *path)
{
	struct search *search = context;
	struct module_place place = module_place_of(event, path);
	uint64_t address;
	int fd, err;

	if (search->found < 0)
		return;
	fd = module_open(&place);
	if (fd < 0)
		return;
	if (block_find(fd, event, search->symbol, &address) && address != search->last) {
		search->last = address;
		err = search->found_at(search, address);
		if (err)
			search->found = err;
	}
	close(fd);
}

int control_set(struct control *control, uint32_t proc_pid, uint64_t period, uint64_t ceiling)
{
	struct search search = {
		.symbol = &control_symbol,
		.found_at = block_set,
		.control = control,
		.proc_pid = proc_pid,
		.period = period,
		.ceiling = ceiling,
	};
	int err = snapshot_mappings(proc_pid, 0, look, &search);

	return err ? err : search.found;
}

int control_reclaim(uint32_t proc_pid)
{
	struct search search = {
		.symbol = &control_symbol,
		.found_at = block_reclaim,
		.proc_pid = proc_pid,
	};
	int err = snapshot_mappings(proc_pid, 0, look, &search), found = search.found;

	if (err || found < 0)
		return err ? err : found;
	search = (struct search){
		.symbol = &singly_symbol,
		.found_at = singly_reclaim,
		.proc_pid = proc_pid,
	};
	err = snapshot_mappings(proc_pid, 0, look, &search);
	return err ? err : search.found < 0 ? search.found : found + search.found;
}

/* Does the block say what was written to it? Not if its program is gone. */
static bool block_holds(const struct block *block)
{
	struct gcprof_control now;

	return block_read(block, &now) && !memcmp(&now, &block->after, sizeof(now));
}

bool control_has(const struct control *control, uint32_t proc_pid)
{
	const struct block *blocks = (const void *)control->blocks.data;

	for (size_t i = 0; i < control->blocks.size / sizeof(*blocks); i++)
		if (blocks[i].proc_pid == proc_pid && block_holds(&blocks[i]))
			return true;
	return false;
}

void control_change(struct control *control, uint64_t ceiling)
{
	struct block *blocks = (void *)control->blocks.data;

	for (size_t i = 0; i < control->blocks.size / sizeof(*blocks); i++) {
		if (!block_holds(&blocks[i]))
			continue;
		blocks[i].after.ceiling = ceiling;
		count_change(&blocks[i].after);
		block_write(&blocks[i], &blocks[i].after);
	}
}

int control_singly(struct control *control, uint32_t proc_pid)
{
	struct search search = {
		.symbol = &singly_symbol,
		.found_at = singly_raise,
		.control = control,
		.proc_pid = proc_pid,
	};
	int err = snapshot_mappings(proc_pid, 0, look, &search);

	return err ? err : search.found;
}

void control_repeat(struct control *control)
{
	const struct raised *raised = control ? (const void *)control->raised.data : NULL;
	uint32_t count;

	for (size_t i = 0; control && i < control->raised.size / sizeof(*raised); i++)
		if (count_read(raised[i].memory, raised[i].address, &singly_head, &count) && !count)
			count_add(raised[i].memory, raised[i].address, &singly_head, 1);
}

int control_arrive(const struct event_mmap *mapping, int fd)
{
	struct search search = {.proc_pid = mapping->header.tid};
	uint64_t address;
	int err;

	if (!block_find(fd, mapping, &arrivals_symbol, &address))
		return 0;
	err = arrival_tell(&search, address);
	return err ? err : search.found;
}

void control_restore(struct control *control)
{
	const struct block *blocks = (const void *)control->blocks.data;
	const struct raised *raised = (const void *)control->raised.data;

	for (size_t i = 0; i < control->blocks.size / sizeof(*blocks); i++) {
		if (block_holds(&blocks[i]))
			block_write(&blocks[i], &blocks[i].before);
		close(blocks[i].memory);
	}
	control->blocks.size = 0;
	for (size_t i = 0; i < control->raised.size / sizeof(*raised); i++) {
		count_add(raised[i].memory, raised[i].address, &singly_head, -1);
		close(raised[i].memory);
	}
	control->raised.size = 0;
}

void control_free(struct control *control)
{
	if (!control)
		return;
	control_restore(control);
	buffer_free(&control->blocks);
	buffer_free(&control->raised);
	free(control);
}
