/* cdi_links.h - the short names of libraries: libcuda.so.1 beside libcuda.so.535.104.05.
 *
 * Descriptions name a library's file; programs ask for the name it has in its header, a link
 * that a hook makes inside with ldconfig. Hooks are not run, but the host has had the same done:
 * what is a link to the file there is mounted inside as the file, under that name. */
#pragma once

struct cdi_device;

/* Adds mounts for the links that are there; never more than CDI_MOUNTS_MAX in all. */
void cdi_links_add(struct cdi_device *device);
