#include "cli/support/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/text/ansi_filter.h"

enum { STREAMS = STDERR_FILENO + 1 };

static struct termios before, raw;
/* The flags of open files that are shared with the parent process: as found, and as used here. */
static int flags[STREAMS], raw_flags[STREAMS];
static volatile sig_atomic_t is_saved, is_raw;

static void set_flags(const int wanted[STREAMS])
{
	for (int fd = 0; is_saved && fd < STREAMS; fd++)
		if (wanted[fd] >= 0)
			(void)fcntl(fd, F_SETFL, wanted[fd]);
}

static void restore_mode(void)
{
	if (is_raw)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
	is_raw = false;
}

/* Runs in a signal handler. TCSANOW, because TCSADRAIN waits for the output to be read, which may
 * never happen. */
static void restore_at_once(void)
{
	if (!is_raw)
		return;
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
	for (int fd = 0; fd < STREAMS; fd++)
		raw_flags[fd] = fcntl(fd, F_GETFL);
	set_flags(flags);
}

/* SA_RESETHAND has removed this handler. A fault happens again when the handler returns; a signal
 * that was sent is raised again. Both then have their default effect. */
static void on_fatal_signal(int number)
{
	restore_at_once();
	is_raw = false;
	if (number != SIGSEGV && number != SIGBUS && number != SIGILL && number != SIGFPE)
		(void)raise(number);
}

static void set_raw_again(void)
{
	while (tcsetattr(STDIN_FILENO, TCSANOW, &raw) < 0 && errno == EINTR)
		continue;
}

/* After SIGSTOP, which cannot be handled, the shell has changed the terminal's mode: set it
 * again. */
static void on_continued(int number)
{
	int kept = errno;

	(void)number;
	if (is_raw)
		set_raw_again();
	errno = kept;
}

/* Restores the terminal, stops this process with the default action of SIGTSTP, and returns to raw
 * mode after SIGCONT. */
static void on_stop(int number)
{
	struct sigaction standard = { .sa_handler = SIG_DFL }, ours;
	sigset_t only, old_mask;
	int kept = errno;

	restore_at_once();
	(void)sigaction(number, &standard, &ours);
	(void)sigemptyset(&only);
	(void)sigaddset(&only, number);
	(void)raise(number);
	(void)sigprocmask(SIG_UNBLOCK, &only, &old_mask);
	(void)sigprocmask(SIG_SETMASK, &old_mask, NULL);
	(void)sigaction(number, &ours, NULL);
	if (is_raw) {
		set_flags(raw_flags);
		set_raw_again();
	}
	errno = kept;
}

void terminal_save_flags(void)
{
	for (int fd = 0; fd < STREAMS; fd++)
		flags[fd] = fcntl(fd, F_GETFL);
	is_saved = true;
}

static void install_handlers(void)
{
	static const int ends[] = {
		SIGABRT, SIGSEGV, SIGBUS,  SIGILL,  SIGFPE,    SIGQUIT, SIGUSR1,
		SIGUSR2, SIGALRM, SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF, SIGSYS
	};
	struct sigaction end = { .sa_handler = on_fatal_signal, .sa_flags = (int)SA_RESETHAND };
	struct sigaction stop = { .sa_handler = on_stop, .sa_flags = SA_RESTART };
	struct sigaction resumed = { .sa_handler = on_continued, .sa_flags = SA_RESTART };

	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		(void)sigaction(ends[i], &end, NULL);
	(void)sigaction(SIGTSTP, &stop, NULL);
	(void)sigaction(SIGCONT, &resumed, NULL);
	(void)atexit(restore_mode);
}

int terminal_set_raw(struct error *err)
{
	static bool is_prepared;

	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return error_sys(err, "read the terminal's mode");
	raw = before;
	cfmakeraw(&raw);
	if (!is_prepared)
		install_handlers();
	is_prepared = true;
	is_raw = true;
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0) {
		is_raw = false;
		return error_sys(err, "set the terminal's mode");
	}
	return 0;
}

void terminal_restore(struct ansi_filter *drawn)
{
	char reset[ANSI_FILTER_RESET_MAX];
	struct error ignored;

	if (!is_raw)
		return;
	(void)!fd_write_all(STDOUT_FILENO, (struct view){ reset, ansi_filter_reset(drawn, reset) },
	                    &ignored);
	restore_mode();
}

void terminal_size(uint16_t *rows, uint16_t *columns)
{
	struct winsize size = { 0 };

	(void)ioctl(STDIN_FILENO, TIOCGWINSZ, &size);
	*rows = size.ws_row != 0 ? size.ws_row : 24;
	*columns = size.ws_col != 0 ? size.ws_col : 80;
}
