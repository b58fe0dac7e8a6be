/* section.h - parts of the manual page made from the tables, in mdoc.
 *
 * doc/belljar.1.in has a line @name@ where the section of that name goes. To add one: a
 * function here, a row in generate.c, the line in the page. */
#pragma once

typedef void section_fn(void);

section_fn section_verbs, section_options, section_environment, section_config, section_tools;

/* A text as lines of mdoc: what roff would take for its own is escaped, each sentence
 * begins a line, an empty line becomes a paragraph. */
void section_text(const char *text);
