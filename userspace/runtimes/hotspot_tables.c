// SPDX-License-Identifier: BSD-2-Clause
/* hotspot_tables.c: where libjvm.so keeps the offsets in its own structures. */
/*
 * Names of types and fields are in the file; offsets and the sizes of the entries are filled in by
 * constructors when it is loaded. The layout of an entry has been the same in all releases:
 *
 *	structs  type name, field name, type of the field; is it static; offset; address
 *	types    type name, its base; three flags; size
 */
#include "hotspot_tables.h"

#include <string.h>
#include <unistd.h>

#include "../symbols/elf_file.h"
#include "../symbols/frame_image.h"

#define ENTRIES_MAX 8192
#define NAME_BYTES  64
#define SYMBOLS_MAX (1 << 16)

#define STRUCT_BYTES   48
#define STRUCT_STATIC  24
#define STRUCT_OFFSET  32
#define STRUCT_ADDRESS 40
#define TYPE_BYTES     40
#define TYPE_SIZE      32

/* What is looked for; of several rows for an item, the first that the release has. */
static const struct row {
	enum hotspot_item item;
	const char *type, *field; /* no field: the size of the type */
} rows[] = {
	{HOTSPOT_HEAPS, "CodeCache", "_heaps"},
	{HOTSPOT_CALL_STUB, "StubRoutines", "_call_stub_return_address"},
	{HOTSPOT_ARRAY_LENGTH, "GrowableArrayBase", "_len"},
	{HOTSPOT_ARRAY_LENGTH, "GenericGrowableArray", "_len"},
	{HOTSPOT_ARRAY_DATA, "GrowableArray<int>", "_data"},
	{HOTSPOT_HEAP_MEMORY, "CodeHeap", "_memory"},
	{HOTSPOT_HEAP_MAP, "CodeHeap", "_segmap"},
	{HOTSPOT_HEAP_SHIFT, "CodeHeap", "_log2_segment_size"},
	{HOTSPOT_SPACE_LOW, "VirtualSpace", "_low_boundary"},
	{HOTSPOT_SPACE_HIGH, "VirtualSpace", "_high_boundary"},
	{HOTSPOT_SPACE_BEGIN, "VirtualSpace", "_low"},
	{HOTSPOT_BLOCK_SIZE, "HeapBlock", NULL},
	{HOTSPOT_BLOB_NAME, "CodeBlob", "_name"},
	{HOTSPOT_BLOB_FRAME_SIZE, "CodeBlob", "_frame_size"},
	{HOTSPOT_BLOB_COMPLETE, "CodeBlob", "_frame_complete_offset"},
	{HOTSPOT_BLOB_BEGIN, "CodeBlob", "_code_begin"},
	{HOTSPOT_BLOB_OFFSET, "CodeBlob", "_code_offset"},
	{HOTSPOT_COMPILE_ID, "nmethod", "_compile_id"},
	{HOTSPOT_ORIGINAL_PC, "nmethod", "_orig_pc_offset"},
	{HOTSPOT_DEOPT_HANDLER, "CompiledMethod", "_deopt_handler_begin"},
	{HOTSPOT_DEOPT_HANDLER, "nmethod", "_deopt_handler_begin"},
	{HOTSPOT_DEOPT_OFFSET, "nmethod", "_deopt_handler_offset"},
	{HOTSPOT_METHOD_CONST, "Method", "_constMethod"},
	{HOTSPOT_CONST_CODE_SIZE, "ConstMethod", "_code_size"},
	{HOTSPOT_CONST_SIZE, "ConstMethod", NULL},
	{HOTSPOT_VERSION, "Abstract_VM_Version", "_vm_major_version"},
	{HOTSPOT_CONST_POOL, "ConstMethod", "_constants"},
	{HOTSPOT_CONST_NAME, "ConstMethod", "_name_index"},
	{HOTSPOT_CONST_FLAGS, "ConstMethod", "_flags"},
	{HOTSPOT_CONST_FLAGS, "ConstMethod", "_flags._flags"},
	{HOTSPOT_POOL_HOLDER, "ConstantPool", "_pool_holder"},
	{HOTSPOT_POOL_SIZE, "ConstantPool", NULL},
	{HOTSPOT_POOL_FILE, "ConstantPool", "_source_file_name_index"},
	{HOTSPOT_KLASS_NAME, "Klass", "_name"},
	{HOTSPOT_SYMBOL_LENGTH, "Symbol", "_length"},
	{HOTSPOT_SYMBOL_BODY, "Symbol", "_body"},
	{HOTSPOT_NMETHOD_METHOD, "CompiledMethod", "_method"},
	{HOTSPOT_NMETHOD_METHOD, "nmethod", "_method"},
	{HOTSPOT_PCS_OFFSET, "nmethod", "_scopes_pcs_offset"},
	{HOTSPOT_PCS_END, "nmethod", "_dependencies_offset"},
	{HOTSPOT_PCS_END, "nmethod", "_scopes_data_offset"},
	{HOTSPOT_SCOPES_BEGIN, "CompiledMethod", "_scopes_data_begin"},
	{HOTSPOT_SCOPES_OFFSET, "nmethod", "_scopes_data_offset"},
	{HOTSPOT_METADATA_OFFSET, "nmethod", "_metadata_offset"},
	{HOTSPOT_IMMUTABLE, "nmethod", "_immutable_data"},
	{HOTSPOT_MUTABLE, "CodeBlob", "_mutable_data"},
	{HOTSPOT_RELOCATION_SIZE, "CodeBlob", "_relocation_size"},
	{HOTSPOT_PC_SIZE, "PcDesc", NULL},
	{HOTSPOT_PC_OFFSET, "PcDesc", "_pc_offset"},
	{HOTSPOT_PC_SCOPE, "PcDesc", "_scope_decode_offset"},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* Items that some releases do not have. */
static bool is_optional(enum hotspot_item item)
{
	return item == HOTSPOT_BLOB_BEGIN || item == HOTSPOT_BLOB_OFFSET ||
	       item == HOTSPOT_DEOPT_HANDLER || item == HOTSPOT_DEOPT_OFFSET ||
	       item >= HOTSPOT_WALK_ITEMS;
}

static uint64_t word_at(struct frame_image *image, uint64_t address)
{
	uint64_t word;

	return address && frame_image_word(image, address, &word) ? word : 0;
}

/* A name; "" if there is none, or one that is too long. */
static void read_name(struct frame_image *image, uint64_t address, char out[NAME_BYTES])
{
	for (size_t i = 0; i < NAME_BYTES; i += sizeof(uint64_t)) {
		uint64_t word = word_at(image, address ? address + i : 0);

		memcpy(out + i, &word, sizeof(word));
		if (memchr(out + i, '\0', sizeof(word)))
			return;
	}
	out[0] = '\0';
}

static void take_row(struct hotspot_cells *cells, const char *type, const char *field,
		     uint64_t cell, size_t ranks[HOTSPOT_ITEMS])
{
	for (size_t i = 0; i < ROWS; i++) {
		const struct row *row = &rows[i];

		if (strcmp(row->type, type) || !row->field != !field ||
		    (field && strcmp(row->field, field)) ||
		    (cells->cell[row->item] && ranks[row->item] <= i))
			continue;
		cells->cell[row->item] = cell;
		ranks[row->item] = i;
	}
}

static void read_structs(struct frame_image *image, uint64_t table, struct hotspot_cells *cells)
{
	char type[NAME_BYTES], field[NAME_BYTES];
	size_t ranks[HOTSPOT_ITEMS] = {0};

	for (size_t i = 0; i < ENTRIES_MAX; i++) {
		uint64_t entry = table + i * STRUCT_BYTES, name = word_at(image, entry);
		bool is_static = word_at(image, entry + STRUCT_STATIC) & 1;

		if (!name)
			return;
		read_name(image, name, type);
		read_name(image, word_at(image, entry + sizeof(name)), field);
		take_row(cells, type, field, entry + (is_static ? STRUCT_ADDRESS : STRUCT_OFFSET),
			 ranks);
	}
}

static void read_types(struct frame_image *image, uint64_t table, struct hotspot_cells *cells)
{
	size_t ranks[HOTSPOT_ITEMS] = {0};
	char type[NAME_BYTES];

	for (size_t i = 0; i < ENTRIES_MAX; i++) {
		uint64_t entry = table + i * TYPE_BYTES, name = word_at(image, entry);

		if (!name)
			return;
		read_name(image, name, type);
		take_row(cells, type, NULL, entry + TYPE_SIZE, ranks);
	}
}

/* The addresses of the two tables' variables. */
static bool find_tables(Elf *elf, uint64_t *structs, uint64_t *types)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	*structs = *types = 0;
	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data, *strings;
		GElf_Sym symbol;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM)
			continue;
		data = elf_section_data(section);
		strings = elf_section_data(elf_getscn(elf, header.sh_link));
		for (int i = 0; data && i < SYMBOLS_MAX && gelf_getsym(data, i, &symbol); i++) {
			const char *name = elf_string(strings, symbol.st_name);

			if (name && !strcmp(name, "gHotSpotVMStructs"))
				*structs = symbol.st_value;
			if (name && !strcmp(name, "gHotSpotVMTypes"))
				*types = symbol.st_value;
		}
	}
	return *structs && *types;
}

bool hotspot_tables_read(int fd, struct hotspot_cells *out)
{
	Elf *elf = elf_open(fd);
	struct frame_image *image = NULL;
	uint64_t structs, types;
	bool found = elf && elf_kind(elf) == ELF_K_ELF && find_tables(elf, &structs, &types);

	memset(out, 0, sizeof(*out));
	elf_end(elf);
	if (!found)
		close(fd);
	if (!found || frame_image_open(fd, &image))
		return false;
	read_structs(image, word_at(image, structs), out);
	read_types(image, word_at(image, types), out);
	frame_image_free(image);
	for (int i = 0; i < HOTSPOT_ITEMS; i++)
		found &= out->cell[i] || is_optional((enum hotspot_item)i);
	if (!found)
		memset(out, 0, sizeof(*out));
	return found;
}
