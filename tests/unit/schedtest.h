/*
 * schedtest.h - what the suites of one scheduling pass share: a result, a requirement and a reason
 * as text, and EC2's real catalog with its prices. Texts live in the fixture's arena.
 */
#ifndef KARP_TESTS_SCHEDTEST_H
#define KARP_TESTS_SCHEDTEST_H

#include "fixture.h"
#include "unit.h"

#include "common/core/ec2/ec2type.h"

/* One line per claim and placement, refusals behind: what two runs must agree on. */
static inline const char *summary(struct fix *f, const struct sched_result *r)
{
    struct buf out;
    buf_init(&out, 1 << 24);
    for (uint32_t i = 0; i < r->n_existing; i++) {
        buf_printf(&out, "%s>%s\n", r->existing[i].pod->m.name, r->existing[i].node->name);
    }
    for (uint32_t i = 0; i < r->n_claims; i++) {
        const struct sched_claim *c = &r->claims[i];
        buf_printf(&out, "claim %s %s types %u cpu %lld price %lld ds %lld:", c->pool->np->m.name,
                   fix_type_name(f, c, 0), c->n_types, (long long)c->requests.v[RES_CPU],
                   (long long)c->price_pusd_h, (long long)c->daemon_overhead.v[RES_CPU]);
        for (uint32_t p = 0; p < c->n_pods; p++) {
            buf_printf(&out, " %s", c->pods[p]->m.name);
        }
        for (uint32_t k = 0; k < c->reqs.n; k++) {
            buf_puts(&out, "; ");
            req_fmt(f->syms, &c->reqs.v[k], 99, &out);
        }
        buf_putc(&out, '\n');
    }
    for (uint32_t i = 0; i < r->n_refused; i++) {
        buf_printf(&out, "no %s:", r->refused[i].pod->m.name);
        for (uint32_t p = 0; p < r->refused[i].n_pools; p++) {
            buf_printf(&out, " %s=", r->refused[i].pools[p].pool->np->m.name);
            reason_fmt(f->syms, &r->refused[i].pools[p].reason, &out);
        }
        buf_putc(&out, '\n');
    }
    const char *ret = arena_strdup(&f->a, out.p);
    buf_done(&out);
    return ret;
}

static inline const char *req_text(struct fix *f, const struct reqset *s, sym key)
{
    struct buf out;
    const struct req *r = reqset_get(s, key);
    buf_init(&out, 1 << 16);
    if (r != NULL) {
        req_fmt(f->syms, r, 99, &out);
    }
    const char *ret = arena_strdup(&f->a, out.p);
    buf_done(&out);
    return ret;
}

static inline const char *reason_text(struct fix *f, const struct reason *r)
{
    struct buf out;
    buf_init(&out, 1 << 16);
    reason_fmt(f->syms, r, &out);
    const char *ret = arena_strdup(&f->a, out.p);
    buf_done(&out);
    return ret;
}

/* To be freed with what *ret points to. */
static inline struct catalog *real_catalog(struct fix *f, struct offerings **ret)
{
    struct ec2_class cls;
    ec2_class_default(&cls);
    sym zones[8];
    uint32_t n = 0;
    const char *const *names = ec2_builtin_zones("us-east-1");
    for (; names[n] != NULL && n < 8; n++) {
        zones[n] = fix_sym(f, names[n]);
    }
    const sym ids[8] = {SYM_NONE};
    struct ec2_catalog_in in = {
        .syms = f->syms, .region = "us-east-1", .cls = &cls, .zones = {zones, ids, n}};
    struct err err = ERR_INIT;
    struct catalog *c = ec2_catalog(&f->a, &in, &err);
    ck_assert_msg(c != NULL, "%s", err.msg);
    struct offerings *o = offerings_new(c);
    for (uint32_t t = 0; t < catalog_n_types(c); t++) {
        const char *name = sym_str(f->syms, catalog_type_name(c, t));
        int64_t price = ec2_builtin_price(name);
        uint64_t offered = ec2_builtin_offered("us-east-1", name);
        for (uint32_t z = 0; z < n && price != PRICE_UNKNOWN; z++) {
            if (offered >> z & 1) {
                offerings_set_price(o, t, z, CT_ON_DEMAND, price);
                offerings_set_price(o, t, z, CT_SPOT, price / 5 * 2);
            }
        }
    }
    *ret = o;
    return c;
}

#endif
