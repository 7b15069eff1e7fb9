/* SPDX-License-Identifier: BSD-2-Clause */
/* browse.c: browses the report of a profile on a terminal: keys, and what they do. */
#include "browse.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../model/select/filter.h"
#include "../profile/status.h"
#include "../report/page.h"
#include "../report/terminal.h"
#include "../util/monotonic.h"
#include "place.h"
#include "prompt.h"
#include "screen.h"

enum { PLACES = 10, SLOW_MS = 400 /* then progress was shown */ };

/* The orders that 'o' cycles through; NULL: each table's own. */
static const char *const orders[] = {NULL,       "cpu",      "alloc",   "gc",
				     "survived", "syscalls", "off-cpu", "count"};

enum { N_ORDERS = sizeof(orders) / sizeof(*orders) };

struct browse {
	struct browse_host *host;
	struct place places[PLACES]; /* each opened from the one before */
	size_t depth;
	uint64_t version; /* places with another are to be loaded again */
	const char *sort;
	char term[PLACE_TEXT], span[PLACE_TEXT]; /* of filters, for all places; empty: none */
	struct prompt prompt;
	char asks; /* what the prompt is for: its key */
	bool help;
	bool follows; /* the selected row is to be in sight */
	int height;   /* of the page */
};

static struct place *here(struct browse *browse)
{
	return &browse->places[browse->depth];
}

/* --- what is shown ------------------------------------------------------------------------------
 */

static const char *const help[] = {
	"Up, Down, Page Up, Page Down, Home, End: select a row, or move the page",
	"Left, Right, Tab, 1 to 9: other pages; also f functions, s sites, y types, g collections, "
	"c calls, w waits, h threads, p programs; r callers, d callees, n source of a function",
	"Enter: opens the row: callers, callees and source of a function, also of a finding's; "
	"what "
	"a type, thread, program, call or reason of waits is part of",
	"Esc: shows all rows again, then goes back",
	"/: shows only rows with a text, as you type it; KEY=VALUE and Enter select events, as "
	"--filter does; nothing and Enter show all again",
	"t: only a span of time since the start: 1.5s..2s, ..300ms, 10s..",
	"o: the next order of rows",
	"q: leaves; any key leaves this page",
};

/* The terms of filters that hold here. -E2BIG: too many. */
static int find_terms(struct browse *browse, struct browse_terms *out)
{
	const char *terms[PLACES + 2] = {browse->span, browse->term};

	for (size_t i = 0; i <= browse->depth; i++)
		terms[i + 2] = browse->places[i].opened.term;
	out->count = 0;
	for (size_t i = 0; i < browse->depth + 3; i++) {
		if (!*terms[i])
			continue;
		if (out->count == BROWSE_TERMS_MAX)
			return -E2BIG;
		out->items[out->count++] = terms[i];
	}
	return 0;
}

/* What is left out, as a sentence; empty: nothing. */
static void describe(struct browse *browse, char *out, size_t size)
{
	struct browse_terms terms;

	*out = '\0';
	(void)find_terms(browse, &terms);
	for (size_t i = 0; i < terms.count; i++)
		snprintf(out + strlen(out), size - strlen(out), "%s%s", i ? ", " : "",
			 terms.items[i]);
	if (*here(browse)->match)
		snprintf(out + strlen(out), size - strlen(out), "%srows with \"%s\"",
			 *out ? "; " : "", here(browse)->match);
}

static int load(struct browse *browse)
{
	uint64_t began = monotonic_ns();
	struct browse_terms terms;
	int err = find_terms(browse, &terms);

	err = err ? err : place_load(here(browse), browse->host, &terms);
	if (monotonic_ns() - began > SLOW_MS * UINT64_C(1000000))
		screen_spoiled();
	return err;
}

static int print(struct browse *browse)
{
	const struct place_style style = {screen_width(), terminal_colour(1), browse->sort};

	return place_print(here(browse), &style);
}

/* --- drawing ------------------------------------------------------------------------------------
 */

static void draw_text(int row, const char *text, bool selected)
{
	screen_line(row, text, strlen(text), selected);
}

