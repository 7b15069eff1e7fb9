/* SPDX-License-Identifier: BSD-2-Clause */
/* tables.c: reads the structure tables that libjvm.so exports for debuggers. */
/*
 * There are three tables: fields with their offsets, or addresses if static, types with their
 * sizes, and constants. They are filled when the library is loaded. Pointers in them are
 *relocations. Offsets and sizes are constants in the code of an initialiser, which does little else
 *than store them: movq $constant, distance(%rip). That code is read like a table here. So all data
 *comes from the file, none from the memory of a process, and only exported symbols are needed.
 *
 * The layout of an entry is the same in all releases:
 *
 *	structs  type name, field name, type of the field; is it static; offset; address
 *	types    type name, its base; three flags; size
 *	ints     name; value
 */
#include "tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../symbols/elf_file.h"
#include "../../util/map.h"
#include "../find.h"

#define RELOCATIONS_MAX  (1 << 20)  /* per section */
#define ENTRIES_MAX      4096       /* per table */
#define INITIALISERS_MAX (4u << 20) /* bytes of their code */
#define INITIALISER_MAX  (64u << 10)
#define NAME_BYTES       160

/* A table, the size of an entry, and the position of its value. The library has variables for
 * these, which are 0 in the file. */
struct form {
	const char *table;
	uint64_t stride;
	bool has_fields;
	uint64_t value;
	uint64_t mask; /* of the value's word */
};

#define FORMS          3
#define STRUCT_FIELD   8
#define STRUCT_STATIC  24
#define STRUCT_ADDRESS 40

static const struct form forms[FORMS] = {{"gHotSpotVMStructs", 48, true, 32, UINT64_MAX},
					 {"gHotSpotVMTypes", 40, false, 32, UINT64_MAX},
					 {"gHotSpotVMIntConstants", 16, false, 8, UINT32_MAX}};

struct tables {
	struct runtime_file *file;
	uint64_t variables[FORMS], begins[FORMS]; /* addresses: pointers to tables; tables */
	GElf_Shdr initialisers;                   /* the list of initialisers */
	uint64_t low, high;                       /* starts of the first and last one */
	struct map *words;   /* address in a table to its value after loading */
	struct map *entries; /* "Type.field" to its offset or address, "Type" to its size, a
				constant's name to its value */
};

/* --- words of the loaded library ---------------------------------------------------------- */

static void put_word(struct tables *tables, uint64_t at, uint64_t value)
{
	bool inside = false;
	uint64_t *slot;

	for (size_t i = 0; i < FORMS; i++)
		inside |= at - tables->begins[i] < ENTRIES_MAX * forms[i].stride;
	slot = inside ? map_put(tables->words, &at, NULL) : NULL;
	if (slot)
		*slot = value;
}

/* The word at an address after loading. */
static bool read_word(const struct tables *tables, uint64_t at, uint64_t *out)
{
	const uint64_t *word = map_get(tables->words, &at);

	if (word)
		*out = *word;
	return word || runtime_read(tables->file, at, out, sizeof(*out));
}

typedef void relocation_visitor(struct tables *tables, uint64_t at, uint64_t value);

static void visit_relocations(struct tables *tables, relocation_visitor *visit)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Rela rela;

	while ((section = elf_nextscn(tables->file->elf, section))) {
		Elf_Data *data = NULL;

		if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA)
			data = elf_section_data(section);
		for (int i = 0; data && i < RELOCATIONS_MAX && gelf_getrela(data, i, &rela); i++)
			if (GELF_R_TYPE(rela.r_info) == R_X86_64_RELATIVE)
				visit(tables, rela.r_offset, (uint64_t)rela.r_addend);
	}
}

/* Notes the start of a table, or the code of an initialiser; their code is contiguous. */
static void note_begin(struct tables *tables, uint64_t at, uint64_t value)
{
	for (size_t i = 0; i < FORMS; i++)
		if (at == tables->variables[i])
			tables->begins[i] = value;
	if (at - tables->initialisers.sh_addr >= tables->initialisers.sh_size)
		return;
	if (value < tables->low)
		tables->low = value;
	if (value > tables->high)
		tables->high = value;
}

static void read_relocations(struct tables *tables)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(tables->file->elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_INIT_ARRAY)
			tables->initialisers = header;
	visit_relocations(tables, note_begin);
	visit_relocations(tables, put_word);
}

/* movq $constant, distance(%rip): 48 c7 05, the distance from its end, the constant. */
#define STORE_BYTES 11

static bool take_store(struct tables *tables, const unsigned char *code, uint64_t end)
{
	int32_t distance, constant;

	if (code[0] != 0x48 || code[1] != 0xc7 || code[2] != 0x05)
		return false;
	memcpy(&distance, code + 3, sizeof(distance));
	memcpy(&constant, code + 7, sizeof(constant));
	put_word(tables, end + (uint64_t)(int64_t)distance, (uint64_t)(int64_t)constant);
	return true;
}

