/* help_text.h - the help texts, generated from the verbs' records and the table of options. */
#pragma once

struct option_spec;
struct verb;

void help_text_print_all(void); /* lists all verbs */
void help_text_print_verb(const struct verb *verb);

enum { HELP_TEXT_SIZE = 640 };
/* Formats the option's help with its range, choices and default. Returns out. */
const char *help_text_option(const struct option_spec *spec, char out[HELP_TEXT_SIZE]);
