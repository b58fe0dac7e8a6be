/* musl_wctype.c - the character classes that musl's regcomp() uses, for ASCII only.
 *
 * The agent stays in the C locale, where a character is a byte and only ASCII has letters. musl's
 * own functions would add their Unicode tables (13 KiB) to the agent for the same result. The
 * linker takes these four instead, because it finds them first. Other C libraries use their own. */
#include <wctype.h>

#ifndef __GLIBC__
int iswalpha(wint_t c)
{
	return (c | 0x20) - 'a' < 26;
}

int iswpunct(wint_t c)
{
	return c - '!' < '~' - '!' + 1 && !iswalpha(c) && c - '0' >= 10;
}

wint_t towlower(wint_t c)
{
	return c - 'A' < 26 ? c | 0x20 : c;
}

wint_t towupper(wint_t c)
{
	return c - 'a' < 26 ? c & ~0x20U : c;
}
#endif
