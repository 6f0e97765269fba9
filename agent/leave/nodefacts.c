/* nodefacts.c - see nodefacts.h. */
#include "nodefacts.h"

#include "agent/claim/launchlog.h"
#include "command.h"
#include "holds.h"
#include "spared.h"

bool nodefacts_nominated(void *rt, const struct snapshot_node *n, const char **ret_pod UNUSED)
{
    return command_expected(rt, n->node, n->claim);
}

bool nodefacts_in_command(void *rt, const struct snapshot_node *n)
{
    const struct runtime *r = rt;
    return n->claim && commands_has(r->commands, n->claim->m.name);
}

bool nodefacts_launches_failing(void *rt, const struct snapshot_pool *p)
{
    const struct runtime *r = rt;
    return launchlog_failing(r->launches, p->np->m.name);
}

const char *nodefacts_held(void *rt, const struct snapshot_node *n)
{
    return hold_stops_node(rt, n);
}

int64_t nodefacts_let_go_until(void *rt, const struct snapshot_node *n,
                               enum disruption_reason reason)
{
    const struct runtime *r = rt;
    return n->claim ? spared_until(r->spared, n->claim, reason) : 0;
}
