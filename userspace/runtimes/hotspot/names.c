// SPDX-License-Identifier: BSD-2-Clause
/* names.c: names Java frames, from the memory of their process. */
/*
 * The process runs meanwhile: methods and code may disappear between two reads and leave garbage.
 * All counts and lengths are therefore limited, and code must be of the compilation in which the
 * frame was met.
 *
 * A compiled method has a list of addresses with inlining information: each entry leads to a chain
 * of scopes, innermost first, in a compressed form (UNSIGNED5: bytes from 192 on are followed by
 * another, with six bits each; since release 20 all are one more, so that no byte is 0).
 */
#include "names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../reader/remote_memory.h"

/* The walker's code lookup, applied to another process's memory. */
struct walk_window {
	struct remote *memory;
};
struct walk_rows;
struct unwind_rule;

static long walk_read(struct walk_window *window, void *to, uint32_t size, uint64_t from)
{
	return remote_read_all(window->memory, from, to, size) ? 0 : -EFAULT;
}

static int walk_rule(struct walk_rows *rows, uint64_t ip, struct unwind_rule *rule)
{
	(void)rows;
	(void)ip;
	(void)rule;
	return 0;
}

#include "../../../bpf/hotspot_blob.h"

#define PCS_BYTES    (1u << 20) /* per method */
#define SCOPE_BYTES  24
#define LINES_BYTES  (16u << 10)
#define TEXT_BYTES   512 /* per class or method */
#define NAME_BYTES   (2 * TEXT_BYTES)
#define STUB_BYTES   40
#define NEW_UNSIGNED 20 /* first release with the new encoding */
#define METHODS      512

/* A cached method. */
struct method {
	uint64_t address; /* 0: none */
	uint64_t answer;  /* last answer that used it */
};

struct method_text {
	char name[NAME_BYTES], file[TEXT_BYTES];
};

struct hotspot_vm {
	struct walk_window window;
	struct walk_hotspot at; /* its metadata */
	uint64_t value[HOTSPOT_ITEMS];
	uint64_t release, answer;
	bool ready;
	char stub[STUB_BYTES + sizeof(uint64_t)];
	struct method methods[METHODS];
	/* Not initialised: clearing them would take longer than most answers. */
	struct method_text texts[METHODS]; /* of the methods */
	char pcs[PCS_BYTES];
};

int hotspot_vm_open(struct remote *memory, const struct hotspot_layout *layout, uint64_t bias,
		    struct hotspot_vm **out)
{
	struct hotspot_vm *vm = malloc(sizeof(*vm));

	if (!vm)
		return -ENOMEM;
	memset(vm, 0, offsetof(struct hotspot_vm, texts));
	vm->window.memory = memory;
	vm->ready = hotspot_learn(&vm->at, &vm->window, layout, bias);
	memcpy(vm->value, layout->value, sizeof(vm->value));
	vm->release = hotspot_part(&vm->window, bias + vm->value[HOTSPOT_VERSION], 32);
	*out = vm;
	return 0;
}

void hotspot_vm_close(struct hotspot_vm *vm)
{
	free(vm);
}

/* --- memory --------------------------------------------------------------------------------- */

static uint64_t hotspot_names_field(struct hotspot_vm *vm, uint64_t from, enum hotspot_item item)
{
	return from ? hotspot_word(&vm->window, from + vm->value[item]) : 0;
}

static uint32_t field32(struct hotspot_vm *vm, uint64_t from, enum hotspot_item item)
{
	return from ? (uint32_t)hotspot_part(&vm->window, from + vm->value[item], 32) : 0;
}

static uint32_t field16(struct hotspot_vm *vm, uint64_t from, enum hotspot_item item)
{
	return from ? (uint32_t)hotspot_part(&vm->window, from + vm->value[item], 16) : 0;
}

static bool has(const struct hotspot_vm *vm, enum hotspot_item item)
{
	return vm->value[item] != HOTSPOT_NONE;
}

/* Reads up to `size` bytes; returns their number. */
static size_t read_bytes(const struct hotspot_vm *vm, uint64_t from, void *out, size_t size)
{
	return from ? remote_read(vm->window.memory, from, out, size) : 0;
}

