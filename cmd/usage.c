/* usage.c - see usage.h. */
#include "usage.h"

#include "common/base/map.h"

static void count(struct arena *a, struct node_usage *u, const struct pod *p, int64_t now_ns)
{
    bool daemon = p->owner == POWNER_DAEMONSET;
    u->requested = resources_add(a, &u->requested, &p->cls->requests, 1);
    if (daemon) {
        u->daemon_requested = resources_add(a, &u->daemon_requested, &p->cls->requests, 1);
    }
    u->pods += !daemon && p->owner != POWNER_NODE;
    u->reschedulable += pod_reschedulable(p);
    u->do_not_disrupt += pod_active(p) && pod_do_not_disrupt(p, now_ns);
    u->waiting_evict += p->m.deleted_ns != 0;
    u->n_host_ports += p->cls->n_host_ports;
}

static bool is_bound(const struct pod *p)
{
    return p->node_name[0] != '\0' && !pod_terminal(p);
}

/* Second pass: the ports, now that their number is known. */
static void put_ports(struct arena *a, struct node_usage *u, const struct pod *p)
{
    if (p->cls->n_host_ports == 0) {
        return;
    }
    if (!u->host_ports) {
        u->host_ports = ARENA_NEW_N(a, struct host_port, u->n_host_ports);
        u->n_host_ports = 0;
    }
    struct host_port *ports = (struct host_port *)(uintptr_t)u->host_ports;
    memcpy(ports + u->n_host_ports, p->cls->host_ports, p->cls->n_host_ports * sizeof(*ports));
    u->n_host_ports += p->cls->n_host_ports;
}

const struct node_usage *const *usage_build(const struct world *w, struct arena *a)
{
    size_t n_nodes = world_n(w, KIND_NODE), n_pods = world_n(w, KIND_POD);
    struct node_usage **v = ARENA_NEW_N(a, struct node_usage *, n_nodes);
    struct map *by_name = map_new(n_nodes + 1);
    for (size_t i = 0; i < n_nodes; i++) {
        const struct node *n = world_at(w, KIND_NODE, i);
        (void)map_put(by_name, n->m.name, &v[i], NULL);
    }
    bool ports = false;
    for (int pass = 0; pass < 1 + ports; pass++) {
        for (size_t i = 0; i < n_pods; i++) {
            const struct pod *p = world_at(w, KIND_POD, i);
            struct node_usage **slot = is_bound(p) ? map_get(by_name, p->node_name) : NULL;
            if (!slot) {
                continue;
            }
            if (!*slot) {
                *slot = ARENA_NEW(a, struct node_usage);
                (*slot)->node_name = p->node_name;
            }
            if (pass == 0) {
                count(a, *slot, p, w->now_ns);
                ports = ports || p->cls->n_host_ports > 0;
            } else {
                put_ports(a, *slot, p);
            }
        }
    }
    map_free(by_name);
    return (const struct node_usage *const *)v;
}
