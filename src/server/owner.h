/* owner.h - the owner of the sandboxes of a client without authentication: the user who started
 * belljar. */
#pragma once

/* Returns a static text such as "uid:1000". The first call must come before confine_server(), which
 * changes the user id. */
const char *owner_local(void);
/* The owner that a command of the terminal works for: `user` of a server with tokens, or the local
 * one if that is NULL. Static until the next call. */
const char *owner_choose(const char *user);
