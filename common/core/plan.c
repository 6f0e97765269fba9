/* plan.c - see plan.h. */
#include "plan.h"

#include "common/base/sort.h"
#include "common/base/str.h"
#include "common/core/consent/approval.h"
#include "labels.h"

/* ---- canonical JSON ----------------------------------------------------------------------------
 */

static void put_string(struct buf *b, const char *s)
{
    buf_putc(b, '"');
    for (; *s != '\0'; s++) {
        unsigned char ch = (unsigned char)*s;
        static const char names[] = {[8] = 'b', [9] = 't', [10] = 'n', [12] = 'f', [13] = 'r'};
        if (ch == '"' || ch == '\\') {
            buf_printf(b, "\\%c", ch);
        } else if (ch < sizeof(names) && names[ch] != '\0') {
            buf_printf(b, "\\%c", names[ch]);
        } else if (ch < 0x20) {
            buf_printf(b, "\\u%04x", ch);
        } else {
            buf_putc(b, (char)ch);
        }
    }
    buf_putc(b, '"');
}

static void put_field(struct buf *b, bool first, const char *key, const char *value)
{
    buf_printf(b, "%s\"%s\":", first ? "" : ",", key);
    put_string(b, value);
}

static void put_list(struct buf *b, const char *key, const char *const *v, uint32_t n)
{
    buf_printf(b, "\"%s\":[", key);
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0) {
            buf_putc(b, ',');
        }
        put_string(b, v[i]);
    }
    buf_putc(b, ']');
}

/* ---- pieces ------------------------------------------------------------------------------------
 */

static const char *label(const struct snapshot *s, const struct snapshot_node *n, sym key)
{
    const struct req *r = reqset_get(&n->labels, key);
    sym v = r != NULL ? req_single(r) : SYM_NONE;
    return v != SYM_NONE ? sym_str(s->syms, v) : "";
}

/* By string, as they are told. */
static uint32_t capacity_types(const struct snapshot *s, const struct step_in *in,
                               const char *ret[CT_COUNT])
{
    uint32_t n = 0;
    for (unsigned ct = 0; ct < CT_COUNT; ct++) {
        if (in->claim.offer.cts >> ct & 1) {
            ret[n++] = sym_str(s->syms, capacity_type_sym((enum capacity_type)ct));
        }
    }
    sort_items(ret, n, sizeof(*ret), str_qsort_cmp);
    return n;
}

static void put_node_in(const struct snapshot *s, const struct step_in *in, struct buf *b)
{
    const char *cts[CT_COUNT], *zones[CATALOG_MAX_ZONES];
    const char *types[PLAN_MAX_TYPES];
    uint32_t n_zones = 0, n_types = 0;
    const struct catalog *c = in->pool->catalog;
    for (uint32_t z = 0; z < catalog_n_zones(c); z++) {
        if (in->claim.offer.zones >> z & 1) {
            zones[n_zones++] = sym_str(s->syms, catalog_zone(c, z));
        }
    }
    for (uint32_t t = 0; t < in->claim.n_types && n_types < PLAN_MAX_TYPES; t++) {
        types[n_types++] = sym_str(s->syms, catalog_type_name(c, in->claim.types[t]));
    }
    buf_putc(b, '{');
    put_list(b, "capacityTypes", cts, capacity_types(s, in, cts));
    buf_putc(b, ',');
    put_list(b, "instanceTypes", types, n_types);
    put_field(b, false, "nodePool", in->pool->np->m.name);
    buf_putc(b, ',');
    put_list(b, "zones", zones, n_zones);
    buf_putc(b, '}');
}

static void put_node_out(const struct snapshot *s, const struct step_out *out, struct buf *b)
{
    const struct snapshot_node *n = out->node;
    buf_putc(b, '{');
    put_field(b, true, "capacityType", label(s, n, L_CAPACITY_TYPE));
    put_field(b, false, "instanceType", label(s, n, L_INSTANCE_TYPE));
    put_field(b, false, "node", n->name);
    put_field(b, false, "nodeClaim", n->claim->m.name);
    put_field(b, false, "nodePool", n->pool->np->m.name);
    buf_printf(b, ",\"podsMoved\":%u", (unsigned)out->pods_moved);
    put_field(b, false, "zone", label(s, n, L_ZONE));
    buf_putc(b, '}');
}

