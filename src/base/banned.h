/* banned.h - turns calls of unsafe C library functions into compile errors.
 *
 * The Makefile includes this file into every source (-include). It includes the headers that
 * declare the banned functions first, so that the macros hit calls and not declarations.
 *
 * The str* functions write without a bound, ato* cannot report errors, system() and popen() start
 * a shell, localtime() and the like return static memory. printf() and puts() are banned because
 * MCP messages are sent on stdout: command line verbs print through cli/support/out.h. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* With _FORTIFY_SOURCE and clang the C library defines some of these as macros. */
#undef printf
#undef sprintf
#undef vsprintf
#undef strcpy
#undef strcat
#undef strncpy
#undef strncat

#define BANNED(name, instead) banned_##name##_use_##instead

#define strcpy(...)    BANNED(strcpy, buf_or_snprintf)
#define strcat(...)    BANNED(strcat, buf_or_snprintf)
#define strncpy(...)   BANNED(strncpy, snprintf)
#define strncat(...)   BANNED(strncat, buf_or_snprintf)
#define sprintf(...)   BANNED(sprintf, snprintf)
#define vsprintf(...)  BANNED(vsprintf, vsnprintf)
#define gets(...)      BANNED(gets, input)
#define strtok(...)    BANNED(strtok, view)
#define atoi(...)      BANNED(atoi, num_parse)
#define atol(...)      BANNED(atol, num_parse)
#define atoll(...)     BANNED(atoll, num_parse)
#define atof(...)      BANNED(atof, num_parse)
#define localtime(...) BANNED(localtime, clock)
#define gmtime(...)    BANNED(gmtime, gmtime_r)
#define ctime(...)     BANNED(ctime, clock)
#define asctime(...)   BANNED(asctime, clock)
#define system(...)    BANNED(system, argv)
#define popen(...)     BANNED(popen, argv)
#define tmpnam(...)    BANNED(tmpnam, mkostemp)
#define mktemp(...)    BANNED(mktemp, mkostemp)
#define printf(...)    BANNED(printf, out)
#define puts(...)      BANNED(puts, out)
#define putchar(...)   BANNED(putchar, out)
#define rand(...)      BANNED(rand, getrandom)
#define random(...)    BANNED(random, getrandom)
