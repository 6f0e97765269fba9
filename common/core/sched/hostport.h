/*
 * hostport.h - when two host ports cannot be had on one node.
 */
#ifndef KARP_CORE_HOSTPORT_H
#define KARP_CORE_HOSTPORT_H

#include "common/core/model.h"

/* The first of x that clashes with any of y, or NULL: same port and protocol, and the same address
 * or one of them is every address ("", 0.0.0.0, ::). */
const struct host_port *hostports_clash(const struct host_port *x, uint32_t n_x,
                                        const struct host_port *y, uint32_t n_y);
/* "8080/TCP" in the arena. */
const char *hostport_text(struct arena *a, const struct host_port *p);

#endif
