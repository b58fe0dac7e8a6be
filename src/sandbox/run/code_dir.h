/* code_dir.h - the directory of a sandbox that holds the file of one piece of code.
 *
 * It is below /tmp, on the disk, or below /dev/shm, in memory. Each run of code creates and removes
 * a directory and a file, which on a disk takes longer than a short program: ext4 without a journal
 * looks at all inodes that were freed in the last minute before it uses another.
 *
 *   code_dir_choose -> (the agent or an interpreter creates it) -> code_dir_remove
 *
 * The struct belongs to the caller; zeroed, there is no directory. */
#pragma once

struct sandbox;

#define CODE_DIR_DISK   "/tmp"
#define CODE_DIR_MEMORY "/dev/shm"

struct code_dir {
	char path[48]; /* absolute; "": none */
};

/* Chooses a random path in `below`, one of the two, and creates nothing. A path that cannot be
 * guessed keeps code that runs in the sandbox at the same time from putting a link or a file in its
 * place first. */
void code_dir_choose(struct code_dir *dir, const char *below);
/* Removes the directory with all it holds, without waiting for the result. Does nothing if there is
 * none, or if the sandbox is no longer awake: the directory then stays among its files. */
void code_dir_remove(struct code_dir *dir, struct sandbox *sandbox);
