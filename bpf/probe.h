/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* probe.h: identifies the probe that fired and reads its arguments. */
#ifndef GCPROF_BPF_PROBE_H
#define GCPROF_BPF_PROBE_H

#include "../gc/provider/probe_numbers.h"
#include "emit.h"

#define PROBE_VALUES 8 /* maximum of our own probes: the stack is short */

enum { PROBE_NONE = -1 }; /* not traced, refused, or being detached */

struct probe_firing {
	struct pt_regs *ctx;
	struct task_state *state;
	uint64_t now;
	uint64_t values[PROBE_VALUES];
	struct probe_place *place;
};

/* The header of an event whose numbers belong to the provider that fired. */
static __always_inline void probe_header(const struct probe_firing *firing,
					 struct event_header *header, uint8_t code, uint32_t size)
{
	emit_header(header, code, size, firing->state, firing->now);
	header->provider = firing->place->provider;
}

/* A heap, distinct from other providers' heaps of the same number. */
static __always_inline uint64_t probe_heap(const struct probe_firing *firing, uint64_t heap)
{
	return heap ^ (uint64_t)firing->place->provider << 56;
}

static __always_inline int probe_refuse(void)
{
	loss_count(LOSS_PROBE_ARGUMENT);
	return 0;
}

/* Without a guard in the kernel, preempted threads can hold all of these (preempt.h). The last one
 * is for programs that cannot be preempted. */
static __always_inline struct scratch *probe_scratch(void)
{
	return scratch_take_of(SCRATCH_SLOTS - 1);
}

/* Appends a text from the program. Returns its length; 0: none, or unreadable, which is counted. */
static __always_inline uint32_t probe_text(struct scratch *scratch, uint64_t text)
{
	int bytes = text ? scratch_string(scratch, (const void *)text, 1) : 0;

	if (bytes < 0)
		loss_count(LOSS_PROBE_MEMORY);
	return bytes < 0 ? 0 : bytes;
}

/* A scratch with the name of something, whose number is the first argument. NULL: there is none. */
static __always_inline struct scratch *name_scratch(const struct probe_firing *firing,
						    enum gcprof_name_kind kind, uint32_t line,
						    uint64_t name, uint64_t file)
{
	struct scratch *scratch = probe_scratch();
	struct event_name *event;

	if (!scratch)
		return NULL;
	event = (struct event_name *)scratch->data;
	probe_header(firing, &event->header, EVENT_name, 0);
	event->number = firing->values[0];
	event->code = 0;
	event->kind = kind;
	event->line = line;
	event->reserved = 0;
	scratch->size = sizeof(*event);
	event->name_size = probe_text(scratch, name);
	event->file_size = probe_text(scratch, file);
	return scratch;
}

/* All registers in an array, to select one by number. */
struct probe_registers {
	uint64_t words[OPERAND_REGISTERS];
	uint64_t bad; /* operands that could not be read */
};

/* Where the arguments of places are assembled: after the record, in the room of its tail. */
struct place_room {
	struct event_place event;
	struct probe_registers registers;
};

static __always_inline uint64_t place_value_of(const struct event_place *event, uint32_t argument)
{
	return argument < PLACE_VALUES ? event->values[argument] : 0;
}

static __always_inline uint64_t probe_register(const struct probe_registers *registers,
					       uint32_t number)
{
	return number < OPERAND_REGISTERS ? registers->words[number] : 0;
}

/* Global: the verifier checks it once. */
__noinline uint64_t probe_operand(const struct probe_argument *argument,
				  struct probe_registers *registers)
{
	uint64_t value, address;
	uint32_t size, unused;

	if (!argument || !registers)
		return 0;
	value = argument->value;
	size = argument->size;
	unused = 64 - 8 * size;
	if (argument->operand == OPERAND_REGISTER)
		value = probe_register(registers, argument->base);
	if (argument->operand == OPERAND_ADDRESS)
		value += probe_register(registers, argument->base);
	if (argument->operand == OPERAND_MEMORY) {
		address = value + probe_register(registers, argument->base);
		if (argument->index != OPERAND_NO_INDEX)
			address += probe_register(registers, argument->index) * argument->scale;
		value = 0;
		if (size > sizeof(value) ||
		    bpf_probe_read_user(&value, size, (const void *)address))
			registers->bad++;
	}
	value <<= unused & 63;
	if (argument->is_signed)
		return (uint64_t)((int64_t)value >> (unused & 63));
	return value >> (unused & 63);
}

/* Of a file, by its first place: links to processes. At each hit the kernel goes through all. */
volatile uint16_t links_of[PROBE_PLACES_MAX] = {0};

static __always_inline void probe_links(uint32_t first)
{
	uint32_t links = links_of[first % PROBE_PLACES_MAX];

	if (config.measured && links > 1)
		cost_links(COST_PROBE, links);
}

/* Reads the arguments if the thread is traced. Returns the probe. Not inlined: the walkers need the
 * stack space that the registers take here; Linux 6.1 has 512 bytes in all. */
static __noinline int probe_read(struct probe_firing *firing, struct pt_regs *ctx)
{
	uint32_t key = bpf_get_attach_cookie(ctx);
	struct probe_registers registers;
	struct probe_place *place;

	firing->state = filter_active();
	if (!firing->state)
		return PROBE_NONE;
	firing->now = bpf_ktime_get_ns();
	firing->ctx = ctx;
	firing->place = place = bpf_map_lookup_elem(&probe_places, &key);
	if (place)
		probe_links(place->first);
	if (place && place->probe == PROBE_PLACE)
		return PROBE_PLACE;
	if (!place || bpf_probe_read_kernel(registers.words, sizeof(registers.words), ctx)) {
		probe_refuse();
		return PROBE_NONE;
	}
	registers.bad = 0;
	for (uint32_t i = 0; i < PROBE_VALUES; i++) {
		if (i < place->count)
			firing->values[i] = probe_operand(&place->arguments[i], &registers);
	}
	if (registers.bad) {
		probe_refuse();
		return PROBE_NONE;
	}
	return (int)place->probe;
}

#endif
