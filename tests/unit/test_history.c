/* test_history.c - more claims that go at once than there is room for entries (history/history.h)
 */
#include "agent/history/history.h"
#include "agent/history/ledger.h"
#include "cloudrig.h"

#define MORE (HISTORY_NOTES_MAX + 3)

struct leavers {
    struct rig r;
    struct history *h;
    struct queue *q;
    size_t looked;
};

static enum queue_verdict look(void *ctx, const char *key)
{
    struct leavers *l = ctx;
    (void)key;
    l->looked++;
    return QUEUE_OK;
}

static void observe(struct leavers *l, uint32_t i)
{
    char name[16];
    snprintf(name, sizeof(name), "c%u", (unsigned)i);
    json_t *o = rig_claim("{\"status\":{\"providerID\":\"aws:///us-west-2a/i-1\"}}");
    jsonx_set_new(o, "metadata.name", json_string(name));
    jsonx_set_new(o, "metadata.uid", json_string(name));
    jsonx_set_new(o, "metadata.resourceVersion", json_string("1"));
    store_observe(l->r.rt->store, o);
    json_decref(o);
}

/* How many of all claims may go. */
static uint32_t kept(struct leavers *l)
{
    uint32_t n = 0;
    for (MAP_EACH(store_all(l->r.rt->store, STORE_CLAIM), e)) {
        n += history_kept(l->h, map_value(e), l->q, map_key(e));
    }
    return n;
}

static void begin(struct leavers *l)
{
    rig_init(&l->r);
    l->r.f->opt.ns = "karp";
    l->h = history_new(l->r.rt);
    l->q = queue_new(l->r.rt, "test", STORE_CLAIM, NS_PER_S, NS_PER_S, look, l);
    for (uint32_t i = 0; i < MORE; i++) {
        observe(l, i);
    }
    ck_assert_uint_eq(kept(l), 0);
}

static void end(struct leavers *l)
{
    queue_free(l->q);
    history_free(l->h);
    rig_done(&l->r);
}

/* The next request for the ConfigMap; NULL if there is none. */
static struct fake_call *asked(struct leavers *l, const char *method)
{
    fake_run(l->r.f, HISTORY_BACKOFF_NS);
    return fake_find(l->r.f, method, "/api/v1/namespaces/karp/configmaps");
}

/* Takes what is written; how many entries that is. */
static size_t take(struct leavers *l, const char *method, const char *rv)
{
    struct fake_call *c = asked(l, method);
    ck_assert_msg(c != NULL, "no %s", method);
    json_t *body = json_deep_copy(c->body);
    struct err err = ERR_INIT;
    AUTO_JSON json_t *ledger =
        ledger_read(json_string_value(json_object_get(jsonx_obj(body, "data"), HISTORY_KEY)), &err);
    size_t n = json_array_size(ledger);
    jsonx_set_new(body, "metadata.resourceVersion", json_string(rv));
    fake_answer(c, 200, ERR_NONE, body);
    return n;
}

/* Whoever found no room waits until there is. */
START_TEST(all_are_written)
{
    struct leavers l;
    begin(&l);
    fake_answer(asked(&l, "GET"), 404, ERR_NOT_FOUND, NULL);
    ck_assert_uint_eq(kept(&l), 0);
    ck_assert_uint_eq(take(&l, "POST", "1"), HISTORY_NOTES_MAX);
    ck_assert_uint_eq(kept(&l), HISTORY_NOTES_MAX);
    ck_assert_uint_eq(take(&l, "PATCH", "2"), MORE);
    ck_assert_uint_eq(kept(&l), MORE);
    end(&l);
}
END_TEST

/* But not for ever: nodes are not kept for the sake of history. */
START_TEST(patience)
{
    struct leavers l;
    begin(&l);
    for (int64_t at_ns = HISTORY_BACKOFF_NS; at_ns < HISTORY_PATIENCE_NS;
         at_ns += HISTORY_BACKOFF_NS) {
        struct fake_call *c = asked(&l, "GET");
        if (c) {
            fake_answer(c, 503, ERR_UNAVAILABLE, NULL);
        }
        ck_assert_uint_eq(kept(&l), 0);
    }
    ck_assert_uint_ge(l.looked, 3);
    fake_run(l.r.f, HISTORY_BACKOFF_NS);
    ck_assert_uint_eq(kept(&l), MORE);
    end(&l);
}
END_TEST

UNIT_MAIN("history", UNIT_TEST(all_are_written), UNIT_TEST(patience))