static void put_pod(struct buf *b, const struct pod *p)
{
    struct buf name;
    buf_init(&name, 1024);
    buf_printf(&name, "%s/%s", p->m.ns, p->m.name);
    put_string(b, name.p);
    buf_done(&name);
}

static void put_move(const struct step_move *m, struct buf *b)
{
    buf_putc(b, '{');
    put_field(b, true, "from", m->from->name);
    buf_puts(b, ",\"pod\":");
    put_pod(b, m->pod);
    if (m->to != NULL) {
        put_field(b, false, "to", m->to->name);
    } else {
        buf_printf(b, ",\"to\":\"new-%u\"", (unsigned)m->to_new);
    }
    buf_putc(b, '}');
}

static void put_action(const struct snapshot *s, const struct consolidate_step *st, struct buf *b)
{
    buf_puts(b, "{\"interruptsSingleReplicas\":[");
    for (uint32_t i = 0; i < st->n_singles; i++) {
        buf_puts(b, i > 0 ? "," : "");
        put_pod(b, st->singles[i]);
    }
    buf_puts(b, "],\"moves\":[");
    for (uint32_t i = 0; i < st->n_moves; i++) {
        buf_puts(b, i > 0 ? "," : "");
        put_move(&st->moves[i], b);
    }
    buf_puts(b, "],\"nodesIn\":[");
    for (uint32_t i = 0; i < st->n_in; i++) {
        buf_puts(b, i > 0 ? "," : "");
        put_node_in(s, &st->in[i], b);
    }
    buf_puts(b, "],\"nodesOut\":[");
    for (uint32_t i = 0; i < st->n_out; i++) {
        buf_puts(b, i > 0 ? "," : "");
        put_node_out(s, &st->out[i], b);
    }
    buf_putc(b, ']');
    put_field(b, false, "reason", approval_reason_name(st->reason));
    put_field(b, false, "type", consolidate_kind_name(st->kind));
    buf_putc(b, '}');
}

/* ---- digests -----------------------------------------------------------------------------------
 */

void plan_text(const struct snapshot *s, const struct consolidate_step *steps, uint32_t n,
               struct buf *out)
{
    buf_putc(out, '[');
    for (uint32_t i = 0; i < n; i++) {
        buf_puts(out, i > 0 ? "," : "");
        put_action(s, &steps[i], out);
    }
    buf_putc(out, ']');
}

static void digest(struct buf *b, char ret[SHA256_HEX])
{
    hash_sha256_hex(b->p, b->n, ret);
    buf_done(b);
}

void plan_digest(const struct snapshot *s, const struct consolidate_step *steps, uint32_t n,
                 char ret[SHA256_HEX])
{
    struct buf b;
    buf_init(&b, PLAN_MAX_TEXT);
    plan_text(s, steps, n, &b);
    digest(&b, ret);
}

static int cmp_out(const void *x, const void *y)
{
    const struct step_out *a = *(const struct step_out *const *)x;
    const struct step_out *b = *(const struct step_out *const *)y;
    return str_cmp(a->node->claim->m.name, b->node->claim->m.name);
}

void plan_step_digest(struct arena *a, const struct snapshot *s, const struct consolidate_step *st,
                      char ret[SHA256_HEX])
{
    struct buf b;
    const struct step_out **out = ARENA_NEW_N(a, const struct step_out *, st->n_out);
    buf_init(&b, PLAN_MAX_TEXT);
    for (uint32_t i = 0; i < st->n_out; i++) {
        out[i] = &st->out[i];
    }
    sort_items(out, st->n_out, sizeof(*out), cmp_out);
    buf_puts(&b, "{\"candidates\":[");
    for (uint32_t i = 0; i < st->n_out; i++) {
        buf_puts(&b, i > 0 ? ",{" : "{");
        put_field(&b, true, "name", out[i]->node->claim->m.name);
        put_field(&b, false, "uid", out[i]->node->claim->m.uid);
        buf_putc(&b, '}');
    }
    buf_puts(&b, "],\"replacements\":[");
    for (uint32_t i = 0; i < st->n_in; i++) {
        const char *cts[CT_COUNT];
        buf_puts(&b, i > 0 ? ",{" : "{");
        put_list(&b, "capacityTypes", cts, capacity_types(s, &st->in[i], cts));
        put_field(&b, false, "nodePool", st->in[i].pool->np->m.name);
        buf_putc(&b, '}');
    }
    buf_puts(&b, "]}");
    digest(&b, ret);
}
