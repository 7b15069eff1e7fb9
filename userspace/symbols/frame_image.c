// SPDX-License-Identifier: BSD-2-Clause
/* frame_image.c: an ELF file as it is loaded: its words, and its table of frame information. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_file.h"
#include "stack_unwind.h"
#include "unwind.h"

#define SEGMENTS_MAX 32
#define PAGE_BYTES   4096
#define PAGES_KEPT   1024 /* per file, by page number modulo this */

struct segment {
	uint64_t offset, address;
	uint64_t size;   /* bytes in the file */
	uint64_t memory; /* bytes in memory, at least `size` */
	bool code;
};

struct page {
	uint64_t number; /* plus one; 0: empty */
	size_t size;
	unsigned char bytes[PAGE_BYTES];
};

struct frame_image {
	int fd; /* -1: `data` is the whole image */
	const unsigned char *data;
	uint64_t size;
	struct segment segments[SEGMENTS_MAX];
	size_t n_segments;
	uint64_t table_address; /* of PT_GNU_EH_FRAME; 0: none */
	struct frame_table table;
	struct unwind_file *go_rows; /* NULL: none, or not built yet */
	bool go_rows_tried;
	struct page *pages[PAGES_KEPT];
};

/* --- bytes ---------------------------------------------------------------------------- */

static const struct page *page_get(struct frame_image *image, uint64_t number)
{
	struct page **place = &image->pages[number % PAGES_KEPT];
	ssize_t size;

	if (!*place)
		*place = calloc(1, sizeof(**place));
	if (!*place || (*place)->number == number + 1)
		return *place;
	(*place)->number = 0;
	size = pread(image->fd, (*place)->bytes, PAGE_BYTES, (off_t)(number * PAGE_BYTES));
	if (size < 0)
		return NULL;
	(*place)->number = number + 1;
	(*place)->size = (size_t)size;
	return *place;
}

/* Copies bytes of the file. */
static bool file_bytes(struct frame_image *image, uint64_t offset, void *to, size_t size)
{
	unsigned char *out = to;

	if (offset > image->size || size > image->size - offset)
		return false;
	if (image->fd < 0) {
		memcpy(out, image->data + offset, size);
		return true;
	}
	while (size) {
		const struct page *page = page_get(image, offset / PAGE_BYTES);
		size_t at = offset % PAGE_BYTES, part = PAGE_BYTES - at;

		if (part > size)
			part = size;
		if (!page || page->size < at + part)
			return false;
		memcpy(out, page->bytes + at, part);
		out += part;
		offset += part;
		size -= part;
	}
	return true;
}

bool frame_image_word(struct frame_image *image, uint64_t address, uint64_t *word)
{
	for (size_t i = 0; i < image->n_segments; i++) {
		const struct segment *segment = &image->segments[i];
		uint64_t at = address - segment->address, size = sizeof(*word);

		if (at >= segment->memory)
			continue;
		*word = 0;
		if (at >= segment->size)
			return true;
		if (size > segment->size - at)
			size = segment->size - at;
		return file_bytes(image, segment->offset + at, word, size);
	}
	return false;
}

/* --- opening -------------------------------------------------------------------------- */

static bool segment_add(struct frame_image *image, const Elf64_Phdr *header)
{
	if (image->n_segments == SEGMENTS_MAX || header->p_filesz > header->p_memsz ||
	    header->p_vaddr > UINT64_MAX - header->p_memsz ||
	    header->p_offset > UINT64_MAX - header->p_filesz)
		return false;
	image->segments[image->n_segments++] = (struct segment){
		.offset = header->p_offset,
		.address = header->p_vaddr,
		.size = header->p_filesz,
		.memory = header->p_memsz,
		.code = header->p_flags & PF_X,
	};
	return true;
}

