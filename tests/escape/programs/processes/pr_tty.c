/* pr_tty - tries dangerous ioctls of terminals: pushing input (TIOCSTI), copying from the console
 * (TIOCLINUX), loading line disciplines (TIOCSETD), redirecting the console (TIOCCONS), also with
 * high bits of the command set. On a terminal of its own, on /dev/tty and on 0, 1, 2. Prints DONE
 * for each success, then that its own terminal works. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

static void try(int fd, unsigned long command, void *arg, const char *name)
{
	static const unsigned long above[] = { 0, 1UL << 32, 0xdeadUL << 48, 0xffffffffUL << 32 };

	for (int i = 0; i < 4; i++)
		if (syscall(SYS_ioctl, fd, command | above[i], arg) == 0 || errno != EPERM)
			printf("%s %s %d with bits %d: errno %d\n",
			       errno == EPERM ? "DONE" : "OTHER", name, fd, i, errno);
}

int main(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave = -1;
	char text[16] = "", copy[2] = { 2, 0 };
	struct winsize size = { 7, 9, 0, 0 }, seen;
	struct termios modes;

	setsid();
	if (master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0)
		slave = open(ptsname(master), O_RDWR);
	const int fds[] = { 0, 1, 2, master, slave, open("/dev/tty", O_RDWR) };
	for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
		try(fds[i], TIOCSTI, "x", "TIOCSTI");
		try(fds[i], TIOCLINUX, copy, "TIOCLINUX");
		try(fds[i], TIOCCONS, NULL, "TIOCCONS");
		for (int discipline = 0; discipline <= 30; discipline++)
			try(fds[i], TIOCSETD, &discipline, "TIOCSETD");
	}
	if (slave < 0 || fds[5] < 0 || ioctl(slave, TIOCSWINSZ, &size) < 0 ||
	    ioctl(master, TIOCGWINSZ, &seen) < 0 || seen.ws_col != 9 ||
	    tcgetattr(slave, &modes) < 0)
		return 1;
	cfmakeraw(&modes);
	if (tcsetattr(slave, TCSANOW, &modes) < 0 || write(master, "keys", 4) != 4 ||
	    read(slave, text, sizeof text) != 4)
		return 1;
	return printf("own terminal: %s\n", text) < 0;
}
