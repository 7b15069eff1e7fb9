/* SPDX-License-Identifier: BSD-2-Clause */
/* take.c: stops a thread of a program somewhere and stores its stack, with the frames it has. */
/*
 *	take [-i TEXT] [-p] [-m] [-w MS] [-a ABOUT] -o FILE -- COMMAND [ARGUMENT ...]
 *
 *	-i TEXT  only where the file of the instruction has TEXT in its name
 *	-p       only in the procedure linkage table: goes there in single steps
 *	-m       with the managed frames of a program that has our collector
 *	-w MS    not before that time
 *
 * The frames that the image says are those that libdw finds in the stopped
 * process, by itself. Where the walk by rows found others, both are printed and
 * nothing is stored: exit status 3.
 */
#include <dirent.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#undef PAGE_SIZE /* of the kernel's headers; the collector has its own */
#include "heap.h"
#include "live.h"

#define TRIES     4000
#define STEPS_MAX 2000000

struct options {
	const char *in, *about, *output;
	bool in_plt, managed;
	unsigned wait; /* ms */
};

struct taken {
	pid_t pid, tid;
	Dwfl *dwfl;
	struct live *live;
	struct live_registers registers;
	struct live_stack walked;
	uint64_t expected[STACK_DEPTH_MAX];
	unsigned n_expected;
};

static void sleep_ms(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* --- choosing and stopping a thread ------------------------------------------------------- */

static char thread_state(pid_t pid, pid_t tid)
{
	char path[64], text[256] = "", *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (!fgets(text, sizeof(text), file))
		*text = 0;
	fclose(file);
	end = strrchr(text, ')');
	return end && end[1] ? end[2] : 0;
}

/* One of the running threads, each as likely as the others; 0: none is. */
static pid_t choose_thread(pid_t pid)
{
	char path[64];
	struct dirent *entry;
	pid_t chosen = 0;
	int running = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		pid_t tid = (pid_t)atoi(entry->d_name);

		if (tid && thread_state(pid, tid) == 'R' && random() % ++running == 0)
			chosen = tid;
	}
	if (tasks)
		closedir(tasks);
	return chosen;
}

static bool stop_thread(pid_t tid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return false;
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) || waitpid(tid, &status, __WALL) != tid)
		return false;
	return WIFSTOPPED(status);
}

static bool read_registers(struct taken *taken)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, taken->tid, NULL, &regs))
		return false;
	taken->registers = (struct live_registers){
		.ip = regs.rip, .sp = regs.rsp, .bp = regs.rbp, .bx = regs.rbx};
	return true;
}

/* --- where it is -------------------------------------------------------------------------- */

static Dwfl *open_dwfl(pid_t pid)
{
	static char *no_path;
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &no_path,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);

	if (!dwfl)
		return NULL;
	dwfl_report_begin(dwfl);
	if (dwfl_linux_proc_report(dwfl, pid) || dwfl_report_end(dwfl, NULL, NULL) ||
	    dwfl_linux_proc_attach(dwfl, pid, true)) {
		fprintf(stderr, "take: %s\n", dwfl_errmsg(-1));
		dwfl_end(dwfl);
		return NULL;
	}
	return dwfl;
}

/* Is the address in the section .plt, .plt.got or .plt.sec of its file? */
static bool is_in_plt(Dwfl *dwfl, uint64_t ip)
{
	Dwarf_Addr address = ip, bias;
	Dwfl_Module *module = dwfl_addrmodule(dwfl, ip);
	Elf_Scn *section = module ? dwfl_module_address_section(module, &address, &bias) : NULL;
	Elf *elf = module ? dwfl_module_getelf(module, &bias) : NULL;
	GElf_Shdr header;
	const char *name;
	size_t strings;

	if (!section || !elf || !gelf_getshdr(section, &header) || elf_getshdrstrndx(elf, &strings))
		return false;
	name = elf_strptr(elf, strings, header.sh_name);
	return name && !strncmp(name, ".plt", 4);
}

