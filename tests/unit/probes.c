/* SPDX-License-Identifier: BSD-2-Clause */
/* probes.c: tests of the search for probes, on files built here and on this very program. */
#include "test.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gc.h"
#include "reader/probes.h"

/* A file with code at its start, data behind, one section of notes, one for the base. */
enum {
	CODE_AT = 0x1000,
	DATA_AT = 0x2000,
	NOTES_AT = 0x3000,
	NAMES_AT = 0x5000,
	FILE_SIZE = 0x6000
};
enum { CODE_ADDRESS = 0x401000, DATA_ADDRESS = 0x602000, BASE_ADDRESS = 0x700000 };

static unsigned char file[FILE_SIZE];
static size_t notes_size;

static const char names[] = "\0.note.stapsdt\0.stapsdt.base\0.shstrtab";

static void build_sections(Elf64_Ehdr *header)
{
	Elf64_Shdr *section = (Elf64_Shdr *)(file + 0x400);

	section[1] = (Elf64_Shdr){.sh_name = 1,
				  .sh_type = SHT_NOTE,
				  .sh_offset = NOTES_AT,
				  .sh_size = notes_size,
				  .sh_addralign = 4};
	section[2] = (Elf64_Shdr){.sh_name = 15,
				  .sh_type = SHT_PROGBITS,
				  .sh_flags = SHF_ALLOC,
				  .sh_addr = BASE_ADDRESS,
				  .sh_offset = CODE_AT + 0x800,
				  .sh_size = 1,
				  .sh_addralign = 1};
	section[3] = (Elf64_Shdr){.sh_name = 29,
				  .sh_type = SHT_STRTAB,
				  .sh_offset = NAMES_AT,
				  .sh_size = sizeof(names),
				  .sh_addralign = 1};
	memcpy(file + NAMES_AT, names, sizeof(names));
	header->e_shoff = 0x400;
	header->e_shentsize = sizeof(Elf64_Shdr);
	header->e_shnum = 4;
	header->e_shstrndx = 3;
}

/* The headers around whatever notes were added. */
static void build(void)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)file;
	Elf64_Phdr *segment = (Elf64_Phdr *)(file + sizeof(*header));

	memcpy(header->e_ident, ELFMAG, SELFMAG);
	header->e_ident[EI_CLASS] = ELFCLASS64;
	header->e_ident[EI_DATA] = ELFDATA2LSB;
	header->e_ident[EI_VERSION] = EV_CURRENT;
	header->e_type = ET_EXEC;
	header->e_machine = EM_X86_64;
	header->e_version = EV_CURRENT;
	header->e_ehsize = sizeof(*header);
	header->e_phoff = sizeof(*header);
	header->e_phentsize = sizeof(*segment);
	header->e_phnum = 2;
	segment[0] = (Elf64_Phdr){.p_type = PT_LOAD,
				  .p_flags = PF_R | PF_X,
				  .p_offset = CODE_AT,
				  .p_vaddr = CODE_ADDRESS,
				  .p_filesz = 0x1000,
				  .p_memsz = 0x1000};
	segment[1] = (Elf64_Phdr){.p_type = PT_LOAD,
				  .p_flags = PF_R | PF_W,
				  .p_offset = DATA_AT,
				  .p_vaddr = DATA_ADDRESS,
				  .p_filesz = 0x800,
				  .p_memsz = 0x1000};
	build_sections(header);
}

struct sdt {
	uint64_t address, base, semaphore;
	const char *provider, *name, *arguments;
};

static void add_note(const struct sdt *sdt)
{
	unsigned char *at = file + NOTES_AT + notes_size;
	Elf64_Nhdr *note = (Elf64_Nhdr *)at;
	unsigned char *content = at + sizeof(*note) + 8;
	size_t size = 24;

	memcpy(at + sizeof(*note), "stapsdt", 8);
	memcpy(content, &sdt->address, 24);
	size += (size_t)sprintf((char *)content + size, "%s", sdt->provider) + 1;
	size += (size_t)sprintf((char *)content + size, "%s", sdt->name) + 1;
	size += (size_t)sprintf((char *)content + size, "%s", sdt->arguments) + 1;
	*note = (Elf64_Nhdr){.n_namesz = 8, .n_descsz = (Elf64_Word)size, .n_type = 3};
	notes_size += sizeof(*note) + 8 + ((size + 3) & ~(size_t)3);
}

