/* owner.h - the owner of the sandboxes of a client without authentication: the user who started
 * belljar. */
#pragma once

/* Returns a static text such as "uid:1000". The first call must come before confine_server(), which
 * changes the user id. */
const char *owner_local(void);
