// SPDX-License-Identifier: BSD-2-Clause
/* fuzz_stack.c: copies of stacks, walked with files from anywhere by libunwind. */
/*
 * The input is a copy as the kernel side takes it, and the one file that is
 * mapped, at MAPPED: the address of the instruction there, the other registers,
 * the stack's size, the stack, the file. The file is read from memory and by
 * pages; both must find the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/stack_unwind.h"

#define MAPPED    UINT64_C(0x555555554000)
#define STACK     UINT64_C(0x7ffc00000000)
#define RIP       16
#define STACK_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct head {
	uint16_t stack_size;
	uint16_t near; /* bit by bit: registers that are distances from where the stack begins */
	uint32_t ip;   /* in the file */
	uint64_t registers[COPY_REGISTERS];
};

struct input {
	struct head head;
	const uint8_t *stack, *file;
	size_t file_size;
};

static bool find(void *context, uint64_t ip, struct stack_module *out)
{
	struct frame_image *image = context;
	uint64_t low, high;

	frame_image_extent(image, &low, &high);
	if (low >= high || ip - MAPPED < low || ip - MAPPED >= high)
		return false;
	*out = (struct stack_module){MAPPED + low, MAPPED + high, MAPPED, image};
	return true;
}

static void walk(struct frame_image *image, const struct input *input, struct stack_walk *out)
{
	struct event_copy copy = {.address = STACK, .size = input->head.stack_size};
	struct stack_unwinder *unwinder;

	memcpy(copy.registers, input->head.registers, sizeof(copy.registers));
	for (unsigned i = 0; i < RIP; i++) {
		if (input->head.near >> i & 1)
			copy.registers[i] = STACK + copy.registers[i] % (2 * STACK_MAX);
	}
	copy.registers[RIP] = MAPPED + input->head.ip;
	if (stack_unwinder_create(find, image, &unwinder))
		abort();
	stack_unwinder_walk(unwinder, &copy, input->stack, out);
	stack_unwinder_free(unwinder);
	if (out->count > STACK_DEPTH_MAX || out->guessed > out->count)
		abort();
}

/* Whatever there is, the outermost function included, has to be in order. */
static void look(struct frame_image *image, const struct input *input)
{
	uint64_t address, word;

	for (uint64_t offset = 0; offset < input->file_size; offset += 509) {
		if (frame_image_address(image, offset, &address))
			frame_image_word(image, address, &word);
		frame_image_word(image, offset, &word);
	}
}

static bool cut(const uint8_t *data, size_t size, struct input *input)
{
	if (size < sizeof(input->head))
		return false;
	memcpy(&input->head, data, sizeof(input->head));
	input->head.stack_size &= (STACK_MAX - 1) & ~7;
	data += sizeof(input->head);
	size -= sizeof(input->head);
	if (size < input->head.stack_size)
		return false;
	input->stack = data;
	input->file = data + input->head.stack_size;
	input->file_size = size - input->head.stack_size;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct stack_walk from_memory, from_file;
	struct frame_image *image;
	struct input input;
	int fd;

	if (!cut(data, size, &input) ||
	    frame_image_open_memory(input.file, input.file_size, &image))
		return 0;
	look(image, &input);
	walk(image, &input, &from_memory);
	frame_image_free(image);
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, input.file, input.file_size) != (ssize_t)input.file_size ||
	    frame_image_open(fd, &image))
		abort();
	walk(image, &input, &from_file);
	frame_image_free(image);
	if (from_memory.count != from_file.count || from_memory.quality != from_file.quality ||
	    memcmp(from_memory.frames, from_file.frames,
		   from_memory.count * sizeof(from_memory.frames[0])))
		abort();
	return 0;
}
