/* cond.c - see cond.h. */
#include "cond.h"

#include "common/base/buf.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

static const char *status_text(enum status s)
{
    return s == STATUS_TRUE ? "True" : s == STATUS_FALSE ? "False" : "Unknown";
}

void cond_begin(struct cond_edit *e, const struct conditions *have, const struct meta *m,
                int64_t now_ns)
{
    *e = (struct cond_edit){.now_ns = now_ns, .generation = m->generation};
    for (uint32_t i = 0; i < have->n && e->n < COND_MAX; i++) {
        const struct condition *c = &have->v[i];
        e->v[e->n++] = (struct cond_item){.type = c->type,
                                          .reason = c->reason,
                                          .message = c->message,
                                          .status = c->status,
                                          .transition_ns = c->transition_ns,
                                          .observed_generation = c->observed_generation};
    }
}

static struct cond_item *find(struct cond_edit *e, const char *type)
{
    for (uint32_t i = 0; i < e->n; i++) {
        if (str_eq(e->v[i].type, type)) {
            return &e->v[i];
        }
    }
    return NULL;
}

static struct cond_item *find_or_add(struct cond_edit *e, const char *type)
{
    struct cond_item *it = find(e, type);
    if (it || e->n == COND_MAX) {
        return it;
    }
    it = &e->v[e->n++];
    *it = (struct cond_item){.type = type, .reason = "", .message = "", .status = STATUS_ABSENT};
    return it;
}

void cond_set(struct cond_edit *e, const char *type, enum status status, const char *reason,
              const char *message)
{
    struct cond_item *it = find_or_add(e, type);
    if (!it) {
        return;
    }
    reason = reason ? reason : type;
    message = message ? message : "";
    bool same = it->status == status && str_eq(it->reason, reason) &&
                str_eq(it->message, message) && it->observed_generation == e->generation;
    if (same) {
        return;
    }
    if (it->status != status) {
        it->transition_ns = e->now_ns;
    }
    it->status = status;
    it->reason = reason;
    it->message = message;
    it->observed_generation = e->generation;
    e->changed = true;
}

void cond_clear(struct cond_edit *e, const char *type)
{
    struct cond_item *it = find(e, type);
    if (it) {
        size_t after = (size_t)(&e->v[e->n] - (it + 1));
        memmove(it, it + 1, after * sizeof(*it));
        e->n--;
        e->changed = true;
    }
}

static void await(struct cond_edit *e, const char *type, int64_t created_ns)
{
    if (find(e, type)) {
        return;
    }
    cond_set(e, type, STATUS_UNKNOWN, "AwaitingReconciliation",
             "object is awaiting reconciliation");
    struct cond_item *it = find(e, type);
    if (it) {
        it->transition_ns = created_ns ? created_ns : e->now_ns;
    }
}

static void put_text(char *dst, size_t *n, const char *type, const char *status)
{
    int w = snprintf(dst + *n, COND_ROOT_MESSAGE - *n, "%s%s=%s", *n ? ", " : "", type, status);
    *n = w < 0 || *n + (size_t)w >= COND_ROOT_MESSAGE ? COND_ROOT_MESSAGE - 1 : *n + (size_t)w;
}

void cond_root(struct cond_edit *e, const char *const *dependents, int64_t created_ns,
               char message_out[COND_ROOT_MESSAGE])
{
    size_t n = 0;
    bool any_false = false;
    message_out[0] = '\0';
    for (size_t i = 0; dependents[i]; i++) {
        await(e, dependents[i], created_ns);
        const struct cond_item *it = find(e, dependents[i]);
        if (it && it->status != STATUS_TRUE) {
            any_false |= it->status == STATUS_FALSE;
            put_text(message_out, &n, it->type, status_text(it->status));
        }
    }
    if (n == 0) {
        cond_set(e, "Ready", STATUS_TRUE, NULL, NULL);
    } else if (any_false) {
        cond_set(e, "Ready", STATUS_FALSE, "UnhealthyDependents", message_out);
    } else {
        cond_set(e, "Ready", STATUS_UNKNOWN, "ReconcilingDependents", message_out);
    }
}

json_t *cond_json(const struct cond_edit *e)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < e->n; i++) {
        const struct cond_item *it = &e->v[i];
        char at[TIMEFMT_TEXT];
        json_t *c = json_pack("{s:s, s:s, s:s, s:s, s:s}", "type", it->type, "status",
                              status_text(it->status), "reason", it->reason ? it->reason : "",
                              "message", it->message ? it->message : "", "lastTransitionTime",
                              timefmt_rfc3339(it->transition_ns, at));
        if (c && it->observed_generation) {
            json_object_set_new(c, "observedGeneration", json_integer(it->observed_generation));
        }
        if (c) {
            json_array_append_new(list, c);
        }
    }
    return list;
}

int64_t cond_since(const struct conditions *c, const char *type, int64_t fallback_ns)
{
    const struct condition *it = condition_find(c, type);
    return it && it->transition_ns ? it->transition_ns : fallback_ns;
}