/* Runs on to such an address, as long as it takes. */
static bool step_into_plt(struct taken *taken)
{
	for (unsigned i = 0; i < STEPS_MAX; i++) {
		int status;

		if (!read_registers(taken))
			return false;
		if (is_in_plt(taken->dwfl, taken->registers.ip))
			return true;
		if (ptrace(PTRACE_SINGLESTEP, taken->tid, NULL, NULL) ||
		    waitpid(taken->tid, &status, __WALL) != taken->tid || !WIFSTOPPED(status))
			return false;
	}
	return false;
}

static int add_frame(Dwfl_Frame *frame, void *context)
{
	struct taken *taken = context;
	Dwarf_Addr ip;

	if (taken->n_expected == STACK_DEPTH_MAX || !dwfl_frame_pc(frame, &ip, NULL))
		return DWARF_CB_ABORT;
	/* That is how libdw tells the end of some threads. */
	if (ip)
		taken->expected[taken->n_expected++] = ip;
	return DWARF_CB_OK;
}

/* --- managed frames ----------------------------------------------------------------------- */

/* The collector's list of heaps: a variable of its own, so the file must have its symbols. */
static uint64_t find_heaps(Dwfl *dwfl, uint64_t in)
{
	Dwfl_Module *module = dwfl_addrmodule(dwfl, in);
	int n = module ? dwfl_module_getsymtab(module) : 0;

	for (int i = 0; i < n; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		const char *name =
			dwfl_module_getsym_info(module, i, &symbol, &address, NULL, NULL, NULL);

		if (name && !strcmp(name, "heaps") && GELF_ST_TYPE(symbol.st_info) == STT_OBJECT)
			return address;
	}
	return 0;
}

static uint64_t word_at(const struct live *live, uint64_t address)
{
	uint64_t word = 0;

	return live_read(live, &word, sizeof(word), address) ? 0 : word;
}

/* Of the first thread of the only heap. The outermost instruction is in the program's file. */
static bool find_anchor(struct taken *taken)
{
	uint64_t outermost = taken->expected[taken->n_expected - 1];
	uint64_t heaps = find_heaps(taken->dwfl, outermost);
	uint64_t heap = heaps ? word_at(taken->live, heaps) : 0;
	uint64_t thread = heap ? word_at(taken->live, heap + offsetof(struct gc_heap, threads)) : 0;

	if (!thread)
		return false;
	taken->registers.anchor = thread + offsetof(struct gc_thread_head, anchor);
	live_need(taken->live, taken->registers.anchor, sizeof(uint64_t));
	return true;
}

/* As frame.h says: a list that ends with 0. */
static void write_managed(const struct taken *taken, FILE *to)
{
	uint64_t at = taken->registers.anchor ? word_at(taken->live, taken->registers.anchor) : 0;
	struct gc_frame frame;

	for (; at && !live_read(taken->live, &frame, sizeof(frame), at); at = frame.prev) {
		live_need(taken->live, at, sizeof(frame));
		if (frame.code)
			fprintf(to, "managed %x %x %" PRIx64 "\n", frame.code, frame.pc, at);
	}
}

/* --- the image ---------------------------------------------------------------------------- */

static bool is_same(const struct taken *taken)
{
	return taken->n_expected == taken->walked.n_native &&
	       !memcmp(taken->expected, taken->walked.native,
		       taken->n_expected * sizeof(*taken->expected));
}

static void print_both(const struct taken *taken)
{
	for (unsigned i = 0; i < taken->n_expected || i < taken->walked.n_native; i++) {
		uint64_t left = i < taken->n_expected ? taken->expected[i] : 0;
		uint64_t right = i < taken->walked.n_native ? taken->walked.native[i] : 0;

		printf("%c %2u %12" PRIx64 " %12" PRIx64 " %s\n", left == right ? ' ' : '!', i,
		       left, right, live_file(taken->live, right ? right : left));
	}
}

static int write_text(const struct taken *taken, const char *about, char **text, size_t *size)
{
	const struct live_registers *r = &taken->registers;
	FILE *to = open_memstream(text, size);
	int err;

	if (!to)
		return -errno;
	fprintf(to, "about %s\n", about);
	fprintf(to, "registers %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 "\n",
		r->ip, r->sp, r->bp, r->bx, r->anchor);
	for (unsigned i = 0; i < taken->n_expected; i++)
		fprintf(to, "native %" PRIx64 "\n", taken->expected[i]);
	write_managed(taken, to);
	err = live_write(taken->live, to);
	return fclose(to) ? -errno : err;
}

