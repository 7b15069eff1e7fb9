// SPDX-License-Identifier: BSD-2-Clause
/* debug_files.c: debug information kept outside of an ELF file: its debug file, MiniDebugInfo. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lzma.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "debug_files.h"
#include "elf_file.h"

#define LINKED_BYTES_MAX   (INT64_C(1) << 30) /* of a debug file to be checksummed */
#define UNPACKED_BYTES_MAX ((size_t)64 << 20)
#define UNPACK_MEMORY_MAX  (UINT64_C(128) << 20) /* of the decompressor itself */
#define UNPACK_STEP        ((size_t)256 << 10)
#define READ_BYTES         (64 << 10)

/* Takes over `fd`; returns it if the file has this build-id, else -1. */
static int check_build(int fd, const unsigned char *id, int size)
{
	unsigned char other[BUILD_ID_MAX];

	if (fd < 0 || (build_id_read(fd, other) == size && !memcmp(id, other, (size_t)size)))
		return fd;
	close(fd);
	return -1;
}

static struct debug_wanted wanted_by_id(enum debug_kind kind, const unsigned char *id, int size)
{
	struct debug_wanted wanted = {.kind = kind, .id_size = (uint32_t)size};

	memcpy(wanted.id, id, (size_t)size);
	return wanted;
}

/* Opens the debug file with the build-id of a file. */
static int open_same_build(int file, const struct debug_access *access)
{
	struct debug_wanted wanted;
	unsigned char id[BUILD_ID_MAX] = {0};
	int size = build_id_read(file, id), fd;

	if (size <= 0)
		return -1;
	wanted = wanted_by_id(DEBUG_BY_BUILD_ID, id, size);
	fd = check_build(access->open(access->context, file, &wanted), id, size);
	if (fd >= 0)
		return fd;
	wanted.kind = DEBUG_IN_ROOT;
	return check_build(access->open(access->context, file, &wanted), id, size);
}

/* The debug file's name and checksum in the file; false if there are no usable ones. */
static bool read_link(Elf *elf, const char **name, uint32_t *checksum)
{
	GElf_Shdr header;
	const Elf_Data *data = elf_section_bytes(elf, ".gnu_debuglink", &header);
	size_t at;

	*name = elf_string(data, 0);
	if (!*name || !**name || strchr(*name, '/') || strlen(*name) > NAME_MAX)
		return false;
	at = (strlen(*name) + 4) & ~(size_t)3;
	if (at + sizeof(*checksum) > data->d_size)
		return false;
	memcpy(checksum, (const char *)data->d_buf + at, sizeof(*checksum));
	return true;
}

static bool has_checksum(int fd, uint32_t expected)
{
	unsigned char bytes[READ_BYTES];
	uLong sum = crc32(0, NULL, 0);
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, bytes, sizeof(bytes), at)) > 0) {
		sum = crc32(sum, bytes, (uInt)n);
		at += n;
	}
	return n == 0 && sum == expected;
}

/* Takes over `fd`; returns it if the file has this checksum, else -1. */
static int check_linked(int fd, uint32_t checksum)
{
	struct stat st;

	if (fd < 0 ||
	    (!fstat(fd, &st) && st.st_size <= LINKED_BYTES_MAX && has_checksum(fd, checksum)))
		return fd;
	close(fd);
	return -1;
}

static int open_by_link(int file, Elf *elf, const struct debug_access *access)
{
	struct debug_wanted wanted = {.kind = DEBUG_BESIDE};
	uint32_t checksum;
	const char *name;
	int fd = -1;

	if (!read_link(elf, &name, &checksum))
		return -1;
	strcpy(wanted.name, name);
	for (; wanted.kind <= DEBUG_ELSEWHERE && fd < 0; wanted.kind++)
		fd = check_linked(access->open(access->context, file, &wanted), checksum);
	return fd;
}

int debug_file_open(int fd, const struct debug_access *access, Elf *elf)
{
	int found = open_same_build(fd, access);

	return found >= 0 ? found : open_by_link(fd, elf, access);
}

/* --- shared debug files (dwz) ------------------------------------------------------------- */

/* The name and build-id of the shared file made by dwz; returns the size of the build-id, 0: none.
 */
static int read_shared_link(Elf *elf, const char **name, const unsigned char **id)
{
	GElf_Shdr header;
	const Elf_Data *data = elf_section_bytes(elf, ".gnu_debugaltlink", &header);
	size_t size, before;

	*name = elf_string(data, 0);
	if (!*name || !**name)
		return 0;
	before = strlen(*name) + 1;
	size = data->d_size - before;
	*id = (const unsigned char *)data->d_buf + before;
	return size >= 2 && size <= BUILD_ID_MAX ? (int)size : 0;
}

int debug_shared_open(int fd, const struct debug_access *access, Elf *elf)
{
	struct debug_wanted wanted;
	const unsigned char *id = NULL;
	const char *name;
	int size = read_shared_link(elf, &name, &id), found;

	if (!size || strlen(name) >= sizeof(wanted.name))
		return -1;
	wanted = wanted_by_id(DEBUG_BY_BUILD_ID, id, size);
	found = check_build(access->open(access->context, fd, &wanted), id, size);
	if (found >= 0 || fd < 0)
		return found;
	wanted = (struct debug_wanted){.kind = DEBUG_SHARED};
	strcpy(wanted.name, name);
	return check_build(access->open(access->context, fd, &wanted), id, size);
}

/* Decompresses to the end of input or to the limit. */
static int unpack(lzma_stream *stream, struct buffer *out)
{
	lzma_ret result = LZMA_OK;

	while (result == LZMA_OK) {
		if (out->size >= UNPACKED_BYTES_MAX)
			return -EFBIG;
		if (buffer_reserve(out, UNPACK_STEP))
			return -ENOMEM;
		stream->next_out = (uint8_t *)out->data + out->size;
		stream->avail_out = UNPACK_STEP;
		result = lzma_code(stream, LZMA_FINISH);
		out->size += UNPACK_STEP - stream->avail_out;
	}
	return result == LZMA_STREAM_END ? 0 : -EBADMSG;
}

int debug_data_unpack(Elf *elf, struct buffer *out)
{
	GElf_Shdr header;
	const Elf_Data *packed = elf_section_bytes(elf, ".gnu_debugdata", &header);
	lzma_stream stream = LZMA_STREAM_INIT;
	int err;

	*out = (struct buffer){0};
	if (!packed || !packed->d_buf)
		return -ENODATA;
	if (lzma_stream_decoder(&stream, UNPACK_MEMORY_MAX, 0) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = packed->d_buf;
	stream.avail_in = packed->d_size;
	err = unpack(&stream, out);
	lzma_end(&stream);
	if (err)
		buffer_free(out);
	return err;
}
