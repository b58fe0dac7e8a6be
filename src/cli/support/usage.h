/* usage.h - the help texts, generated from the verbs' records and the table of options. */
#pragma once

struct option_spec;
struct verb;

void usage_short(void); /* lists all verbs */
void usage_verb(const struct verb *verb);

enum { USAGE_TEXT_SIZE = 320 };
/* Formats the option's help with its range, choices and default. Returns out. */
const char *usage_option_text(const struct option_spec *spec, char out[USAGE_TEXT_SIZE]);
