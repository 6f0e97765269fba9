/*
 * ec2_event.c - what EventBridge puts into the queue about instances: every change
 * of state, rebalance recommendations, interruption warnings.
 */
#include "ec2_priv.h"

#define NOTICE_NS (2 * NS_PER_MIN)

/* False: the queue did not take it. */
static bool send(const struct simec2_inst *x, const char *detail_type, json_t *detail)
{
    struct simec2 *e = x->e;
    char id[48], now[TIMEFMT_TEXT];
    snprintf(id, sizeof(id), "00000000-0000-4000-a000-%012llx", (unsigned long long)++e->ids);
    timefmt_rfc3339(simec2_wall(e), now);
    AUTO_FREE char *arn =
        xasprintf("arn:aws:ec2:%s:%s:instance/%s", e->opts.region, e->opts.account, x->pub.id);
    AUTO_JSON json_t *event =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:[s], s:o}", "version", "0", "id", id,
                  "detail-type", detail_type, "source", "aws.ec2", "account", e->opts.account,
                  "time", now, "region", e->opts.region, "resources", arn, "detail", detail);
    AUTO_FREE char *text = jsonx_dump(event);
    return simec2_queue_send(e, text);
}

void simec2_event_state(const struct simec2_inst *x)
{
    send(x, "EC2 Instance State-change Notification",
         json_pack("{s:s, s:s}", "instance-id", x->pub.id, "state",
                   simec2_state_name(x->pub.state)));
}

void simec2_event_rebalance(const struct simec2_inst *x)
{
    send(x, "EC2 Instance Rebalance Recommendation", json_pack("{s:s}", "instance-id", x->pub.id));
}

static void on_reclaim(void *arg)
{
    simec2_terminate(arg, "Server.SpotInstanceTermination",
                     "Server.SpotInstanceTermination: Spot instance termination");
}

void simec2_interrupt(struct simec2_inst *x)
{
    if (send(x, "EC2 Spot Instance Interruption Warning",
             json_pack("{s:s, s:s}", "instance-id", x->pub.id, "instance-action", "terminate"))) {
        struct simec2_message *m = &x->e->messages[x->e->n_messages - 1];
        str_copy(m->warns, sizeof(m->warns), x->pub.id);
    }
    simec2_note(x->e, "interruption warning for %s %s (%s)", x->pub.id, x->pub.type,
                x->pub.node_name);
    timer_set(x->e->timers, &x->reclaim, simec2_mono(x->e) + NOTICE_NS, on_reclaim, x);
}