static struct problem problem;

/* What the tests look at; the list of places is freed at once. */
struct result {
	unsigned count[PROBES], refused, total;
	struct probe_site last;
};

static struct result take(struct probes_found *found)
{
	struct result result = {.refused = found->refused, .total = (unsigned)found->n_sites};

	memcpy(result.count, found->count, sizeof(result.count));
	if (found->n_sites)
		result.last = found->sites[found->n_sites - 1];
	probes_free(found);
	return result;
}

static struct result find_in(size_t size)
{
	struct probes_found found;
	int fd = memfd_create("probes", MFD_CLOEXEC);

	CHECK(fd >= 0 && write(fd, file, size) == (ssize_t)size);
	problem.text[0] = '\0';
	CHECK_EQ(probes_find(fd, &found, &problem), 0);
	close(fd);
	return take(&found);
}

static struct result find_one(const struct sdt *sdt)
{
	memset(file, 0, sizeof(file));
	notes_size = 0;
	memset(file + CODE_AT, 0x90, 16);
	add_note(sdt);
	build();
	return find_in(sizeof(file));
}

static const struct sdt good = {CODE_ADDRESS + 4, BASE_ADDRESS, DATA_ADDRESS + 8,
				"gcprof",         "fate",       "8@%rdi 8@-16(%rbp)"};

TEST(good_note)
{
	struct result found = find_one(&good);

	CHECK_EQ(found.count[PROBE_fate], 1);
	CHECK_EQ(found.total, 1);
	CHECK_EQ(found.refused, 0);
}

TEST(place_is_described)
{
	struct result found = find_one(&good);
	const struct probe_place *place = &found.last.place;

	CHECK_EQ(found.last.offset, CODE_AT + 4);
	CHECK_EQ(found.last.semaphore, DATA_AT + 8);
	CHECK_EQ(place->probe, PROBE_fate);
	CHECK_EQ(place->count, 2);
	CHECK_EQ(place->arguments[0].operand, OPERAND_REGISTER);
	CHECK_EQ(place->arguments[1].operand, OPERAND_MEMORY);
	CHECK_EQ(place->arguments[1].value, -16);
}

TEST(addresses_move_with_the_base)
{
	struct sdt sdt = good;
	struct result found;

	sdt.address -= 0x1000;
	sdt.semaphore -= 0x1000;
	sdt.base -= 0x1000;
	found = find_one(&sdt);
	CHECK_EQ(found.count[PROBE_fate], 1);
	CHECK_EQ(found.refused, 0);
}

TEST(other_providers_and_probes_are_not_ours)
{
	struct sdt sdt = good;

	sdt.provider = "libc";
	CHECK_EQ(find_one(&sdt).total + find_one(&sdt).refused, 0);
	sdt = good;
	sdt.name = "fates";
	CHECK_EQ(find_one(&sdt).total + find_one(&sdt).refused, 0);
}

TEST(arguments_may_be_more_but_not_less)
{
	struct sdt sdt = good;

	sdt.arguments = "8@%rdi";
	CHECK_EQ(find_one(&sdt).refused, 1);
	CHECK_EQ(find_one(&sdt).count[PROBE_fate], 0);
	sdt.arguments = "";
	CHECK_EQ(find_one(&sdt).refused, 1);
	sdt.arguments = "8@%rdi 8@heap(%rip)";
	CHECK_EQ(find_one(&sdt).refused, 1);
	sdt.arguments = "8@%rdi 8@%rsi -4@$7";
	CHECK_EQ(find_one(&sdt).count[PROBE_fate], 1);
}

