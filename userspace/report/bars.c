/* SPDX-License-Identifier: BSD-2-Clause */
/* bars.c: draws values as bars of characters. */
#include "bars.h"

#include <math.h>
#include <string.h>

static char *append(char *out, const char *character)
{
	size_t size = strlen(character);

	memcpy(out, character, size + 1);
	return out + size;
}

void bar_draw(double share, int columns, char *out)
{
	static const char *const parts[] = {"",       "\u258f", "\u258e", "\u258d",
					    "\u258c", "\u258b", "\u258a", "\u2589"};
	int eighths = share > 0 && columns > 0 ? (int)lround(fmin(share, 1) * columns * 8) : 0;

	/* A value above 0 is always visible. */
	if (share > 0 && columns > 0 && !eighths)
		eighths = 1;
	*out = 0;
	for (; eighths >= 8; eighths -= 8)
		out = append(out, "\u2588");
	append(out, parts[eighths]);
}

void spark_draw(const double *values, size_t count, double most, char *out)
{
	static const char *const levels[] = {"\u2581", "\u2582", "\u2583", "\u2584",
					     "\u2585", "\u2586", "\u2587", "\u2588"};

	*out = 0;
	for (size_t i = 0; i < count; i++) {
		double share = most > 0 ? fmin(values[i] / most, 1) : 0;

		/* 0 is a dot; a very small value is the lowest level. */
		out = append(out, share > 0 ? levels[(int)(share * 7.999)] : "\u00b7");
	}
}
