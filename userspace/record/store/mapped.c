// SPDX-License-Identifier: BSD-2-Clause
/* mapped.c: what a process mapped executable: a file, the kernel's page, or code it makes itself.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "../opener/code_owner.h"
#include "mapped.h"

/* Files without a name are also used to map generated code twice, writable and executable. */
static bool is_memory(const char *path)
{
	return strncmp(path, "/memfd:", 7) == 0;
}

bool mapped_tells_of_code(const struct event_mmap *event, const char *path)
{
	if (!(event->protection & PROT_EXEC))
		return false;
	return event->inode ? is_memory(path) || code_owner_is_dump(path) : path[0] != '[';
}

int mapped_module(struct modules *modules, struct frame_names *names, uint64_t process,
		  const struct module_place *place, uint64_t *module)
{
	*module = 0;
	/* So JIT compilers tell profilers where they describe their code. */
	if (place->inode && code_owner_is_dump(place->path))
		return frame_names_dump(names, process, place);
	if (place->inode || place->path[0] == '[') {
		*module = modules_find(modules, place);
		if (!*module || !is_memory(place->path) ||
		    modules_get(modules, *module)->is_program)
			return *module ? 0 : -ENOMEM;
	}
	*module = modules_generated(modules, process);
	return *module ? frame_names_generated(names, process, place->pid) : -ENOMEM;
}

uint64_t mapped_offset(struct modules *modules, uint64_t module, const struct event_mmap *event)
{
	if (modules_get(modules, module)->process)
		return event->address;
	/* The code of the vdso is found by its place in its image. */
	return event->inode ? event->offset : 0;
}