/* Files that were built before `sample` named its stack. */
TEST(arguments_that_were_added_later_may_be_missing)
{
	struct sdt sdt = good;
	struct result found;

	sdt.name = "sample";
	sdt.arguments = "8@%rdi 8@%rsi 8@%rdx 8@%rcx -4@%r8d 8@%r9";
	found = find_one(&sdt);
	CHECK_EQ(found.count[PROBE_sample], 1);
	CHECK_EQ(found.last.place.count, 6);
	sdt.arguments = "8@%rdi 8@%rsi 8@%rdx 8@%rcx -4@%r8d 8@%r9 8@%rax";
	CHECK_EQ(find_one(&sdt).last.place.count, 7);
	sdt.arguments = "8@%rdi 8@%rsi 8@%rdx 8@%rcx -4@%r8d";
	CHECK_EQ(find_one(&sdt).refused, 1);
}

TEST(only_a_nop_in_the_code_is_a_place)
{
	const uint64_t bad[] = {
		CODE_ADDRESS + 16, CODE_ADDRESS - 1, CODE_ADDRESS + 0x1000, DATA_ADDRESS, 0,
		UINT64_MAX};
	struct sdt sdt = good;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		sdt.address = bad[i];
		CHECK_EQ(find_one(&sdt).refused, 1);
		CHECK_EQ(find_one(&sdt).total, 0);
		CHECK(strstr(problem.text, "probe fate"));
	}
}

TEST(semaphore_lies_in_the_data_or_is_not_there)
{
	struct sdt sdt = good;

	sdt.semaphore = 0;
	CHECK_EQ(find_one(&sdt).count[PROBE_fate], 1);
	sdt.semaphore = DATA_ADDRESS + 0x800 - 1; /* its second byte is outside the file */
	CHECK_EQ(find_one(&sdt).refused, 1);
	sdt.semaphore = CODE_ADDRESS + 8; /* cannot be written */
	CHECK_EQ(find_one(&sdt).refused, 1);
}

TEST(one_bad_place_spoils_its_probe_only)
{
	struct sdt bad = good, other = good;
	struct result found;

	bad.address = CODE_ADDRESS + 100;
	other.name = "phase";
	find_one(&good);
	add_note(&bad);
	add_note(&other);
	build();
	found = find_in(sizeof(file));
	CHECK_EQ(found.count[PROBE_fate], 0);
	CHECK_EQ(found.count[PROBE_phase], 1);
	CHECK_EQ(found.refused, 1);
	CHECK_EQ(found.total, 1);
}

/* Cut anywhere, a file gives no more than it has, and never a crash. */
TEST(torn_files)
{
	find_one(&good);
	for (size_t size = 0; size < sizeof(file); size += 61) {
		struct result found = find_in(size);
		CHECK(found.total <= 1);
	}
}

TEST(damaged_files)
{
	uint64_t state = test_seed();

	for (int round = 0; round < 3000; round++) {
		find_one(&good);
		for (int i = 0; i < 6; i++) {
			uint64_t r = test_random(&state);
			size_t at = r & 1 ? (r >> 16) % 0x540 : NOTES_AT + (r >> 16) % 96;
			file[at] = (unsigned char)(r >> 8);
		}
		find_in(sizeof(file));
	}
}

/* The collector is linked in: every probe of the table is in this program, and good. */
TEST(the_collector_has_all_probes)
{
	struct probes_found found;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct gc_heap *heap;

	CHECK_EQ(gc_heap_create(NULL, &heap), 0); /* so that the linker takes all of it */
	gc_heap_destroy(heap);
	CHECK(fd >= 0);
	CHECK_EQ(probes_find(fd, &found, &problem), 0);
	close(fd);
	CHECK_EQ(found.refused, 0);
	/* `sample` is attached last. */
	CHECK_EQ(found.sites[found.n_sites - 1].place.probe, PROBE_sample);
	for (int probe = 0; probe < PROBES; probe++) {
		printf("%s: %u\n", probe_table[probe].name, found.count[probe]);
		CHECK(found.count[probe] >= 1);
	}
	probes_free(&found);
}