/* --- compressed numbers --------------------------------------------------------------------- */

struct packed {
	const unsigned char *at, *end;
	uint32_t excess; /* added to each byte */
};

static uint32_t take_byte(struct packed *stream)
{
	return stream->at < stream->end ? *stream->at++ : 0;
}

static uint32_t take_unsigned(struct packed *stream)
{
	uint32_t sum = 0;

	for (int shift = 0; shift < 30; shift += 6) {
		uint32_t byte = take_byte(stream);

		sum += (byte - stream->excess) << shift;
		if (byte < 192)
			break;
	}
	return sum;
}

static uint32_t take_signed(struct packed *stream)
{
	uint32_t value = take_unsigned(stream);

	return value >> 1 ^ (0 - (value & 1));
}

static struct packed stream_of(const struct hotspot_vm *vm, const void *data, size_t size)
{
	const unsigned char *bytes = data;

	return (struct packed){bytes, bytes + size, vm->release >= NEW_UNSIGNED};
}

/* --- methods -------------------------------------------------------------------------------- */

/* Appends the text of a Symbol, and a zero; false if it is empty, unreadable or not a text. */
static bool add_symbol(struct hotspot_vm *vm, uint64_t symbol, char *out, size_t *at)
{
	uint32_t length = field16(vm, symbol, HOTSPOT_SYMBOL_LENGTH);

	if (length >= TEXT_BYTES)
		length = TEXT_BYTES - 1;
	if (!length ||
	    read_bytes(vm, symbol + vm->value[HOTSPOT_SYMBOL_BODY], out + *at, length) != length ||
	    memchr(out + *at, '\0', length))
		return false;
	*at += length;
	out[*at] = '\0';
	return true;
}

/* The Symbol at an index of a constant pool. */
static uint64_t pool_symbol(struct hotspot_vm *vm, uint64_t pool, uint32_t index)
{
	return index ? hotspot_word(&vm->window, pool + vm->value[HOTSPOT_POOL_SIZE] + 8 * index) &
			       ~UINT64_C(1)
		     : 0;
}

static bool read_method(struct hotspot_vm *vm, uint64_t address, struct method_text *out)
{
	uint64_t constant = hotspot_names_field(vm, address, HOTSPOT_METHOD_CONST),
		 pool = hotspot_names_field(vm, constant, HOTSPOT_CONST_POOL),
		 klass = hotspot_names_field(vm, pool, HOTSPOT_POOL_HOLDER);
	size_t at = 0;

	out->file[0] = '\0';
	if (!add_symbol(vm, hotspot_names_field(vm, klass, HOTSPOT_KLASS_NAME), out->name, &at))
		return false;
	for (size_t i = 0; i < at; i++)
		if (out->name[i] == '/')
			out->name[i] = '.';
	out->name[at++] = '.';
	if (!add_symbol(vm, pool_symbol(vm, pool, field16(vm, constant, HOTSPOT_CONST_NAME)),
			out->name, &at))
		return false;
	at = 0;
	if (has(vm, HOTSPOT_POOL_FILE) &&
	    !add_symbol(vm, pool_symbol(vm, pool, field16(vm, pool, HOTSPOT_POOL_FILE)), out->file,
			&at))
		out->file[0] = '\0';
	return true;
}

/*
 * Methods are named in batches with many repetitions, so they are cached. A method may have been
 * replaced since its class was unloaded. Comparing the constant part would not detect that
 * reliably, and neither would the name, so the cache is emptied with each batch
 * (hotspot_vm_open()).
 */
static const struct method_text *find_method(struct hotspot_vm *vm, uint64_t address)
{
	size_t at = address / 8 * UINT64_C(0x9e3779b97f4a7c15) >> 55;
	struct method *method = &vm->methods[at];
	struct method_text *text;

	_Static_assert(METHODS == 1 << (64 - 55), "the hash is a number of one");
	_Static_assert(SYMBOLS_MAX < METHODS, "an answer leaves others free");
	/* Names of the current answer must stay valid. */
	while (method->answer == vm->answer && method->address != address)
		method = &vm->methods[++at % METHODS];
	text = &vm->texts[method - vm->methods];
	if (!address || (method->address != address && !read_method(vm, address, text))) {
		method->address = 0;
		return NULL;
	}
	method->address = address;
	method->answer = vm->answer;
	return text;
}