static int read_headers(struct frame_image *image)
{
	Elf64_Ehdr elf;
	Elf64_Phdr header;

	if (!file_bytes(image, 0, &elf, sizeof(elf)) || memcmp(elf.e_ident, ELFMAG, SELFMAG) ||
	    elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_ident[EI_DATA] != ELFDATA2LSB ||
	    elf.e_machine != EM_X86_64 || elf.e_phentsize != sizeof(header) ||
	    elf.e_phoff > image->size)
		return -ENOEXEC;
	if (elf.e_phnum > ELF_SEGMENTS_MAX)
		return -ENOEXEC;
	image->table.entry = elf.e_entry;
	for (uint32_t i = 0; i < elf.e_phnum; i++) {
		if (!file_bytes(image, elf.e_phoff + (uint64_t)i * sizeof(header), &header,
				sizeof(header)))
			return -ENOEXEC;
		if (header.p_type == PT_LOAD && header.p_memsz && !segment_add(image, &header))
			return -ENOEXEC;
		if (header.p_type == PT_GNU_EH_FRAME)
			image->table_address = header.p_vaddr;
	}
	return 0;
}

/*
 * .eh_frame_hdr: version 1, three encodings, the distance to .eh_frame, the number of entries; then
 * the entries. Linkers write only these encodings: relative to here, absolute, relative to the
 * header; all with 4 bytes.
 */
static void read_table(struct frame_image *image)
{
	static const uint8_t expected[4] = {1, 0x1b, 0x03, 0x3b};
	uint64_t words[2];
	uint32_t count;

	if (!image->table_address || !frame_image_word(image, image->table_address, &words[0]) ||
	    !frame_image_word(image, image->table_address + 8, &words[1]) ||
	    memcmp(words, expected, sizeof(expected)))
		return;
	memcpy(&count, &words[1], sizeof(count));
	image->table.header = image->table_address;
	image->table.entries = image->table_address + 12;
	image->table.count = count;
}

static int frame_image_finish(struct frame_image *image, struct frame_image **out)
{
	int err = read_headers(image);

	if (err) {
		frame_image_free(image);
		return err;
	}
	read_table(image);
	*out = image;
	return 0;
}

int frame_image_open(int fd, struct frame_image **out)
{
	struct frame_image *image = calloc(1, sizeof(*image));
	struct stat st;

	if (!image) {
		close(fd);
		return -ENOMEM;
	}
	image->fd = fd;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0)
		image->size = (uint64_t)st.st_size;
	return frame_image_finish(image, out);
}

int frame_image_open_memory(const void *data, size_t size, struct frame_image **out)
{
	struct frame_image *image = calloc(1, sizeof(*image));

	if (!image)
		return -ENOMEM;
	image->fd = -1;
	image->data = data;
	image->size = size;
	return frame_image_finish(image, out);
}

void frame_image_free(struct frame_image *image)
{
	if (!image)
		return;
	for (size_t i = 0; i < PAGES_KEPT; i++)
		free(image->pages[i]);
	if (image->fd >= 0)
		close(image->fd);
	unwind_free(image->go_rows);
	free(image);
}

/* --- queries ---------------------------------------------------------------------------- */

const struct frame_table *frame_image_table(const struct frame_image *image)
{
	return &image->table;
}

const struct unwind_file *frame_image_go_rows(struct frame_image *image)
{
	if (!image->go_rows_tried && image->fd >= 0 && unwind_read_go(image->fd, &image->go_rows))
		image->go_rows = NULL;
	image->go_rows_tried = true;
	return image->go_rows;
}

bool frame_image_address(const struct frame_image *image, uint64_t offset, uint64_t *address)
{
	for (size_t i = 0; i < image->n_segments; i++) {
		const struct segment *segment = &image->segments[i];
		uint64_t page = segment->offset & ~(uint64_t)(PAGE_BYTES - 1);

		/* Mappings start at page boundaries, segments anywhere in their first page. */
		if (!segment->code || offset < page ||
		    offset - page >= segment->size + (segment->offset - page))
			continue;
		*address = segment->address - (segment->offset - page) + (offset - page);
		return true;
	}
	return false;
}

void frame_image_extent(const struct frame_image *image, uint64_t *low, uint64_t *high)
{
	*low = UINT64_MAX;
	*high = 0;
	for (size_t i = 0; i < image->n_segments; i++) {
		const struct segment *segment = &image->segments[i];

		if (segment->address < *low)
			*low = segment->address;
		if (segment->address + segment->memory > *high)
			*high = segment->address + segment->memory;
	}
}
