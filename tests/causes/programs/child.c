/* SPDX-License-Identifier: BSD-2-Clause */
/* child.c: another program is run and waited for. */
#include <stdlib.h>

static __attribute__((noinline)) int convert_image(void)
{
	return system("sleep 0.4; true") == 0;
}

int main(void)
{
	int converted = 0;

	for (int i = 0; i < 6; i++)
		converted += convert_image();
	return converted != 6;
}
