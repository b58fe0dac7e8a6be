/* owner.h - the owner of sandboxes of a client without authentication: the user who started
 * belljar. */
#pragma once

const char *owner_local(void); /* "uid:1000"; static */
