/* SPDX-License-Identifier: BSD-2-Clause */
/* browser.h: opens an address in the user's browser. */
#ifndef GCPROF_BROWSER_H
#define GCPROF_BROWSER_H

/*
 * Starts the first program that exists of those in $BROWSER, separated by colons, and then
 * xdg-open, with the address as its only argument, without a shell, with the rights of this
 * process, apart from its terminal. A process of its own waits for it and warns if it fails. To be
 * called once. 0 or a negative errno; -ENOENT: there is no such program.
 */
int browser_open(const char *address);

#endif
