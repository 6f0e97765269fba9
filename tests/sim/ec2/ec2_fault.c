/* ec2_fault.c - which calls meet trouble. */
#include "ec2_priv.h"

static void rule_del(struct simec2 *e, size_t i)
{
    free(e->rules[i].action);
    e->n_rules--;
    memmove(e->rules + i, e->rules + i + 1, (e->n_rules - i) * sizeof(struct simec2_rule));
}

static const char *throttled_code(const char *service)
{
    return str_eq(service, "ec2")                             ? "RequestLimitExceeded"
           : str_eq(service, "iam") || str_eq(service, "sts") ? "Throttling"
           : str_eq(service, "sqs")                           ? "com.amazonaws.sqs#RequestThrottled"
                                                              : "ThrottlingException";
}

static struct simec2_fault use_rule(struct simec2 *e, size_t i, const char *service)
{
    struct simec2_fault f = e->rules[i].fault;
    if (f.kind == SIMEC2_ERROR && !f.code[0]) {
        str_copy(f.code, sizeof(f.code), throttled_code(service));
    }
    if (e->rules[i].times > 0 && --e->rules[i].times == 0) {
        rule_del(e, i);
    }
    return f;
}

struct simec2_fault simec2_fault_for(struct simec2 *e, const char *service, const char *action)
{
    struct simec2_fault f = {0};
    char name[96];
    if (e->hooks.fault) {
        e->hooks.fault(e->hooks.ctx, service, action, &f);
    }
    snprintf(name, sizeof(name), "%.20s:%.70s", service, action);
    for (size_t i = 0; i < e->n_rules && f.kind == SIMEC2_NO_FAULT;) {
        if (e->rules[i].until_ns <= simec2_mono(e)) {
            rule_del(e, i);
        } else if (str_glob(e->rules[i].action, name)) {
            f = use_rule(e, i, service);
        } else {
            i++;
        }
    }
    return f;
}
