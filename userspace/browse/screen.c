/* SPDX-License-Identifier: BSD-2-Clause */
/* screen.c: the terminal of standard input and output, by ncurses. */
#define NCURSES_WIDECHAR 1
#include "screen.h"

#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "../model/world/text.h"
#include "../util/ascii.h"
#include "../util/escape.h"

static struct termios before;
static char leave[128]; /* what gives the terminal back */
static volatile sig_atomic_t taken;
static bool coloured, plain; /* with colours; in ASCII */

enum { YELLOW = 1, ESCAPE_MS = 50, DELETE = 127 };

/* Signals that end a process: by a person, and by a fault. */
static const int endings[] = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT, SIGSEGV,
			      SIGABRT, SIGBUS,  SIGFPE, SIGILL};

bool screen_possible(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term &&
	       strcmp(term, "dumb") != 0;
}

/* Only calls that signal handlers may make. */
static void give_back(int number)
{
	if (taken) {
		ssize_t ignored = write(STDOUT_FILENO, leave, strlen(leave));

		(void)ignored;
		tcsetattr(STDIN_FILENO, TCSANOW, &before);
	}
	raise(number);       /* as it was by default: SA_RESETHAND, and at once: SA_NODEFER */
	_exit(128 + number); /* the first process of a container */
}

static void add_string(const char *name)
{
	char capability[8];
	const char *text;

	snprintf(capability, sizeof(capability), "%s", name);
	text = tigetstr(capability);
	if (text && text != (const char *)-1)
		snprintf(leave + strlen(leave), sizeof(leave) - strlen(leave), "%s", text);
}

static void guard(void)
{
	struct sigaction action = {.sa_handler = give_back,
				   .sa_flags = (int)SA_RESETHAND | SA_NODEFER};
	sigset_t resize;

	*leave = '\0';
	add_string("sgr0");
	add_string("cnorm");
	add_string("rmcup");
	add_string("rmkx");
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
		sigaction(endings[i], &action, NULL);
	sigemptyset(&resize);
	sigaddset(&resize, SIGWINCH);
	sigprocmask(SIG_BLOCK, &resize, NULL);
}

/* The locale may be one that the machine does not have. */
static void set_locale(void)
{
	if (!setlocale(LC_CTYPE, "") || (MB_CUR_MAX == 1 && !ascii_only()))
		setlocale(LC_CTYPE, "C.UTF-8");
}

int screen_open(bool colour)
{
	static FILE *out; /* standard output may have become a stream that is no file */

	set_locale();
	plain = ascii_only();
	out = out ? out : fdopen(STDOUT_FILENO, "w");
	if (!out || tcgetattr(STDIN_FILENO, &before) < 0 || !newterm(NULL, out, stdin))
		return -ENOTTY;
	guard();
	taken = 1;
	atexit(screen_close);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	coloured = colour && has_colors() && start_color() == OK;
	if (coloured)
		init_pair(YELLOW, COLOR_YELLOW, use_default_colors() == OK ? -1 : COLOR_BLACK);
	return 0;
}

void screen_close(void)
{
	if (!taken)
		return;
	endwin();
	taken = 0;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
}

int screen_width(void)
{
	return getmaxx(stdscr);
}

int screen_height(void)
{
	return getmaxy(stdscr);
}

/* Bytes of a sequence that begins or ends one of the report's styles, which it sets; 0: none. */
static size_t take_style(const char *text, size_t size, attr_t *style)
{
	const struct {
		const char *code;
		attr_t style;
	} styles[] = {
		{"\033[0m", A_NORMAL},
		{"\033[1m", A_BOLD},
		{"\033[2m", A_DIM},
		{"\033[33m", COLOR_PAIR(YELLOW)},
	};

	for (size_t i = 0; i < sizeof(styles) / sizeof(*styles); i++) {
		size_t length = strlen(styles[i].code);

		if (length > size || memcmp(text, styles[i].code, length) != 0)
			continue;
		*style = coloured ? styles[i].style : A_NORMAL;
		return length;
	}
	return 0;
}

/* A character as it is shown; returns its columns. `used`: its bytes, 0 if they are not UTF-8. */
static int show_as(const char *text, size_t used, uint32_t character, char out[ESCAPE_MAX])
{
	if (!used || escape_needed(character)) {
		strcpy(out, "?");
		return 1;
	}
	if (plain && character >= 0x80)
		return (int)ascii_character(character, out);
	snprintf(out, ESCAPE_MAX, "%.*s", (int)used, text);
	return character_width(character);
}

void screen_line(int row, const char *text, size_t length, bool selected)
{
	attr_t base = selected ? A_REVERSE : A_NORMAL, style = A_NORMAL;
	int column = 0, width = screen_width();
	uint32_t character = 0;

	move(row, 0);
	for (size_t at = 0, used; at < length; at += used) {
		char shown[ESCAPE_MAX];
		int room;

		used = take_style(text + at, length - at, &style);
		if (used)
			continue;
		used = utf8_decode(text + at, length - at, &character);
		room = show_as(text + at, used, character, shown);
		if (column + room > width)
			break;
		column += room;
		attrset(base | style);
		addstr(shown);
		used = used ? used : 1;
	}
	attrset(base);
	for (; column < width; column++)
		addch(' ');
	attrset(A_NORMAL);
}

void screen_show(void)
{
	move(screen_height() - 1, 0);
	refresh();
}

void screen_spoiled(void)
{
	redrawwin(stdscr);
}

int screen_key(void)
{
	static const struct {
		wint_t code;
		int key;
	} keys[] = {
		{KEY_UP, SCREEN_UP},         {KEY_DOWN, SCREEN_DOWN},
		{KEY_LEFT, SCREEN_LEFT},     {KEY_RIGHT, SCREEN_RIGHT},
		{KEY_HOME, SCREEN_HOME},     {KEY_END, SCREEN_END},
		{KEY_PPAGE, SCREEN_PAGE_UP}, {KEY_NPAGE, SCREEN_PAGE_DOWN},
		{KEY_BTAB, SCREEN_TAB_BACK}, {KEY_BACKSPACE, SCREEN_BACKSPACE},
		{KEY_ENTER, SCREEN_ENTER},   {KEY_RESIZE, SCREEN_RESIZED},
	};
	static bool first = true;
	wint_t code;
	int got = get_wch(&code);

	if (got == ERR)
		return SCREEN_NONE;
	for (size_t i = 0; got == KEY_CODE_YES && i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].code == code)
			return keys[i].key;
	/* An end of input from before lines were off, as script(1) sends it, is this character
	 * then. */
	if (got == OK && code == 0 && first)
		return SCREEN_END_OF_INPUT;
	first = false;
	if (got == KEY_CODE_YES || code == 0)
		return SCREEN_OTHER;
	if (code == '\r' || code == '\n')
		return SCREEN_ENTER;
	return code == '\b' || code == DELETE ? SCREEN_BACKSPACE : (int)code;
}

int screen_wait(struct pollfd *fds, nfds_t count)
{
	sigset_t mask;

	fds[0] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
	/* A new size is only noticed here, and so none comes just before the wait. */
	sigprocmask(SIG_BLOCK, NULL, &mask);
	sigdelset(&mask, SIGWINCH);
	if (ppoll(fds, count, NULL, &mask) < 0) {
		for (nfds_t i = 0; i < count; i++)
			fds[i].revents = 0;
		return errno == EINTR ? 0 : -errno;
	}
	return fds[0].revents & (POLLHUP | POLLERR | POLLNVAL) ? -EIO : 0;
}