static int store(const struct taken *taken, const struct options *options)
{
	char *text = NULL;
	size_t size = 0, room;
	void *packed = NULL;
	FILE *file = NULL;
	int err = write_text(taken, options->about, &text, &size);

	if (err)
		goto out;
	room = ZSTD_compressBound(size);
	packed = malloc(room);
	file = packed ? fopen(options->output, "w") : NULL;
	if (!file) {
		err = -errno;
		goto out;
	}
	room = ZSTD_compress(packed, room, text, size, 19);
	if (ZSTD_isError(room) || fwrite(packed, 1, room, file) != room)
		err = -EIO;
	printf("%s: %u frames, %zu bytes of text, %zu in the file\n", options->output,
	       taken->n_expected, size, room);
out:
	if (file && fclose(file) && !err)
		err = -errno;
	free(packed);
	free(text);
	return err;
}

/* --- putting it together ------------------------------------------------------------------ */

static bool is_wanted(struct taken *taken, const struct options *options)
{
	if (options->in_plt && !step_into_plt(taken))
		return false;
	if (!read_registers(taken))
		return false;
	return !options->in || strstr(live_file(taken->live, taken->registers.ip), options->in);
}

static void let_go(struct taken *taken)
{
	live_close(taken->live);
	dwfl_end(taken->dwfl);
	taken->live = NULL;
	taken->dwfl = NULL;
	ptrace(PTRACE_DETACH, taken->tid, NULL, NULL);
}

/* Stops threads until one is where it is wanted; it stays stopped. */
static bool catch (struct taken *taken, const struct options *options)
{
	for (unsigned i = 0; i < TRIES; i++) {
		sleep_ms(1 + (unsigned)random() % 20);
		if (thread_state(taken->pid, taken->pid) == 'Z')
			break;
		taken->tid = choose_thread(taken->pid);
		if (!taken->tid || !stop_thread(taken->tid))
			continue;
		taken->dwfl = open_dwfl(taken->pid);
		if (taken->dwfl && !live_open(taken->pid, &taken->live) &&
		    is_wanted(taken, options))
			return true;
		let_go(taken);
	}
	fprintf(stderr, "take: no thread came there before the program ended\n");
	return false;
}

static int take(struct taken *taken, const struct options *options)
{
	int err;

	dwfl_getthread_frames(taken->dwfl, taken->tid, add_frame, taken);
	if (!taken->n_expected || (options->managed && !find_anchor(taken))) {
		fprintf(stderr, "take: there are no frames\n");
		return 1;
	}
	live_walk(taken->live, &taken->registers, &taken->walked);
	if (!is_same(taken)) {
		print_both(taken);
		return 3;
	}
	err = store(taken, options);
	if (err)
		fprintf(stderr, "take: %s: %s\n", options->output, strerror(-err));
	return err ? 1 : 0;
}

static pid_t start(char **command)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 1);
	execvp(*command, command);
	perror(*command);
	_exit(127);
}

int main(int argc, char **argv)
{
	struct options options = {.about = ""};
	struct taken taken = {0};
	int choice, status = 1;

	while ((choice = getopt(argc, argv, "i:pmw:a:o:")) != -1) {
		options.in = choice == 'i' ? optarg : options.in;
		options.about = choice == 'a' ? optarg : options.about;
		options.output = choice == 'o' ? optarg : options.output;
		options.wait = choice == 'w' ? (unsigned)atoi(optarg) : options.wait;
		options.in_plt |= choice == 'p';
		options.managed |= choice == 'm';
	}
	if (!options.output || optind == argc) {
		fprintf(stderr, "usage: take [-i TEXT] [-p] [-m] [-w MS] [-a ABOUT] -o FILE -- "
				"COMMAND\n");
		return 2;
	}
	srandom((unsigned)time(NULL) ^ (unsigned)getpid());
	taken.pid = start(argv + optind);
	sleep_ms(options.wait);
	if (catch (&taken, &options))
		status = take(&taken, &options);
	kill(taken.pid, SIGKILL);
	live_close(taken.live);
	dwfl_end(taken.dwfl);
	/* Its threads are ours to wait for, too. */
	while (waitpid(-1, NULL, __WALL) > 0)
		;
	return status;
}