static void read_stores(struct tables *tables)
{
	size_t size = tables->high - tables->low + INITIALISER_MAX;
	unsigned char *code;

	if (tables->low > tables->high || size > INITIALISERS_MAX)
		return;
	code = malloc(size);
	if (code && runtime_read(tables->file, tables->low, code, size))
		for (size_t i = 0; i + STORE_BYTES <= size; i++)
			if (take_store(tables, code + i, tables->low + i + STORE_BYTES))
				i += STORE_BYTES - 1;
	free(code);
}

/* --- tables ------------------------------------------------------------------------------- */

/* Appends the text at the pointer in `at`; false: none. */
static bool add_name(const struct tables *tables, uint64_t at, char out[2 * NAME_BYTES])
{
	size_t used = strlen(out);
	uint64_t name;

	return read_word(tables, at, &name) && name &&
	       runtime_text(tables->file, name, out + used, NAME_BYTES);
}

/* False at the table's end. */
static bool read_entry(const struct tables *tables, const struct form *form, uint64_t at)
{
	char name[2 * NAME_BYTES] = "";
	uint64_t part = at + form->value, is_static = 0, value, *slot;

	if (!add_name(tables, at, name))
		return false;
	if (form->has_fields) {
		strcat(name, ".");
		if (!add_name(tables, at + STRUCT_FIELD, name) ||
		    !read_word(tables, at + STRUCT_STATIC, &is_static))
			return true;
		if (is_static & 1)
			part = at + STRUCT_ADDRESS;
	}
	slot = read_word(tables, part, &value)
		       ? map_put_string(tables->entries, name, strlen(name), NULL)
		       : NULL;
	if (slot)
		*slot = value & form->mask;
	return true;
}

static void read_table(const struct tables *tables, size_t number)
{
	uint64_t at = tables->begins[number];

	for (int i = 0; at && i < ENTRIES_MAX && read_entry(tables, &forms[number], at); i++)
		at += forms[number].stride;
}

static void free_entries(void *entries)
{
	map_free(entries);
}

static bool hotspot_tables_find(const struct map *entries, const char *name, uint64_t *value)
{
	const uint64_t *found = entries ? map_get_string(entries, name, strlen(name)) : NULL;

	if (found)
		*value = *found;
	return found;
}

/* An initialiser of another form leaves all sizes at 0: then nothing is reliable. */
static bool is_complete(const struct map *entries)
{
	uint64_t block, frame;

	return hotspot_tables_find(entries, "HeapBlock", &block) && block &&
	       hotspot_tables_find(entries, "CodeBlob._frame_size", &frame) && frame;
}

/* Read on first use, and kept with the file; NULL: no tables. */
static struct map *entries_of(struct runtime_file *file)
{
	struct tables tables = {.file = file, .low = UINT64_MAX};

	if (file->own)
		return file->own;
	for (size_t i = 0; i < FORMS; i++)
		if (!runtime_exported(file, forms[i].table, &tables.variables[i]))
			return NULL;
	tables.words = map_create(sizeof(uint64_t));
	tables.entries = map_create(MAP_STRING_KEYS);
	if (tables.words && tables.entries) {
		read_relocations(&tables);
		read_stores(&tables);
		for (size_t i = 0; i < FORMS; i++)
			read_table(&tables, i);
	}
	map_free(tables.words);
	if (tables.entries && !is_complete(tables.entries)) {
		map_free(tables.entries);
		tables.entries = map_create(MAP_STRING_KEYS);
	}
	file->own = tables.entries;
	file->own_free = free_entries;
	return file->own;
}

bool hotspot_entry(struct runtime_file *file, const char *name, uint64_t *value)
{
	return hotspot_tables_find(entries_of(file), name, value);
}

/* --- layout for the walker ---------------------------------------------------------------- */

