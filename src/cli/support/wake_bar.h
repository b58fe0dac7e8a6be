/* wake_bar.h - a bar on the terminal while the engine fetches an image for a command.
 *
 *   wake_bar_new -> wake_bar_free, which erases the bar
 *
 * Nothing is written if standard error is no terminal. */
#pragma once

struct loop;
struct sandbox;
struct wake_bar;

/* `sandbox` points to the caller's pointer, which may be NULL until there is a sandbox. */
struct wake_bar *wake_bar_new(struct loop *loop, struct sandbox *const *sandbox);
struct wake_bar *wake_bar_free(struct wake_bar *bar);
