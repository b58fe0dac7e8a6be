/* code_dir.h - the directory below /tmp of a sandbox that holds the file of one piece of code.
 *
 *   code_dir_choose -> (the agent or an interpreter creates it) -> code_dir_remove
 *
 * The struct belongs to the caller; zeroed, there is no directory. */
#pragma once

struct sandbox;

struct code_dir {
	char path[48]; /* absolute; "": none */
};

/* Chooses a random path and creates nothing. A path that cannot be guessed keeps code that runs in
 * the sandbox at the same time from putting a link or a file in its place first. */
void code_dir_choose(struct code_dir *dir);
/* Removes the directory with all it holds, without waiting for the result. Does nothing if there is
 * none, or if the sandbox is no longer awake: the directory then stays among its files. */
void code_dir_remove(struct code_dir *dir, struct sandbox *sandbox);
