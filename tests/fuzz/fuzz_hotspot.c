// SPDX-License-Identifier: BSD-2-Clause
/* fuzz_hotspot.c: names of Java frames from any memory: whatever it holds, they end within bounds.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/remote_memory.h"
#include "runtimes/hotspot/names.h"

/* The input is what a virtual machine has from here on: first its layout, two bytes an item. */
#define MEMORY     0x10000
#define MEMORY_MAX 0x8000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input, in place of another process's memory. */
struct remote {
	const uint8_t *data;
	size_t size;
};

size_t remote_read(struct remote *memory, uint64_t address, void *out, size_t size)
{
	uint64_t from = address - MEMORY;

	if (from >= memory->size)
		return 0;
	if (size > memory->size - from)
		size = memory->size - from;
	memcpy(out, memory->data + from, size);
	return size;
}

static void name_all(struct hotspot_vm *vm)
{
	for (uint64_t at = MEMORY; at < MEMORY + MEMORY_MAX; at += 64) {
		struct symbol found[SYMBOLS_MAX] = {0};
		size_t n = hotspot_vm_name(vm, hotspot_code(at + 8, 77), found);

		for (size_t i = 0; i < n; i++)
			if (!found[i].name || !strlen(found[i].name))
				abort();
		hotspot_vm_name(vm, hotspot_interpreted(at, at & 63), found);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct remote memory = {data, size};
	struct hotspot_layout layout;
	struct hotspot_vm *vm;
	uint16_t value;

	if (size < HOTSPOT_ITEMS * sizeof(value) || size > MEMORY_MAX)
		return 0;
	for (size_t i = 0; i < HOTSPOT_ITEMS; i++) {
		memcpy(&value, data + i * sizeof(value), sizeof(value));
		layout.value[i] = value;
	}
	if (hotspot_vm_open(&memory, &layout, MEMORY, &vm))
		abort();
	name_all(vm);
	hotspot_vm_close(vm);
	return 0;
}