static void draw_tabs(struct browse *browse, int row)
{
	const struct place *place = here(browse);
	int widths[PLACE_TABS], width = screen_width();
	char line[600] = "";
	size_t first, end;

	for (size_t i = 0; i < place->n_tabs; i++)
		widths[i] = (int)strlen(place->tabs[i]->name) + 2;
	first = labels_first(widths, place->n_tabs, place->tab, width - 4, &end);
	snprintf(line, sizeof(line), "%s", first ? "< " : "");
	for (size_t i = first; i < end; i++)
		snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s%s%s  ",
			 i == place->tab ? "\033[1m[" : "\033[2m ", place->tabs[i]->name,
			 i == place->tab ? "]\033[0m" : " \033[0m");
	if (end < place->n_tabs)
		snprintf(line + strlen(line), sizeof(line) - strlen(line), ">");
	draw_text(row, line, false);
}

/* As many of the keys as fit. */
static void name_keys(struct browse *browse, char *out, size_t size)
{
	const struct place *place = here(browse);
	struct opened opened;
	bool opens = lines_seen(&place->lines, &place->sight, browse->height) &&
		     place_enter(place, &opened);
	const char *const *own = browse->host->keys;
	const char *keys[16] = {"q quit", "? keys"};
	size_t n = 2;

	if (browse->depth)
		keys[n++] = "Esc back";
	if (opens)
		keys[n++] = "Enter open";
	for (; own && *own && n < 10; own++)
		keys[n++] = *own;
	keys[n++] = "Tab pages";
	keys[n++] = "/ filter";
	keys[n++] = "t span";
	keys[n++] = "o order";
	*out = '\0';
	for (size_t i = 0; i < n; i++)
		if (strlen(out) + strlen(keys[i]) + 2 < size)
			snprintf(out + strlen(out), size - strlen(out), "%s%s", i ? "  " : "",
				 keys[i]);
}

static void draw_bottom(struct browse *browse)
{
	size_t width = (size_t)screen_width();
	char line[400];
	const char *shown = line;

	if (browse->prompt.open)
		snprintf(line, sizeof(line), "%s: %s_",
			 browse->asks == 't' ? "span, such as 1.5s..2s" : "filter",
			 browse->prompt.text);
	else if (*browse->host->note)
		snprintf(line, sizeof(line), "%s", browse->host->note);
	else
		name_keys(browse, line, width + 1 < sizeof(line) ? width + 1 : sizeof(line));
	/* Of what is typed, the end. */
	while (browse->prompt.open && text_width(shown) > (int)width)
		do
			shown++;
		while (((unsigned char)*shown & 0xc0) == 0x80);
	draw_text(screen_height() - 1, shown, true);
}

static void draw_page(struct browse *browse, int first)
{
	const struct place *place = here(browse);
	const struct lines *lines = &place->lines;
	size_t selected = lines_seen(lines, &place->sight, browse->height)
				  ? lines->rows[place->sight.row].at
				  : lines->count;

	for (int i = 0; i < browse->height; i++) {
		size_t line = lines_at(lines, &place->sight, i);

		if (line == lines->count)
			draw_text(first + i, "", false);
		else
			screen_line(first + i, lines->text + lines->starts[line],
				    lines->starts[line + 1] - lines->starts[line] - 1,
				    line == selected);
	}
}

static int draw_lines(const char *text, int first, int end)
{
	while (*text && first < end) {
		size_t length = strcspn(text, "\n");

		screen_line(first++, text, length, false);
		text += length + (text[length] == '\n');
	}
	return first;
}

/* Lines above the page: of the host, the pages, what is left out. Returns their number. */
static int draw_head(struct browse *browse)
{
	struct place *place = here(browse);
	char filter[1200], *text = NULL;
	struct browse_subject subject = {place->tabs[place->tab]->name, browse->sort, filter};
	int first = 0, height = screen_height();
	size_t size;
	FILE *out;

	describe(browse, filter, sizeof(filter) - 8);
	out = browse->host->head ? open_memstream(&text, &size) : NULL;
	if (out)
		browse->host->head(browse->host, place->model, &subject, screen_width(), out);
	if (out && !fclose(out))
		first = draw_lines(text, 0, height - 1);
	free(text);
	if (first < height - 1)
		draw_tabs(browse, first++);
	if (*filter && !browse->host->head && first < height - 1) {
		char line[1300];

		snprintf(line, sizeof(line), "only %s", filter);
		draw_text(first++, line, false);
	}
	return first;
}

static void draw_help(int first)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const struct page page = {.out = out, .width = screen_width()};

	for (size_t i = 0; out && i < sizeof(help) / sizeof(*help); i++)
		page_paragraph(&page, STYLE_PLAIN, 0, "%s", help[i]);
	if (out && !fclose(out))
		first = draw_lines(text, first, screen_height() - 1);
	free(text);
	while (first < screen_height() - 1)
		draw_text(first++, "", false);
}