/* The lines of a method follow its bytecodes: pairs of increments of bytecode index and line. */
static void find_line(struct hotspot_vm *vm, uint64_t address, uint32_t bci, struct symbol *out)
{
	uint64_t constant = hotspot_names_field(vm, address, HOTSPOT_METHOD_CONST);
	uint32_t at = 0, line = 0, code = field16(vm, constant, HOTSPOT_CONST_CODE_SIZE);
	unsigned char data[LINES_BYTES];
	struct packed stream;

	if (!has(vm, HOTSPOT_CONST_FLAGS) || !(field16(vm, constant, HOTSPOT_CONST_FLAGS) & 1))
		return;
	stream = stream_of(vm, data,
			   read_bytes(vm, constant + vm->value[HOTSPOT_CONST_SIZE] + code, data,
				      sizeof(data)));
	while (stream.at < stream.end && *stream.at) {
		uint32_t byte = take_byte(&stream);

		at += byte == 255 ? take_signed(&stream) : byte >> 3;
		line += byte == 255 ? take_signed(&stream) : byte & 7;
		if (at > bci)
			return;
		if (!out->begin || line < out->begin)
			out->begin = line;
		out->line = line;
	}
}

static bool name_method(struct hotspot_vm *vm, uint64_t address, uint32_t bci, struct symbol *out)
{
	const struct method_text *method = find_method(vm, address);

	if (!method)
		return false;
	*out = (struct symbol){.name = method->name, .file = method->file[0] ? method->file : NULL};
	find_line(vm, address, bci, out);
	return true;
}

/* --- compiled code -------------------------------------------------------------------------- */

/* The lists of a compiled method. */
struct lists {
	uint64_t pcs, scopes, metadata;
	size_t pcs_size;
};

static void find_lists(struct hotspot_vm *vm, struct lists *out)
{
	uint64_t blob = vm->at.blob, base = blob;

	if (has(vm, HOTSPOT_IMMUTABLE))
		base = hotspot_names_field(vm, blob, HOTSPOT_IMMUTABLE);
	out->pcs = base + field32(vm, blob, HOTSPOT_PCS_OFFSET);
	out->pcs_size = field32(vm, blob, HOTSPOT_PCS_END) - field32(vm, blob, HOTSPOT_PCS_OFFSET);
	out->scopes = has(vm, HOTSPOT_SCOPES_BEGIN)
			      ? hotspot_names_field(vm, blob, HOTSPOT_SCOPES_BEGIN)
			      : base + field32(vm, blob, HOTSPOT_SCOPES_OFFSET);
	out->metadata = has(vm, HOTSPOT_MUTABLE)
				? hotspot_names_field(vm, blob, HOTSPOT_MUTABLE) +
					  field32(vm, blob, HOTSPOT_RELOCATION_SIZE)
				: blob + field32(vm, blob, HOTSPOT_METADATA_OFFSET);
}

static uint32_t pc_field(const struct hotspot_vm *vm, size_t at, enum hotspot_item item)
{
	uint32_t value;

	memcpy(&value, vm->pcs + at + vm->value[item], sizeof(value));
	return value;
}

/* The first scope of an address: an offset in the list of scopes; 0: none. */
static uint32_t find_scope(struct hotspot_vm *vm, const struct lists *lists, uint64_t ip)
{
	uint64_t entry = vm->value[HOTSPOT_PC_SIZE];
	int64_t wanted = (int64_t)(ip - vm->at.begin);
	size_t size;

	if (lists->pcs_size > sizeof(vm->pcs) || entry < sizeof(uint32_t) || entry > 64 ||
	    vm->value[HOTSPOT_PC_OFFSET] > entry - sizeof(uint32_t) ||
	    vm->value[HOTSPOT_PC_SCOPE] > entry - sizeof(uint32_t))
		return 0;
	size = read_bytes(vm, lists->pcs, vm->pcs, lists->pcs_size);
	for (size_t at = 0; at + entry <= size; at += entry)
		if ((int32_t)pc_field(vm, at, HOTSPOT_PC_OFFSET) >= wanted)
			return pc_field(vm, at, HOTSPOT_PC_SCOPE);
	return 0;
}

