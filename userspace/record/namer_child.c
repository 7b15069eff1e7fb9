// SPDX-License-Identifier: BSD-2-Clause
/* namer_child.c: the process that finds names: reads files that nobody vouches for, with no rights.
 */
/*
 * Libraries that read ELF and DWARF have faults. Whoever writes the program that
 * is recorded chooses what they read: so they run here, in a process that may
 * read files and do nothing else. If it fails, the recorder goes on without it.
 */
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "code_files.h"
#include "namer_filter.h"
#include "namer_protocol.h"
#include "../util/buffer.h"
#include "../util/map.h"
#include "../util/path_base.h"

#define NOBODY           65534
#define MEMORY_BYTES_MAX (UINT64_C(6) << 30) /* of address space */
#define IDLE_MS          2                   /* without a question: there is time */

struct child {
	int socket;
	struct symbols *symbols;
	struct map *modules; /* id to struct file * */
	struct code_files *code;
	struct buffer answer;
	char place[NAMER_TEXT_MAX]; /* the name of a function that has none */
};

struct file {
	unsigned char build_id[BUILD_ID_MAX];
	size_t build_id_size;
	char base[NAME_MAX + 1]; /* what it is called where it was mapped */
	char path[];
};

/* What comes in, whichever it is. */
union message {
	uint32_t kind;
	struct namer_module module;
	struct namer_process process;
	struct namer_frames frames;
};

/* --- rights ----------------------------------------------------------------------------- */

/* Becomes nobody, where that is allowed. */
static int change_user(void)
{
	if (geteuid())
		return 0;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || setgroups(0, NULL) ||
	    setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		return errno == EPERM ? 0 : -errno;
	return 0;
}

/* Keeps the right to read all files, if it is there, and no other. */
static int drop_rights(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};
	uint32_t keep;
	int err = change_user();

	if (err)
		return err;
	if (syscall(SYS_capget, &header, data))
		return -errno;
	keep = data[0].permitted & 1u << CAP_DAC_READ_SEARCH;
	memset(data, 0, sizeof(data));
	data[0].effective = data[0].permitted = keep;
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

static void limit(int resource, uint64_t value)
{
	struct rlimit limit = {value, value};

	setrlimit(resource, &limit);
}