int browse_show(struct browse *browse)
{
	struct place *place = here(browse);
	int first, err = 0;

	if (!place->model) {
		for (int i = 0; i < screen_height() - 1; i++)
			draw_text(i, "", false);
		draw_text(screen_height() - 1, "q quit", true);
		screen_show();
		return 0;
	}
	if (!place->lines.text)
		err = print(browse);
	if (err)
		return err;
	first = draw_head(browse);
	browse->height = screen_height() - 1 - first;
	browse->height = browse->height > 0 ? browse->height : 0;
	if (browse->follows || place->sight.top >= place->lines.count)
		lines_follow(&place->lines, &place->sight, browse->height);
	browse->follows = false;
	if (browse->help)
		draw_help(first);
	else
		draw_page(browse, first);
	draw_bottom(browse);
	screen_show();
	return 0;
}

/* Prints the page again, and keeps the selected row in sight if it was. */
static int print_again(struct browse *browse)
{
	struct place *place = here(browse);

	browse->follows = lines_seen(&place->lines, &place->sight, browse->height);
	return print(browse);
}

int browse_refresh(struct browse *browse)
{
	struct place *place = here(browse);
	bool seen = lines_seen(&place->lines, &place->sight, browse->height);
	int err = load(browse);

	if (!err && !browse->version++ && browse->host->table)
		(void)place_choose(place, browse->host->table, 0);
	place->version = browse->version;
	err = err ? err : print(browse);
	browse->follows = seen;
	return err ? err : browse_show(browse);
}

/* --- keys ---------------------------------------------------------------------------------------
 */

static void say(struct browse *browse, const char *what, const char *why)
{
	snprintf(browse->host->note, sizeof(browse->host->note), "%s: %s", what, why);
}

/* What cannot be loaded leaves the place as it was. */
static void reload(struct browse *browse)
{
	int err = browse_refresh(browse);

	if (err)
		say(browse, "this cannot be read", profile_error_text(err));
}

static void go_back(struct browse *browse)
{
	if (*here(browse)->match) {
		*here(browse)->match = '\0';
		(void)print_again(browse);
		return;
	}
	if (!browse->depth)
		return;
	place_free(here(browse));
	browse->depth--;
	if (here(browse)->version != browse->version)
		reload(browse);
}

static void open_row(struct browse *browse)
{
	struct place *place = here(browse);
	struct opened opened;
	int err;

	if (!lines_seen(&place->lines, &place->sight, browse->height) ||
	    !place_enter(place, &opened))
		return;
	if (browse->depth + 1 == PLACES) {
		say(browse, "not opened", "Esc goes back");
		return;
	}
	browse->depth++;
	here(browse)->opened = opened;
	err = load(browse);
	if (err) {
		place_free(here(browse));
		browse->depth--;
		say(browse, "this cannot be read", profile_error_text(err));
		return;
	}
	here(browse)->version = browse->version;
	(void)place_choose(here(browse), opened.tab, 0);
}

bool browse_is_term(const char *text)
{
	size_t key = strspn(text, "abcdefghijklmnopqrstuvwxyz");

	key += key && text[key] == '!';
	return key && text[key] == '=' && text[key + 1] != '=';
}

/* Selects events by a term, or all if it is empty. */
static void set_term(struct browse *browse, char *term, const char *prefix, const char *text)
{
	struct filter filter = {.count = 0};
	char fault[200], wanted[PLACE_TEXT] = "";

	if (*text)
		snprintf(wanted, sizeof(wanted), "%s%s", prefix, text);
	if (*wanted && filter_add(&filter, wanted, fault, sizeof(fault)) < 0) {
		say(browse, wanted, fault);
		return;
	}
	if (strcmp(term, wanted) == 0)
		return;
	snprintf(term, PLACE_TEXT, "%s", wanted);
	reload(browse);
}

static void set_match(struct browse *browse, const char *text)
{
	if (strcmp(here(browse)->match, text) == 0)
		return;
	snprintf(here(browse)->match, sizeof(here(browse)->match), "%s", text);
	(void)print_again(browse);
}

static void press_prompt(struct browse *browse, int key)
{
	bool done = prompt_press(&browse->prompt, key);
	const char *text = browse->prompt.text;

	if (browse->asks == 't') {
		if (done)
			set_term(browse, browse->span, "time=", text);
	} else if (done && browse_is_term(text)) {
		set_term(browse, browse->term, "", text);
	} else if (done && !*text) {
		set_match(browse, "");
		set_term(browse, browse->term, "", "");
	} else {
		/* While it is typed; Escape shows all. */
		set_match(browse,
			  browse_is_term(text) || (!browse->prompt.open && !done) ? "" : text);
	}
}

