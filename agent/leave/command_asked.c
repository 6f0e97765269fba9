/* command_asked.c - what others ask of commands; see command.h. */
#include "agent/store/intents.h"
#include "agent/store/store.h"
#include "command.h"
#include "command_int.h"

/* A command still has nodes to delete for which it came. */
static bool stands_in(const struct commands *all, const struct nodeclaim *nc)
{
    const struct replacement *r = all ? map_get(all->incoming, nc->m.name) : NULL;
    return r && !r->c->undone;
}

bool command_expected(struct runtime *rt, const struct node *n, const struct nodeclaim *nc)
{
    if (nc && stands_in(rt->commands, nc)) {
        return true;
    }
    return store_nominated(rt->store, n, nc) || (n && intents_expected(rt->intents, n->m.name)) ||
           (nc && intents_expected(rt->intents, nc->m.name));
}

bool commands_has(const struct commands *c, const char *claim)
{
    return map_has(c->claims, claim);
}

bool command_holds_pods(const struct commands *all, const char *node)
{
    const struct member *m = map_get(all->by_node, node);
    return m && m->c->stage < COMMAND_WAITING;
}

bool commands_opening(const struct commands *all)
{
    for (const struct command *c = all->first; c; c = c->next) {
        if (!c->independent && c->stage < COMMAND_WAITING) {
            return true;
        }
    }
    return false;
}
