/* SPDX-License-Identifier: BSD-2-Clause */
/* units.c: formats numbers for people. */
#include "units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Three significant digits: 1.23, 12.3, 123. */
static void print_three(struct unit_text *out, double value, const char *unit)
{
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(out->text, sizeof(out->text), "%.*f %s", decimals, value, unit);
}

struct unit_text unit_bytes(double bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	struct unit_text out = {""};
	size_t i = 0;

	if (!(bytes > 0))
		bytes = 0;
	for (; bytes >= 999.5 && i + 1 < sizeof(units) / sizeof(*units); i++)
		bytes /= 1024;
	if (i == 0)
		snprintf(out.text, sizeof(out.text), "%.0f B", bytes);
	else
		print_three(&out, fmin(bytes, 999999), units[i]);
	return out;
}

struct unit_text unit_time(double ns)
{
	struct unit_text out = {""};

	if (!(ns > 0))
		ns = 0;
	if (ns < 999.5)
		snprintf(out.text, sizeof(out.text), "%.0f ns", ns);
	else if (ns < 999.5e3)
		print_three(&out, ns / 1e3, "us");
	else if (ns < 999.5e6)
		print_three(&out, ns / 1e6, "ms");
	else if (ns < 599.5e9)
		print_three(&out, ns / 1e9, "s");
	else if (ns < 5999.5e9)
		print_three(&out, ns / 60e9, "min");
	else
		print_three(&out, fmin(ns / 3600e9, 999999), "h");
	return out;
}

struct unit_text unit_count(uint64_t count)
{
	struct unit_text out = {""};
	char digits[24];
	size_t length = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	size_t used = 0;

	for (size_t i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			out.text[used++] = ',';
		out.text[used++] = digits[i];
	}
	out.text[used] = 0;
	return out;
}

struct unit_text unit_rough(double count)
{
	static const char *const units[] = {"", "k", "M", "G", "T", "P"};
	struct unit_text out = {""};
	size_t i = 0;

	if (!(count > 0))
		count = 0;
	for (; count >= 999.5 && i + 1 < sizeof(units) / sizeof(*units); i++)
		count /= 1000;
	if (i == 0)
		snprintf(out.text, sizeof(out.text), "%.0f", count);
	else
		print_three(&out, fmin(count, 999999), units[i]);
	return out;
}

struct unit_text unit_percent(double share)
{
	struct unit_text out = {""};
	double percent = fmin(share * 100, 999999);

	if (!(percent > 0))
		snprintf(out.text, sizeof(out.text), "0%%");
	else if (percent < 0.05)
		snprintf(out.text, sizeof(out.text), "<0.1%%");
	else
		snprintf(out.text, sizeof(out.text), "%.*f%%", percent < 99.95 ? 1 : 0, percent);
	return out;
}

struct unit_text unit_margin(double share)
{
	struct unit_text out = {""};
	double percent = fmin(fabs(share) * 100, 999);

	snprintf(out.text, sizeof(out.text), "\u00b1%.*f%%", percent < 9.95 ? 1 : 0, percent);
	return out;
}

struct unit_text unit_points(double share)
{
	struct unit_text out = unit_margin(share);

	out.text[strlen(out.text) - 1] = 0;
	return out;
}
