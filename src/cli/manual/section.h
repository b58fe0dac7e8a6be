/* section.h - sections of the manual page, generated from the tables as mdoc.
 *
 * doc/belljar.1.in has a line @name@ in the place of each section. A section is added by a function
 * here, a row in generate.c and the line in doc/belljar.1.in. */
#pragma once

typedef void section_fn(void);

section_fn section_verbs, section_options, section_environment, section_config, section_tools,
        section_trusted;

/* Prints a text as mdoc: roff's special characters are escaped, each sentence begins a new line,
 * and an empty line becomes a paragraph. */
void section_text(const char *text);
