// SPDX-License-Identifier: BSD-2-Clause
/* record_json.c: any record as a JSON object. */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "record_json.h"
#include "../util/escape.h"

void json_text(FILE *out, struct bytes text)
{
	char shown[ESCAPE_MAX];

	putc('"', out);
	for (size_t i = 0; i < text.size;) {
		i += escape_json(text.data + i, text.size - i, shown);
		fputs(shown, out);
	}
	putc('"', out);
}

static void put_hex(FILE *out, struct bytes bytes)
{
	putc('"', out);
	for (size_t i = 0; i < bytes.size; i++)
		fprintf(out, "%02x", (unsigned char)bytes.data[i]);
	putc('"', out);
}

/* BYTES fields that do not contain text. */
static bool is_binary(const struct record *record, const struct field_info *field)
{
	return (record->kind == RECORD_module &&
		field->offset == offsetof(struct record, module.build_id)) ||
	       (record->kind == RECORD_syscall_total &&
		field->offset == offsetof(struct record, syscall_total.histogram)) ||
	       (record->kind == RECORD_gc_summary &&
		field->offset == offsetof(struct record, gc_summary.histogram));
}

static void put_field(FILE *out, const struct record *record, const struct field_info *field)
{
	const void *at = (const char *)record + field->offset;
	struct bytes bytes;
	uint64_t number;

	fprintf(out, ",\"%s\":", field->name);
	if (field->kind == FIELD_BYTES) {
		memcpy(&bytes, at, sizeof(bytes));
		if (is_binary(record, field))
			put_hex(out, bytes);
		else
			json_text(out, bytes);
		return;
	}
	memcpy(&number, at, sizeof(number));
	if (field->kind == FIELD_INT)
		fprintf(out, "%" PRId64, (int64_t)number);
	else
		fprintf(out, "%" PRIu64, number);
}

void record_json(FILE *out, const struct record *record)
{
	const struct record_info *info = record_info(record->kind);

	if (!info)
		return;
	fprintf(out, "{\"record\":\"%s\"", info->name);
	for (size_t i = 0; i < info->n_fields; i++)
		put_field(out, record, &info->fields[i]);
	putc('}', out);
}