/* For an item with several rows, use the first that the release has. */
static const struct row {
	enum hotspot_item item;
	const char *name;
} rows[] = {
	{HOTSPOT_HEAPS, "CodeCache._heaps"},
	{HOTSPOT_CALL_STUB, "StubRoutines._call_stub_return_address"},
	{HOTSPOT_ARRAY_LENGTH, "GrowableArrayBase._len"},
	{HOTSPOT_ARRAY_LENGTH, "GenericGrowableArray._len"},
	{HOTSPOT_ARRAY_DATA, "GrowableArray<int>._data"},
	{HOTSPOT_HEAP_MEMORY, "CodeHeap._memory"},
	{HOTSPOT_HEAP_MAP, "CodeHeap._segmap"},
	{HOTSPOT_HEAP_SHIFT, "CodeHeap._log2_segment_size"},
	{HOTSPOT_SPACE_LOW, "VirtualSpace._low_boundary"},
	{HOTSPOT_SPACE_HIGH, "VirtualSpace._high_boundary"},
	{HOTSPOT_SPACE_BEGIN, "VirtualSpace._low"},
	{HOTSPOT_BLOCK_SIZE, "HeapBlock"},
	{HOTSPOT_BLOB_NAME, "CodeBlob._name"},
	{HOTSPOT_BLOB_FRAME_SIZE, "CodeBlob._frame_size"},
	{HOTSPOT_BLOB_COMPLETE, "CodeBlob._frame_complete_offset"},
	{HOTSPOT_BLOB_BEGIN, "CodeBlob._code_begin"},
	{HOTSPOT_BLOB_OFFSET, "CodeBlob._code_offset"},
	{HOTSPOT_COMPILE_ID, "nmethod._compile_id"},
	{HOTSPOT_ORIGINAL_PC, "nmethod._orig_pc_offset"},
	{HOTSPOT_DEOPT_HANDLER, "CompiledMethod._deopt_handler_begin"},
	{HOTSPOT_DEOPT_HANDLER, "nmethod._deopt_handler_begin"},
	{HOTSPOT_DEOPT_OFFSET, "nmethod._deopt_handler_offset"},
	{HOTSPOT_METHOD_CONST, "Method._constMethod"},
	{HOTSPOT_CONST_CODE_SIZE, "ConstMethod._code_size"},
	{HOTSPOT_CONST_SIZE, "ConstMethod"},
	{HOTSPOT_VERSION, "Abstract_VM_Version._vm_major_version"},
	{HOTSPOT_CONST_POOL, "ConstMethod._constants"},
	{HOTSPOT_CONST_NAME, "ConstMethod._name_index"},
	{HOTSPOT_CONST_FLAGS, "ConstMethod._flags"},
	{HOTSPOT_CONST_FLAGS, "ConstMethod._flags._flags"},
	{HOTSPOT_POOL_HOLDER, "ConstantPool._pool_holder"},
	{HOTSPOT_POOL_SIZE, "ConstantPool"},
	{HOTSPOT_POOL_FILE, "ConstantPool._source_file_name_index"},
	{HOTSPOT_KLASS_NAME, "Klass._name"},
	{HOTSPOT_SYMBOL_LENGTH, "Symbol._length"},
	{HOTSPOT_SYMBOL_BODY, "Symbol._body"},
	{HOTSPOT_NMETHOD_METHOD, "CompiledMethod._method"},
	{HOTSPOT_NMETHOD_METHOD, "nmethod._method"},
	{HOTSPOT_PCS_OFFSET, "nmethod._scopes_pcs_offset"},
	{HOTSPOT_PCS_END, "nmethod._dependencies_offset"},
	{HOTSPOT_PCS_END, "nmethod._scopes_data_offset"},
	{HOTSPOT_SCOPES_BEGIN, "CompiledMethod._scopes_data_begin"},
	{HOTSPOT_SCOPES_OFFSET, "nmethod._scopes_data_offset"},
	{HOTSPOT_METADATA_OFFSET, "nmethod._metadata_offset"},
	{HOTSPOT_IMMUTABLE, "nmethod._immutable_data"},
	{HOTSPOT_MUTABLE, "CodeBlob._mutable_data"},
	{HOTSPOT_RELOCATION_SIZE, "CodeBlob._relocation_size"},
	{HOTSPOT_PC_SIZE, "PcDesc"},
	{HOTSPOT_PC_OFFSET, "PcDesc._pc_offset"},
	{HOTSPOT_PC_SCOPE, "PcDesc._scope_decode_offset"},
};

/* Items missing in some releases. */
static bool is_optional(enum hotspot_item item)
{
	return item == HOTSPOT_BARRIER || item == HOTSPOT_BLOB_BEGIN ||
	       item == HOTSPOT_BLOB_OFFSET || item == HOTSPOT_DEOPT_HANDLER ||
	       item == HOTSPOT_DEOPT_OFFSET || item >= HOTSPOT_WALK_ITEMS;
}

#define BARRIER "_ZN12StubRoutines19_cont_returnBarrierE"

/* The layout for the walker. False, and all 0, if the file is something else or lacks part of it.
 */
static bool hotspot_layout_of(struct runtime_file *file, struct hotspot_layout *out)
{
	const struct map *entries = entries_of(file);
	bool found = entries;

	for (int i = 0; i < HOTSPOT_ITEMS; i++)
		out->value[i] = HOTSPOT_NONE;
	for (size_t i = 0; entries && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (out->value[rows[i].item] == HOTSPOT_NONE)
			hotspot_tables_find(entries, rows[i].name, &out->value[rows[i].item]);
	/* In no table. */
	if (entries)
		runtime_symbol(file, BARRIER, &out->value[HOTSPOT_BARRIER]);
	for (int i = 0; i < HOTSPOT_ITEMS; i++)
		found &= out->value[i] != HOTSPOT_NONE || is_optional((enum hotspot_item)i);
	if (!found)
		memset(out, 0, sizeof(*out));
	return found;
}

bool hotspot_layout_read(int fd, struct hotspot_layout *out)
{
	struct runtime_file file = {.fd = fd, .elf = elf_open(fd)};
	bool found = false;

	memset(out, 0, sizeof(*out));
	if (file.elf && elf_kind(file.elf) == ELF_K_ELF)
		found = hotspot_layout_of(&file, out);
	runtime_file_end(&file);
	elf_end(file.elf);
	return found;
}
