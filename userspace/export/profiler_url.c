/* SPDX-License-Identifier: BSD-2-Clause */
/* profiler_url.c: the address of the Firefox Profiler's front end, or of a copy of it. */
#include "profiler_url.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"

enum { PORT_MAX = 65535 };

static const struct scheme {
	const char *begin;
	unsigned long port; /* which browsers leave out */
} schemes[] = {{"https://", 443}, {"http://", 80}};

/* Bytes of the host at `text`: a name, an IPv4 address or an IPv6 address in brackets. 0: none. */
static size_t host_size(const char *text)
{
	size_t size;

	if (*text != '[')
		return strspn(text, LETTERS DIGITS ".-");
	size = 1 + strspn(text + 1, DIGITS "abcdefABCDEF:.");
	return size > 1 && text[size] == ']' ? size + 1 : 0;
}

/* The port at `text`, which is `otherwise` if there is none; *end is the text after it. 0: invalid.
 */
static unsigned long port_at(const char *text, unsigned long otherwise, const char **end)
{
	size_t digits = *text == ':' ? strspn(text + 1, DIGITS) : 0;
	unsigned long port;

	*end = text;
	if (*text != ':')
		return otherwise;
	*end = text + 1 + digits;
	port = digits && digits <= 5 ? strtoul(text + 1, NULL, 10) : 0;
	return port <= PORT_MAX ? port : 0;
}

static void lower(char *text)
{
	for (; *text; text++)
		if (*text >= 'A' && *text <= 'Z')
			*text = (char)(*text - 'A' + 'a');
}

int profiler_url_parse(const char *text, struct profiler_url *out)
{
	const struct scheme *scheme = schemes;
	size_t begin, host, size = strlen(text);
	unsigned long port;
	const char *path;

	while (strncasecmp(text, scheme->begin, strlen(scheme->begin)) != 0)
		if (++scheme == schemes + sizeof(schemes) / sizeof(*schemes))
			return -EINVAL;
	begin = strlen(scheme->begin);
	host = host_size(text + begin);
	port = port_at(text + begin + host, scheme->port, &path);
	if (!host || !port || size >= sizeof(out->page) || (*path && *path != '/') ||
	    path[strspn(path, LETTERS DIGITS "/.-_~%+")])
		return -EINVAL;
	while (size && text[size - 1] == '/')
		size--;
	snprintf(out->page, sizeof(out->page), "%.*s", (int)size, text);
	snprintf(out->origin, sizeof(out->origin), "%.*s", (int)(begin + host), text);
	lower(out->origin);
	if (port != scheme->port)
		snprintf(out->origin + begin + host, sizeof(out->origin) - begin - host, ":%lu",
			 port);
	return 0;
}
