// SPDX-License-Identifier: BSD-2-Clause
/* record_json.c: any record as a JSON object. */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "record_json.h"

/* How many bytes a character has that begins with this one; 0: none does. */
static size_t sequence_size(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc2)
		return 0;
	if (first < 0xe0)
		return 2;
	if (first < 0xf0)
		return 3;
	return first < 0xf5 ? 4 : 0;
}

/* The character at the start of `text`: its bytes, and its code; 0 bytes if it is no UTF-8. */
static size_t decode_utf8(const unsigned char *text, size_t size, uint32_t *code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = sequence_size(text[0]);

	if (!n || n > size)
		return 0;
	*code = n == 1 ? text[0] : text[0] & (0x7fU >> n);
	for (size_t i = 1; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (text[i] & 0x3f);
	}
	if (*code < least[n] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))
		return 0;
	return n;
}

static void put_character(FILE *out, const unsigned char *text, size_t n, uint32_t code)
{
	if (code == '"' || code == '\\')
		fprintf(out, "\\%c", (int)code);
	else if (code == '\n')
		fputs("\\n", out);
	else if (code == '\t')
		fputs("\\t", out);
	else if (code < 0x20 || (code >= 0x7f && code < 0xa0))
		fprintf(out, "\\u%04" PRIx32, code);
	else
		fwrite(text, 1, n, out);
}

void json_text(FILE *out, struct bytes text)
{
	const unsigned char *at = (const unsigned char *)text.data;

	putc('"', out);
	for (size_t i = 0; i < text.size;) {
		uint32_t code = 0;
		size_t n = decode_utf8(at + i, text.size - i, &code);

		if (n)
			put_character(out, at + i, n, code);
		else
			fputs("\xef\xbf\xbd", out);
		i += n ? n : 1;
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

/* The fields that hold no text. */
static bool is_binary(const struct record *record, const struct field_info *field)
{
	return (record->kind == RECORD_module &&
		field->offset == offsetof(struct record, module.build_id)) ||
	       (record->kind == RECORD_syscall_total &&
		field->offset == offsetof(struct record, syscall_total.histogram));
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
