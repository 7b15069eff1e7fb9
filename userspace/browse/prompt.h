/* SPDX-License-Identifier: BSD-2-Clause */
/* prompt.h: a line that the user types. */
#ifndef GCPROF_BROWSE_PROMPT_H
#define GCPROF_BROWSE_PROMPT_H

#include <stdbool.h>

struct prompt {
	bool open;
	char text[80];
};

/* Begins with an empty text. */
void prompt_open(struct prompt *prompt);

/*
 * Takes a key (screen.h). Enter and Escape close the prompt: true is returned for Enter, so `text`
 * is what was typed. Characters that do not fit are ignored.
 */
bool prompt_press(struct prompt *prompt, int key);

#endif
