#include "cli/terminal.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/screen.h"

static struct termios before;
static volatile sig_atomic_t is_lent;

static void restore(void)
{
	if (is_lent)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
	is_lent = false;
}

/* The handler is gone with its first call: what went wrong goes wrong again, with the usual
 * consequences. */
static void on_crash(int number)
{
	restore();
	if (number == SIGABRT)
		(void)raise(number);
}

int terminal_lend(struct error *err)
{
	static const int crashes[] = { SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE };
	static bool is_prepared;
	struct sigaction action = { .sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND };
	struct termios raw;

	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return error_sys(err, "look at the terminal");
	if (!is_prepared) {
		for (size_t i = 0; i < ARRAY_LEN(crashes); i++)
			(void)sigaction(crashes[i], &action, NULL);
		(void)atexit(restore);
		is_prepared = true;
	}
	raw = before;
	cfmakeraw(&raw);
	is_lent = true;
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0) {
		is_lent = false;
		return error_sys(err, "set the terminal");
	}
	return 0;
}

void terminal_give_back(struct screen *drawn)
{
	char reset[SCREEN_RESET_MAX];
	struct error ignored;

	if (!is_lent)
		return;
	(void)!fd_write_all(STDOUT_FILENO, (struct view){ reset, screen_reset(drawn, reset) },
	                    &ignored);
	restore();
}

void terminal_size(uint16_t *rows, uint16_t *columns)
{
	struct winsize size = { 0 };

	(void)ioctl(STDIN_FILENO, TIOCGWINSZ, &size);
	*rows = size.ws_row != 0 ? size.ws_row : 24;
	*columns = size.ws_col != 0 ? size.ws_col : 80;
}
