/* decode_hold.c - Holds. */
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/consent/hold.h"
#include "decode_priv.h"

#define CHUNK 512u

/* Everything, where it does not name what it is about. */
static void read_target(struct hold *h, const json_t *spec)
{
    const char *kind = jsonx_str_or(spec, "target.kind", "");
    const char *name = jsonx_str_or(spec, "target.name", "");
    static const enum hold_target all[] = {HOLD_CLUSTER, HOLD_POOL, HOLD_NODE, HOLD_CLAIM};
    h->target = HOLD_CLUSTER;
    h->name = "";
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (!str_eq(kind, hold_target_name(all[i]))) {
            continue;
        }
        if (all[i] != HOLD_CLUSTER && !*name) {
            h->problem = "spec.target.name is not said";
            return;
        }
        h->target = all[i];
        h->name = all[i] == HOLD_CLUSTER ? "" : arena_strdup(&h->mem, name);
        return;
    }
    h->problem = "spec.target.kind is none of Cluster, NodePool, Node and NodeClaim";
}

static void read_scope(struct hold *h, const json_t *spec)
{
    const json_t *v = json_object_get(spec, "scope");
    h->all = str_eq(json_string_value(v), "All");
    if (v && !h->all && !str_eq(json_string_value(v), "Disruption")) {
        h->problem = "spec.scope is neither Disruption nor All";
    }
}

static void read_until(struct hold *h, const json_t *spec)
{
    const json_t *v = json_object_get(spec, "until");
    const char *text = json_string_value(v);
    h->until_ns = HOLD_WITHOUT_END;
    if (v && !json_is_null(v) && (!text || !timefmt_parse_rfc3339(text, &h->until_ns))) {
        h->until_ns = HOLD_WITHOUT_END;
        h->problem = "spec.until is not a time";
    }
}

static int read_hold(struct decoder *d, struct hold *h, const json_t *o, struct err *reterr)
{
    const json_t *spec = json_object_get(o, "spec");
    if (decode_meta(d, &h->mem, o, META_POD_ANNOTATIONS, &h->m, reterr)) {
        return -1;
    }
    read_target(h, spec);
    read_scope(h, spec);
    read_until(h, spec);
    h->reason = decode_str(&h->mem, spec, "reason");
    h->by = decode_str(&h->mem, spec, "by");
    h->text = hold_describe(&h->mem, h, NULL);
    return 0;
}

struct hold *decode_hold(struct decoder *d, const json_t *o, struct err *reterr)
{
    struct hold *h = NEW(struct hold);
    arena_init(&h->mem, CHUNK, DECODE_OBJECT_MAX);
    if (read_hold(d, h, o, reterr) || decode_check_size(&h->mem, reterr)) {
        decode_hold_free(h);
        return NULL;
    }
    return h;
}

void decode_hold_free(struct hold *h)
{
    if (h) {
        arena_done(&h->mem);
        free(h);
    }
}
