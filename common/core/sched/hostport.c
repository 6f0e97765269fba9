/* hostport.c - see hostport.h. */
#include "hostport.h"

#include "common/base/str.h"

static bool any_address(const char *ip)
{
    return ip == NULL || ip[0] == '\0' || str_eq(ip, "0.0.0.0") || str_eq(ip, "::");
}

static bool hostport_conflict(const struct host_port *x, const struct host_port *y)
{
    if (x->port != y->port || x->protocol != y->protocol) {
        return false;
    }
    return any_address(x->ip) || any_address(y->ip) || str_eq(x->ip, y->ip);
}

const struct host_port *hostports_clash(const struct host_port *x, uint32_t n_x,
                                        const struct host_port *y, uint32_t n_y)
{
    for (uint32_t i = 0; i < n_x; i++) {
        for (uint32_t j = 0; j < n_y; j++) {
            if (hostport_conflict(&x[i], &y[j])) {
                return &x[i];
            }
        }
    }
    return NULL;
}

const char *hostport_text(struct arena *a, const struct host_port *p)
{
    static const char *const names[] = {"TCP", "UDP", "SCTP"};
    return arena_printf(a, "%u/%s", (unsigned)p->port,
                        p->protocol < ARRAY_LEN(names) ? names[p->protocol] : "?");
}
