// SPDX-License-Identifier: BSD-2-Clause
/* fuzz_probes.c: ELF files from anywhere: their probe notes, where these say arguments lie, and the
 * places of runtimes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "reader/probes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is handed to the kernel has to lie in the file, whatever the notes say. */
static void check_site(const struct probe_site *site, size_t size)
{
	if (site->offset >= size || site->semaphore >= size)
		abort();
	if ((site->place.probe >= PROBES && site->place.probe != PROBE_PLACE) ||
	    site->place.count > PROBE_ARGUMENTS)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct probes_found found = {0};
	struct problem problem = {""};
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0)
		abort();
	if (write(fd, data, size) != (ssize_t)size)
		abort();
	if (!probes_find(fd, &found, &problem)) {
		for (size_t i = 0; i < found.n_sites; i++)
			check_site(&found.sites[i], size);
	}
	probes_free(&found);
	close(fd);
	return 0;
}
