#include "cli/support/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text/ansi_filter.h"

enum { STREAMS = STDERR_FILENO + 1 };

static struct termios before, raw;
static int flags[STREAMS], lent_flags[STREAMS]; /* of open files we share with who started us */
static volatile sig_atomic_t is_noted, is_lent;

static void set_flags(const int wanted[STREAMS])
{
	for (int fd = 0; is_noted && fd < STREAMS; fd++)
		if (wanted[fd] >= 0)
			(void)fcntl(fd, F_SETFL, wanted[fd]);
}

static void restore(void)
{
	if (is_lent)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
	is_lent = false;
}

/* It waits for nobody to read what is on its way: that might be forever. */
static void give_back_now(void)
{
	if (!is_lent)
		return;
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
	for (int fd = 0; fd < STREAMS; fd++)
		lent_flags[fd] = fcntl(fd, F_GETFL);
	set_flags(flags);
}

/* The handler is gone with its first call. What a fault was is one again; what somebody sent comes
 * once more, with the usual consequences. */
static void on_end(int number)
{
	give_back_now();
	is_lent = false;
	if (number != SIGSEGV && number != SIGBUS && number != SIGILL && number != SIGFPE)
		(void)raise(number);
}

static void lend_again(void)
{
	while (tcsetattr(STDIN_FILENO, TCSANOW, &raw) < 0 && errno == EINTR)
		continue;
}

/* Also after a SIGSTOP, of which nobody hears: whoever had the terminal meanwhile set it. */
static void on_continued(int number)
{
	int kept = errno;

	(void)number;
	if (is_lent)
		lend_again();
	errno = kept;
}

/* Stops in here, with the terminal given back, and goes on from here. */
static void on_stop(int number)
{
	struct sigaction usual = { .sa_handler = SIG_DFL }, ours;
	sigset_t only, all_of_before;
	int kept = errno;

	give_back_now();
	(void)sigaction(number, &usual, &ours);
	(void)sigemptyset(&only);
	(void)sigaddset(&only, number);
	(void)raise(number);
	(void)sigprocmask(SIG_UNBLOCK, &only, &all_of_before);
	(void)sigprocmask(SIG_SETMASK, &all_of_before, NULL);
	(void)sigaction(number, &ours, NULL);
	if (is_lent) {
		set_flags(lent_flags);
		lend_again();
	}
	errno = kept;
}

void terminal_note(void)
{
	for (int fd = 0; fd < STREAMS; fd++)
		flags[fd] = fcntl(fd, F_GETFL);
	is_noted = true;
}

static void handle_signals(void)
{
	static const int ends[] = {
		SIGABRT, SIGSEGV, SIGBUS,  SIGILL,  SIGFPE,    SIGQUIT, SIGUSR1,
		SIGUSR2, SIGALRM, SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF, SIGSYS
	};
	struct sigaction end = { .sa_handler = on_end, .sa_flags = (int)SA_RESETHAND };
	struct sigaction stop = { .sa_handler = on_stop, .sa_flags = SA_RESTART };
	struct sigaction go_on = { .sa_handler = on_continued, .sa_flags = SA_RESTART };

	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		(void)sigaction(ends[i], &end, NULL);
	(void)sigaction(SIGTSTP, &stop, NULL);
	(void)sigaction(SIGCONT, &go_on, NULL);
	(void)atexit(restore);
}

int terminal_lend(struct error *err)
{
	static bool is_prepared;

	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return error_sys(err, "look at the terminal");
	raw = before;
	cfmakeraw(&raw);
	if (!is_prepared)
		handle_signals();
	is_prepared = true;
	is_lent = true;
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0) {
		is_lent = false;
		return error_sys(err, "set the terminal");
	}
	return 0;
}

void terminal_give_back(struct ansi_filter *drawn)
{
	char reset[ANSI_FILTER_RESET_MAX];
	struct error ignored;

	if (!is_lent)
		return;
	(void)!fd_write_all(STDOUT_FILENO, (struct view){ reset, ansi_filter_reset(drawn, reset) },
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