static void next_order(struct browse *browse)
{
	size_t at = 0;

	while (browse->sort && at < N_ORDERS && (!orders[at] || strcmp(orders[at], browse->sort)))
		at++;
	browse->sort = orders[(at + 1) % N_ORDERS];
	if (browse->sort)
		(void)print_again(browse);
	else /* their own is as they are loaded */
		reload(browse);
	snprintf(browse->host->note, sizeof(browse->host->note), "order: %s",
		 browse->sort ? browse->sort : "each table's own");
}

static void turn(struct browse *browse, int by)
{
	struct place *place = here(browse);

	if (by < 0 && !place->tab && browse->depth)
		go_back(browse);
	else
		place_turn(place, (place->tab + place->n_tabs + (size_t)by) % place->n_tabs);
}

/* Keys that move; false: it is none. */
static bool press_move(struct browse *browse, int key)
{
	static const struct {
		int key, other;
		enum move move;
	} moves[] = {
		{SCREEN_UP, 'k', MOVE_UP},         {SCREEN_DOWN, 'j', MOVE_DOWN},
		{SCREEN_PAGE_UP, 0, MOVE_PAGE_UP}, {SCREEN_PAGE_DOWN, 0, MOVE_PAGE_DOWN},
		{SCREEN_HOME, 0, MOVE_HOME},       {SCREEN_END, 'G', MOVE_END},
	};
	struct place *place = here(browse);

	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++)
		if (key == moves[i].key || (moves[i].other && key == moves[i].other)) {
			lines_move(&place->lines, &place->sight, browse->height, moves[i].move);
			place->lost = false;
			return true;
		}
	if (key == SCREEN_RIGHT || key == '\t')
		turn(browse, 1);
	else if (key == SCREEN_LEFT || key == SCREEN_TAB_BACK)
		turn(browse, -1);
	else if (key >= '1' && key <= '9' && (size_t)(key - '1') < place->n_tabs)
		place_turn(place, (size_t)(key - '1'));
	else
		return place_choose(place, NULL, key);
	return true;
}

/* False: leaves. */
static bool press(struct browse *browse, int key)
{
	struct browse_host *host = browse->host;

	if (key == SCREEN_RESIZED) {
		if (here(browse)->model)
			(void)print_again(browse);
		return true;
	}
	if (browse->prompt.open) {
		*host->note = '\0';
		press_prompt(browse, key);
		return true;
	}
	*host->note = '\0';
	if (!here(browse)->model)
		return key != 'q' && key != SCREEN_END_OF_INPUT;
	if (key == 'q' || key == SCREEN_END_OF_INPUT)
		return false;
	if (browse->help || key == '?') {
		browse->help = !browse->help;
	} else if (key == '/' || key == 't') {
		browse->asks = (char)key;
		prompt_open(&browse->prompt);
	} else if (key == 'o') {
		next_order(browse);
	} else if (key == SCREEN_ENTER) {
		open_row(browse);
	} else if (key == SCREEN_ESCAPE || key == SCREEN_BACKSPACE) {
		go_back(browse);
	} else if (!press_move(browse, key) && host->press) {
		(void)host->press(host, key);
	}
	return true;
}

int browse_wait(struct browse *browse, struct pollfd *fds, nfds_t count)
{
	int err = screen_wait(fds, count), key;
	bool pressed = false;

	if (err)
		return err;
	while ((key = screen_key()) != SCREEN_NONE) {
		if (!press(browse, key))
			return 1;
		pressed = true;
	}
	return pressed ? browse_show(browse) : 0;
}

int browse_open(struct browse_host *host, struct browse **out)
{
	struct browse *browse = calloc(1, sizeof(*browse));
	int err = browse ? screen_open(terminal_colour(1)) : -ENOMEM;

	if (err) {
		free(browse);
		return err;
	}
	browse->host = host;
	browse->sort = host->sort;
	snprintf(browse->term, sizeof(browse->term), "%s", host->term ? host->term : "");
	*out = browse;
	return 0;
}

void browse_close(struct browse *browse)
{
	if (!browse)
		return;
	screen_close();
	for (size_t i = 0; i < PLACES; i++)
		place_free(&browse->places[i]);
	free(browse);
}
