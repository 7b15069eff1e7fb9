/* SPDX-License-Identifier: BSD-2-Clause */
/* loader.c: loads the BPF object, its programs on two CPUs at once. */
/*
 * The kernel's verifier takes most of the time until a program can start. It checks programs in
 * parallel, but libbpf loads those of an object one after the other. So the object is opened three
 * times: once for the maps, and for each part of the programs, which uses these maps.
 */
#include "loader.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gcprof.skel.h"
#include "setup.h"

enum { PROGRAMS = sizeof(((struct gcprof_bpf *)0)->progs) / sizeof(struct bpf_program *) };

struct part {
	struct gcprof_bpf *skeleton;
	int err;
};

static struct bpf_program **programs_of(struct gcprof_bpf *skeleton)
{
	return (struct bpf_program **)&skeleton->progs;
}

/* The part of a program: both take the verifier about the same time. */
static int part_of(const struct gcprof_bpf *skeleton, const struct bpf_program *program)
{
	return program == skeleton->progs.probe_fired || program == skeleton->progs.process_exec ||
	       program == skeleton->progs.process_exit;
}

/* Without programs the kernel's BTF is not needed, which takes libbpf long to read: it gets an
 * empty one. */
static int load_maps(const struct record_options *options, bool multi, int n_cpus,
		     struct gcprof_bpf **out)
{
	struct btf *btf = btf__new_empty();
	int fd = memfd_create("btf", MFD_CLOEXEC), err = -ENOMEM;
	char path[32];
	LIBBPF_OPTS(bpf_object_open_opts, open, .btf_custom_path = path);
	const void *data;
	uint32_t size;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	data = btf ? btf__raw_data(btf, &size) : NULL;
	if (data && fd >= 0 && write(fd, data, size) == (ssize_t)size)
		*out = gcprof_bpf__open_opts(&open);
	if (*out)
		err = setup_object(*out, options, multi, n_cpus);
	for (int i = 0; !err && i < PROGRAMS; i++)
		bpf_program__set_autoload(programs_of(*out)[i], false);
	err = err ? err : gcprof_bpf__load(*out);
	if (fd >= 0)
		close(fd);
	btf__free(btf);
	return err;
}

static int share_maps(const struct gcprof_bpf *from, struct gcprof_bpf *to)
{
	struct bpf_map *map = NULL, *shared = NULL;
	int err = 0;

	while (!err && (map = bpf_object__next_map(to->obj, map)) &&
	       (shared = bpf_object__next_map(from->obj, shared)))
		err = bpf_map__reuse_fd(map, bpf_map__fd(shared));
	return err;
}

static void *load_part(void *context)
{
	struct part *part = context;

	part->err = gcprof_bpf__load(part->skeleton);
	return NULL;
}

int loader_load(const struct record_options *options, bool multi, int n_cpus, struct loaded *out)
{
	struct part parts[LOADER_PARTS] = {{0}};
	int err = load_maps(options, multi, n_cpus, &out->skeleton);
	pthread_t other;

	for (int i = 0; !err && i < LOADER_PARTS; i++) {
		struct gcprof_bpf *skeleton = gcprof_bpf__open();

		if (!skeleton)
			return -ENOMEM;
		out->parts[i] = parts[i].skeleton = skeleton;
		err = setup_object(skeleton, options, multi, n_cpus);
		for (int j = 0; j < PROGRAMS; j++)
			if (part_of(skeleton, programs_of(skeleton)[j]) != i)
				bpf_program__set_autoload(programs_of(skeleton)[j], false);
		err = err ? err : share_maps(out->skeleton, skeleton);
	}
	err = err ? err : -pthread_create(&other, NULL, load_part, &parts[1]);
	if (err)
		return err;
	load_part(&parts[0]);
	pthread_join(other, NULL);
	for (int i = 0; i < PROGRAMS; i++)
		for (int j = 0; j < LOADER_PARTS; j++)
			if (bpf_program__autoload(programs_of(out->parts[j])[i]))
				programs_of(out->skeleton)[i] = programs_of(out->parts[j])[i];
	return parts[0].err ? parts[0].err : parts[1].err;
}

void loader_free(struct loaded *loaded)
{
	for (int i = 0; i < LOADER_PARTS; i++)
		gcprof_bpf__destroy(loaded->parts[i]);
	gcprof_bpf__destroy(loaded->skeleton);
}
