/* owner.h - whose sandboxes they are, where nobody authenticates: the user who started us. */
#pragma once

const char *owner_local(void); /* "uid:1000" */
