/* SPDX-License-Identifier: BSD-2-Clause */
/* prompt.c: a line that the user types. */
#include "prompt.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "screen.h"

void prompt_open(struct prompt *prompt)
{
	*prompt = (struct prompt){.open = true};
}

bool prompt_press(struct prompt *prompt, int key)
{
	size_t size = strlen(prompt->text);
	char bytes[MB_LEN_MAX];
	int n;

	if (key == SCREEN_ENTER || key == SCREEN_ESCAPE) {
		prompt->open = false;
		return key == SCREEN_ENTER;
	}
	if (key == SCREEN_BACKSPACE && size) {
		do /* the bytes of a character in UTF-8 */
			size--;
		while (size && ((unsigned char)prompt->text[size] & 0xc0) == 0x80);
	} else if (key >= ' ' && key < SCREEN_UP) {
		n = wctomb(bytes, (wchar_t)key);
		if (n > 0 && size + (size_t)n < sizeof(prompt->text)) {
			memcpy(prompt->text + size, bytes, (size_t)n);
			size += (size_t)n;
		}
	}
	prompt->text[size] = '\0';
	return false;
}
