// SPDX-License-Identifier: BSD-2-Clause
/* symbols.c: tests of symbol tables: this program, shared files, the kernel, damaged files. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/elf_file.h"
#include "symbols/symbols.h"
#include "symbols_rig.h"

/* A function with a size that is known to its neighbours only by its own symbol. */
__attribute__((noinline)) static int landmark(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n * 3;
}

/* The offset in this program's file of an address of its code. */
static uint64_t own_offset(const void *address)
{
	const ElfW(Phdr) *headers = (const void *)getauxval(AT_PHDR);
	size_t n = getauxval(AT_PHNUM);
	uint64_t base = 0;

	for (size_t i = 0; i < n; i++) {
		if (headers[i].p_type == PT_PHDR)
			base = (uintptr_t)headers - headers[i].p_vaddr;
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t within = (uintptr_t)address - base - headers[i].p_vaddr;

		if (headers[i].p_type == PT_LOAD && within < headers[i].p_filesz)
			return within + headers[i].p_offset;
	}
	test_fail(__FILE__, __LINE__, "%p lies in no segment", address);
}

static int own_build_id(unsigned char id[BUILD_ID_MAX])
{
	int fd = open("/proc/self/exe", O_RDONLY);
	int size = build_id_read(fd, id);

	close(fd);
	return size;
}

TEST(names_without_a_near_end_are_none)
{
	static char text[ELF_STRING_MAX + 1];
	const Elf_Data strings = {.d_buf = text, .d_size = sizeof(text)};

	memset(text, 'a', ELF_STRING_MAX);
	CHECK(!elf_string(&strings, 0));
	CHECK(elf_string(&strings, 1) == text + 1);
	CHECK(!elf_string(&strings, sizeof(text)));
	text[ELF_STRING_MAX] = 'a';
	CHECK(!elf_string(&strings, 1));
}

TEST(own_functions_are_found)
{
	uint64_t offset = own_offset((const void *)(uintptr_t)landmark);
	unsigned char id[BUILD_ID_MAX];
	struct symbols *symbols;
	struct symbol symbol;
	int size = own_build_id(id);

	CHECK_EQ(landmark(2), 6);
	CHECK(size > 0);
	CHECK_EQ(symbols_create(NULL, &symbols), 0);
	symbol = rig_find(symbols, "/proc/self/exe", id, (size_t)size, offset + 2);
	CHECK_STR(symbol.name ? symbol.name : "", "landmark");
	CHECK_EQ(symbol.offset, 2);
	/* Another build-id: another file. */
	id[0] ^= 1;
	symbol = rig_find(symbols, "/proc/self/exe", id, (size_t)size, offset + 2);
	CHECK(symbol.name == NULL);
	symbol = rig_find(symbols, "/proc/self/exe", NULL, 0, UINT64_MAX - 3);
	CHECK(symbol.name == NULL);
	symbol = rig_find(symbols, "/no/such/file", NULL, 0, offset);
	CHECK(symbol.name == NULL);
	symbol = rig_find(symbols, "/dev/null", NULL, 0, offset);
	CHECK(symbol.name == NULL);
	symbols_free(symbols);
}

TEST(page_of_the_kernel_has_names)
{
	struct symbols *symbols;
	bool found = false;

	if (!getauxval(AT_SYSINFO_EHDR))
		test_skip("this kernel maps no vdso");
	CHECK_EQ(symbols_create(NULL, &symbols), 0);
	for (uint64_t offset = 0; offset < 8192; offset += 16) {
		struct symbol symbol = rig_find(symbols, "[vdso]", NULL, 0, offset);

		found |= symbol.name && strstr(symbol.name, "gettime");
	}
	CHECK(found);
	symbols_free(symbols);
}

/* Writes a file for a test and returns its path, the same each time. */
static const char *write_file(const void *data, size_t size)
{
	static char path[] = "/tmp/gcprof-symbols-XXXXXX";
	static int fd = -1;

	if (fd < 0)
		fd = mkstemp(path);
	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, 0), 0);
	CHECK_EQ(pwrite(fd, data, size, 0), (ssize_t)size);
	return path;
}