/* Decodes a scope: its method and bytecode; *scope becomes the one it was inlined into. */
static uint64_t take_scope(struct hotspot_vm *vm, const struct lists *lists, uint32_t *scope,
			   uint32_t *bci)
{
	unsigned char data[SCOPE_BYTES];
	struct packed stream =
		stream_of(vm, data, read_bytes(vm, lists->scopes + *scope, data, sizeof(data)));
	uint32_t number;

	*scope = take_unsigned(&stream);
	number = take_unsigned(&stream);
	*bci = take_unsigned(&stream) - 1;
	/* Positions before the first bytecode count as the first. */
	if (*bci > UINT16_MAX)
		*bci = 0;
	return number ? hotspot_word(&vm->window, lists->metadata + 8 * (number - UINT64_C(1))) : 0;
}

static size_t name_compiled(struct hotspot_vm *vm, uint64_t ip, struct symbol out[SYMBOLS_MAX])
{
	struct symbol found[SYMBOLS_MAX];
	struct lists lists;
	uint32_t scope, bci;
	size_t n = 0;

	find_lists(vm, &lists);
	scope = find_scope(vm, &lists, ip);
	while (scope && n < SYMBOLS_MAX) {
		uint64_t method = take_scope(vm, &lists, &scope, &bci);

		if (!name_method(vm, method, bci, &found[n++]))
			return 0;
	}
	for (size_t i = 0; i < n; i++)
		out[i] = found[n - 1 - i];
	if (!n)
		n = name_method(vm, hotspot_names_field(vm, vm->at.blob, HOTSPOT_NMETHOD_METHOD), 0,
				&out[0]);
	return n;
}

/* Uses HotSpot's own names of stubs. */
static size_t name_stub(struct hotspot_vm *vm, struct symbol out[SYMBOLS_MAX])
{
	uint64_t name = hotspot_names_field(vm, vm->at.blob, HOTSPOT_BLOB_NAME);

	memset(vm->stub, 0, sizeof(vm->stub));
	if (!name || !read_bytes(vm, name, vm->stub, STUB_BYTES) || !vm->stub[0])
		return 0;
	out[0] = (struct symbol){.name = vm->stub};
	return 1;
}

size_t hotspot_vm_name(struct hotspot_vm *vm, uint64_t place, struct symbol out[SYMBOLS_MAX])
{
	uint64_t address = place & HOTSPOT_ADDRESS,
		 number = place >> HOTSPOT_ADDRESS_BITS & HOTSPOT_COMPILE_IDS;

	vm->answer++;
	if (!vm->ready)
		return 0;
	if (place >= HOTSPOT_INTERPRETED)
		return name_method(vm, address, (uint32_t)(place >> HOTSPOT_ADDRESS_BITS) & 0xffff,
				   &out[0]);
	if (!hotspot_find(&vm->at, &vm->window, address) ||
	    (vm->at.compile_id & HOTSPOT_COMPILE_IDS) != number)
		return 0;
	if (vm->at.kind == HOTSPOT_COMPILED || vm->at.kind == HOTSPOT_NATIVE)
		return name_compiled(vm, address, out);
	return name_stub(vm, out);
}

/* --- for the reader ------------------------------------------------------------------------- */

static void *reader_read(int fd)
{
	struct hotspot_layout *layout = malloc(sizeof(*layout));

	if (layout && hotspot_layout_read(fd, layout))
		return layout;
	free(layout);
	return NULL;
}

static int reader_open(struct remote *memory, void *file, uint64_t bias, void **out)
{
	struct hotspot_vm *vm = NULL;
	int err = hotspot_vm_open(memory, file, bias, &vm);

	*out = vm;
	return err;
}

static size_t reader_name(void *process, uint64_t place, struct symbol out[SYMBOLS_MAX])
{
	return hotspot_vm_name(process, place, out);
}

static void reader_close(void *process)
{
	hotspot_vm_close(process);
}

const struct name_reader hotspot_name_reader = {
	.library = "libjvm.so",
	.read = reader_read,
	.open = reader_open,
	.name = reader_name,
	.close = reader_close,
};