static int confine(void)
{
	int err = drop_rights();

	if (err || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return err ? err : -errno;
#ifndef __SANITIZE_ADDRESS__ /* which needs more address space than anybody has */
	limit(RLIMIT_AS, MEMORY_BYTES_MAX);
#endif
	limit(RLIMIT_FSIZE, 0);
	limit(RLIMIT_CORE, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	err = namer_filter_enter();
	/* A kernel that has no filters. */
	return err == -EINVAL ? 0 : err;
}

/* --- what is to be read ------------------------------------------------------------------- */

static int add_module(struct child *child, const struct namer_module *module, size_t size, int fd)
{
	const size_t head = offsetof(struct namer_module, path);
	uint64_t *slot;
	struct file *file;

	if (size <= head || module->path[size - head - 1] || module->build_id_size > BUILD_ID_MAX)
		return -EBADMSG;
	slot = map_put(child->modules, &module->module, NULL);
	file = slot ? calloc(1, sizeof(*file) + sizeof(module->path)) : NULL;
	if (!file)
		return -ENOMEM;
	snprintf(file->base, sizeof(file->base), "%.255s", path_base(module->path));
	if (fd >= 0)
		snprintf(file->path, sizeof(module->path), "/proc/self/fd/%d", fd);
	else
		strcpy(file->path, module->path);
	memcpy(file->build_id, module->build_id, module->build_id_size);
	file->build_id_size = module->build_id_size;
	free((void *)(uintptr_t)*slot);
	*slot = (uintptr_t)file;
	return 0;
}

/* It stays open. */
static int add_debug(struct child *child, uint64_t module, int fd)
{
	const uint64_t *slot = map_get(child->modules, &module);
	const struct file *file = slot ? (const struct file *)(uintptr_t)*slot : NULL;

	if (!file || fd < 0)
		return -EBADMSG;
	return symbols_debug_file(child->symbols, file->path, file->build_id, file->build_id_size,
				  fd);
}

/* A function without a name is known by where it begins in its file. */
static void name_place(struct child *child, const struct file *file, uint64_t offset,
		       struct symbol *symbol)
{
	snprintf(child->place, sizeof(child->place), "%s+0x%" PRIx64, file->base,
		 offset - symbol->offset);
	symbol->name = child->place;
}

/* The file of a frame that was told, NULL if it is in none. */
static const struct file *file_of(const struct child *child, const struct namer_frame *frame)
{
	const uint64_t *slot = map_get(child->modules, &frame->owner);

	return slot && frame->space == NAMER_FILE ? (const struct file *)(uintptr_t)*slot : NULL;
}

/* Why its file cannot be read. */
static int file_error(const struct child *child, const struct namer_frame *frame)
{
	const struct file *file = file_of(child, frame);

	if (!file || file->base[0] == '[')
		return 0;
	return symbols_error(child->symbols, file->path, file->build_id, file->build_id_size);
}

static size_t find_names(struct child *child, const struct namer_frame *frame,
			 struct symbol out[SYMBOLS_MAX])
{
	const struct file *file;
	size_t n;

	switch (frame->space) {
	case NAMER_KERNEL:
		out[0] = symbols_kernel(child->symbols, frame->place);
		return out[0].name != NULL;
	case NAMER_GENERATED:
		return code_files_find(child->code, frame->owner, frame->place, frame->time,
				       &out[0]);
	default:
		break;
	}
	file = file_of(child, frame);
	if (!file)
		return 0;
	n = symbols_native(child->symbols, file->path, file->build_id, file->build_id_size,
			   frame->place, out);
	if (n && !out[0].name)
		name_place(child, file, frame->place, &out[0]);
	return n;
}

/* --- answers ------------------------------------------------------------------------------ */

static int flush(struct child *child)
{
	ssize_t n;

	if (!child->answer.size)
		return 0;
	do
		n = send(child->socket, child->answer.data, child->answer.size, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	child->answer.size = 0;
	return n < 0 ? -errno : 0;
}

static int put_name(struct buffer *answer, const struct symbol *symbol)
{
	struct namer_name name = {
		.line = symbol->line,
		.begin = symbol->begin,
		.name_size = (uint32_t)strnlen(symbol->name, NAMER_TEXT_MAX),
		.file_size = symbol->file ? (uint32_t)strnlen(symbol->file, NAMER_TEXT_MAX) : 0,
	};

	if (buffer_append(answer, &name, sizeof(name)) ||
	    buffer_append(answer, symbol->name, name.name_size))
		return -ENOMEM;
	return name.file_size ? buffer_append(answer, symbol->file, name.file_size) : 0;
}

/* Adds the answer for one frame; the innermost names of too many are left out. */
static int put_answer(struct child *child, uint64_t frame, const struct symbol *symbols, size_t n,
		      int unread)
{
	struct namer_answer head = {.frame = frame, .err = unread};
	size_t at = child->answer.size;
	int err = buffer_append(&child->answer, &head, sizeof(head));

	/* A name must be something. */
	while (n && !*symbols[n - 1].name)
		n--;
	for (; !err && head.count < n && child->answer.size - at < NAMER_ANSWER_MAX; head.count++)
		err = put_name(&child->answer, &symbols[head.count]);
	if (!err)
		memcpy(child->answer.data + at, &head, sizeof(head));
	return err;
}

static int answer_frames(struct child *child, const struct namer_frames *frames, size_t size)
{
	struct symbol found[SYMBOLS_MAX];
	int err = 0;

	if (size < offsetof(struct namer_frames, frames) || frames->count > NAMER_BATCH ||
	    size < offsetof(struct namer_frames, frames) +
			    frames->count * sizeof(frames->frames[0]))
		return -EBADMSG;
	for (uint32_t i = 0; i < frames->count && !err; i++) {
		const struct namer_frame *frame = &frames->frames[i];
		size_t n = find_names(child, frame, found);
		int unread = n ? 0 : file_error(child, frame);

		err = put_answer(child, frame->frame, found, n, unread);
		if (!err && child->answer.size > NAMER_MESSAGE_MAX - NAMER_ANSWER_MAX - 8192)
			err = flush(child);
	}
	return err ? err : flush(child);
}

/* --- requests ----------------------------------------------------------------------------- */

/* The next message and the descriptor that came with it, -1 if none; its size, 0 at the end. */
static ssize_t receive(int socket, union message *message, int *fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data = {message, sizeof(*message)};
	struct msghdr head = {.msg_iov = &data,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control)};
	struct cmsghdr *extra;
	ssize_t n;

	*fd = -1;
	do
		n = recvmsg(socket, &head, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	extra = n > 0 ? CMSG_FIRSTHDR(&head) : NULL;
	if (extra && extra->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(extra), sizeof(*fd));
	return n;
}

/* Reads the kernel's symbols while nobody asks, which takes as long as all else together. */
static void use_time(struct child *child)
{
	struct pollfd request = {.fd = child->socket, .events = POLLIN};

	if (poll(&request, 1, IDLE_MS) == 0)
		symbols_kernel_read(child->symbols);
}

static int handle(struct child *child, const union message *message, size_t size, int fd)
{
	switch (message->kind) {
	case NAMER_MODULE:
		return add_module(child, &message->module, size, fd);
	case NAMER_MAP:
	case NAMER_DUMP:
		return code_files_add(child->code, message->process.process,
				      message->kind == NAMER_DUMP, fd);
	case NAMER_DEBUG:
		return add_debug(child, message->process.process, fd);
	case NAMER_FRAMES:
		return answer_frames(child, &message->frames, size);
	default:
		return -EBADMSG;
	}
}

_Noreturn void namer_child_run(int socket)
{
	static union message message;
	struct child child = {.socket = socket};
	ssize_t n = 0;
	int err, fd;

	err = symbols_create(&child.symbols);
	child.modules = map_create(sizeof(uint64_t));
	child.code = code_files_create();
	if (err || !child.modules || !child.code)
		_exit(EXIT_FAILURE);
	symbols_kernel_open(child.symbols);
	err = confine();
	if (!err)
		use_time(&child);
	while (!err && (n = receive(socket, &message, &fd)) > 0)
		err = (size_t)n < sizeof(message.kind) ? -EBADMSG
						       : handle(&child, &message, (size_t)n, fd);
	_exit(err || n < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}