TEST(names_are_made_readable)
{
	static const struct {
		const char *mangled, *readable; /* NULL: stays as it is */
	} cases[] = {
		{"_ZNSolsEi", "std::ostream::operator<<(int)"},
		{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"},
		{"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"},
		{"_RINvNtC3std3mem8align_ofjdE", "std::mem::align_of::<usize, f64>"},
		{"_RNvYNtC1a1XNtC1b1Y1z", "<a::X as b::Y>::z"},
		{"main", NULL},
		{"_start", NULL},
		{"_Z", NULL},
		{"_Zgarbage", NULL},
		{"", NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *readable = demangle(cases[i].mangled);

		CHECK(!cases[i].readable == !readable);
		if (readable)
			CHECK_STR(readable, cases[i].readable);
		free(readable);
	}
}

/* A prefix, `n` times an argument, and the end. */
static void repeat(const char *prefix, size_t n, const char *argument, const char *end,
		   char out[8192])
{
	size_t size = (size_t)sprintf(out, "%s", prefix);

	for (size_t i = 0; i < n; i++)
		size += (size_t)sprintf(out + size, "%s", argument);
	strcpy(out + size, end);
}

TEST(long_names_keep_what_tells_functions_apart)
{
	static const struct {
		const char *prefix, *argument, *rest;
		const char *begin, *end; /* of what is kept; a hash follows */
	} cases[] = {
		{"Deep<", "std::vector<double>, ", "char>::work_a(unsigned, std::map<int, int>)",
		 "Deep<std::vector<...>, ", "char>::work_a(...)"},
		{"Deep<std::map<", "std::vector<std::list<int> >, ", "char> >::work_b()",
		 "Deep<std::map<std::vector<...>, ", "char> >::work_b()"},
		{"bool ns::operator< <", "std::vector<std::list<int> >, ", "char>(A const&)",
		 "bool ns::operator< <std::vector<...>, ", "char>(...)"},
		{"outer::apply<", "int, ",
		 "main::{lambda(unsigned)#1}>(main::{lambda(unsigned)#1})", "outer::apply<...>",
		 "(...)"},
		{"(anonymous namespace)::f(", "int, ", "char)", "(anonymous namespace)::f(...)",
		 ""},
		{"a::b", "::namespace_without_arguments", "::own_name", "a::b::namespace",
		 "::own_name"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t begin = strlen(cases[i].begin), end = strlen(cases[i].end), size;
		size_t count = i > 2 ? 225 : 25;
		char one[8192], other[8192];

		repeat(cases[i].prefix, count, cases[i].argument, cases[i].rest, one);
		repeat(cases[i].prefix, count + 1, cases[i].argument, cases[i].rest, other);
		long_name_shorten(one);
		long_name_shorten(other);
		size = strlen(one) - strlen(" #12345678");
		CHECK(strlen(one) <= LONG_NAME_MAX && strcmp(one, other) != 0);
		CHECK(!strncmp(one, cases[i].begin, begin));
		CHECK(!strncmp(one + size - end, cases[i].end, end) && one[size + 1] == '#');
	}
}

/* Whatever brackets a name has. */
TEST(any_long_text_is_shortened)
{
	static const char letters[] = "<>()-:a o";
	char name[3000];
	uint32_t state = 1;

	for (int round = 0; round < 2000; round++) {
		for (size_t i = 0; i < sizeof(name) - 1; i++) {
			state = state * 1664525 + 1013904223;
			name[i] = letters[(state >> 16) % (sizeof(letters) - 1)];
		}
		name[sizeof(name) - 1] = '\0';
		long_name_shorten(name);
		CHECK(strlen(name) <= LONG_NAME_MAX);
	}
}

/* Each pair names the one before it twice: unfolded, the last is longer than any memory. */
TEST(names_that_explode_are_left_alone)
{
	char name[1000] = "_Z1fSt4pairIiiE";
	size_t size = strlen(name);
	char *readable;

	for (int i = 0; i < 60; i++) {
		const char digit = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i < 35 ? i : 35];

		size += (size_t)snprintf(name + size, sizeof(name) - size, "S_IS%c_S%c_E", digit,
					 digit);
	}
	readable = demangle(name);
	CHECK(readable == NULL);
	free(readable);
	/* Tuples of two references each, to the tuple before. */
	strcpy(name, "_RINvC1a1fThhE");
	size = strlen(name);
	for (int i = 0, at = 9; i < 60; i++) {
		int next = (int)size - 2;

		size += (size_t)snprintf(name + size, sizeof(name) - size, "TB%x_B%x_E", at, at);
		at = next;
	}
	readable = demangle(name);
	CHECK(readable == NULL);
	free(readable);
}

static struct {
	char *data;
	size_t size;
} own;

static void read_own(void)
{
	struct stat st;
	int fd = open("/proc/self/exe", O_RDONLY);

	CHECK(fd >= 0 && !fstat(fd, &st));
	own.size = (size_t)st.st_size;
	own.data = malloc(own.size);
	CHECK_EQ(read(fd, own.data, own.size), st.st_size);
	close(fd);
}

/* Looks at a damaged file in every way there is; only has to survive. */
static void look_at(const char *path)
{
	unsigned char id[BUILD_ID_MAX];
	struct symbols *symbols;
	int fd = open(path, O_RDONLY), size = build_id_read(fd, id);

	close(fd);
	CHECK(size <= BUILD_ID_MAX);
	CHECK_EQ(symbols_create(NULL, &symbols), 0);
	for (uint64_t offset = 0; offset < own.size; offset += own.size / 50 + 1) {
		struct symbol symbol = rig_find(symbols, path, NULL, 0, offset);

		CHECK(!symbol.name || strlen(symbol.name) < own.size);
	}
	symbols_free(symbols);
}

TEST(files_cut_short_are_survived)
{
	uint64_t random = test_seed();
	const char *path = NULL;

	read_own();
	for (int i = 0; i < 60; i++) {
		size_t size = i < 40 ? (size_t)i * 8 : test_random(&random) % own.size;

		path = write_file(own.data, size);
		look_at(path);
	}
	unlink(path);
	free(own.data);
}

TEST(damaged_headers_are_survived)
{
	uint64_t random = test_seed();
	ElfW(Ehdr) header;
	const char *path = NULL;

	read_own();
	memcpy(&header, own.data, sizeof(header));
	for (int i = 0; i < 100; i++) {
		/* In the file's header, the program headers or the section headers. */
		size_t starts[] = {0, header.e_phoff, header.e_shoff};
		size_t lengths[] = {sizeof(header), header.e_phnum * sizeof(ElfW(Phdr)),
				    header.e_shnum * sizeof(ElfW(Shdr))};
		size_t place = test_random(&random) % 3;
		size_t at = starts[place] + test_random(&random) % lengths[place];
		char old = own.data[at];

		own.data[at] = (char)test_random(&random);
		path = write_file(own.data, own.size);
		look_at(path);
		own.data[at] = old;
	}
	unlink(path);
	free(own.data);
}

TEST(build_id_of_hostile_notes)
{
	struct {
		Elf64_Ehdr file;
		Elf64_Phdr segment;
		Elf64_Nhdr note;
		char name[4];
		unsigned char id[60];
	} elf;
	unsigned char id[BUILD_ID_MAX];
	const char *path = NULL;
	/* The second segment goes on behind the file, the third note behind its segment. */
	static const struct {
		uint32_t name_size, size;
		uint64_t file_size;
		int expected;
	} cases[] = {
		{4, 20, 36, 20},
		{4, 60, 1000, 0},
		{4, 21, 36, 0},
		{4, 0, 36, 0},
		{4, 0xffffffff, 36, 0},
		{0xffffffff, 20, 36, 0},
		{0xfffffffd, 20, UINT64_MAX, 0},
		{5, 20, 60, 0},
		{4, 20, 11, 0},
	};

	memset(&elf, 0, sizeof(elf));
	memcpy(elf.file.e_ident, ELFMAG, SELFMAG);
	elf.file.e_ident[EI_CLASS] = ELFCLASS64;
	elf.file.e_ident[EI_DATA] = ELFDATA2LSB;
	elf.file.e_ident[EI_VERSION] = EV_CURRENT;
	elf.file.e_type = ET_DYN;
	elf.file.e_version = EV_CURRENT;
	elf.file.e_phoff = sizeof(elf.file);
	elf.file.e_phentsize = sizeof(elf.segment);
	elf.file.e_phnum = 1;
	elf.segment.p_type = PT_NOTE;
	elf.segment.p_offset = sizeof(elf.file) + sizeof(elf.segment);
	elf.segment.p_align = 4;
	elf.note.n_type = NT_GNU_BUILD_ID;
	memcpy(elf.name, "GNU", 4);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int fd;

		elf.note.n_namesz = cases[i].name_size;
		elf.note.n_descsz = cases[i].size;
		elf.segment.p_filesz = cases[i].file_size;
		path = write_file(&elf, sizeof(elf));
		fd = open(path, O_RDONLY);
		CHECK_EQ(build_id_read(fd, id), cases[i].expected);
		close(fd);
	}
	unlink(path);
}
