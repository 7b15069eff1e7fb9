/* SPDX-License-Identifier: BSD-2-Clause */
/* prompt.c: a line that the user types. */
#include "prompt.h"

#include <string.h>

enum { ESCAPE = 27, DELETE = 127 };

void prompt_open(struct prompt *prompt)
{
	*prompt = (struct prompt){.open = true};
}

bool prompt_press(struct prompt *prompt, int key)
{
	size_t size = strlen(prompt->text);

	if (key == '\n' || key == '\r' || key == ESCAPE) {
		prompt->open = false;
		return key != ESCAPE;
	}
	if ((key == '\b' || key == DELETE) && size)
		do /* the bytes of a character in UTF-8 */
			size--;
		while (size && ((unsigned char)prompt->text[size] & 0xc0) == 0x80);
	else if (key >= ' ' && key != DELETE && size < sizeof(prompt->text) - 1)
		prompt->text[size++] = (char)key;
	prompt->text[size] = '\0';
	return false;
}
