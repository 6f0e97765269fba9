/* test_store_known.c - what the store says that it knows: Holds, requests and grants; lists made
 * anew. */
#include "storerig.h"

/* A server that does not know the kind has no Holds, and that is no trouble; one that does not say
 * what there are holds everything. */
static const struct holds_row {
    int http;
    enum err_kind why;
    bool known;
} holds_rows[] = {
    {404, ERR_NOT_FOUND, true},
    {403, ERR_FORBIDDEN, false},
    {503, ERR_UNAVAILABLE, false},
};

START_TEST(holds_known)
{
    struct rig r = rig_new();
    struct err why = ERR_INIT;
    store_start(r.s);
    fake_run(r.f, 0);
    for (int i = 0; i < STORE_KINDS; i++) {
        if (i != STORE_HOLD) {
            give_list(&r, (enum store_kind)i, "100", json_array());
        }
    }
    ck_assert(!store_holds_known(r.s));
    fake_answer(list_call(&r, STORE_HOLD), holds_rows[_i].http, holds_rows[_i].why, NULL);
    fake_run(r.f, 0);
    ck_assert(store_holds_known(r.s) == holds_rows[_i].known);
    ck_assert(!store_trouble(r.s, &why) == holds_rows[_i].known);
    fake_run(r.f, NS_PER_MIN);
    give_list(&r, STORE_HOLD, "100", json_array());
    ck_assert(store_holds_known(r.s));
    rig_free(&r);
}
END_TEST

/* Requests and grants count only where they are known; that the server has no such kind is no
 * trouble, and approves nothing either. */
static const struct consent_row {
    enum store_kind kind;
    int http;
    enum err_kind why;
    bool trouble;
} consent_rows[] = {
    {STORE_DREQ, 404, ERR_NOT_FOUND, false},  {STORE_DREQ, 403, ERR_FORBIDDEN, true},
    {STORE_DREQ, 503, ERR_UNAVAILABLE, true}, {STORE_DGRANT, 404, ERR_NOT_FOUND, false},
    {STORE_DGRANT, 403, ERR_FORBIDDEN, true}, {STORE_DGRANT, 503, ERR_UNAVAILABLE, true},
};

static bool consent_known(const struct rig *r, enum store_kind kind)
{
    return kind == STORE_DREQ ? store_requests_known(r->s) : store_grants_known(r->s);
}

START_TEST(consent_is_known)
{
    const struct consent_row *row = &consent_rows[_i];
    struct rig r = rig_new();
    struct err why = ERR_INIT;
    store_start(r.s);
    fake_run(r.f, 0);
    for (int i = 0; i < STORE_KINDS; i++) {
        if (i != (int)row->kind) {
            give_list(&r, (enum store_kind)i, "100", json_array());
        }
    }
    fake_answer(list_call(&r, row->kind), row->http, row->why, NULL);
    fake_run(r.f, 0);
    ck_assert(!consent_known(&r, row->kind));
    ck_assert(!store_trouble(r.s, &why) == !row->trouble);
    for (int i = 0; i < 60 && !fake_find(r.f, "GET", store_paths[row->kind]); i++) {
        fake_run(r.f, NS_PER_S);
    }
    give_list(&r, row->kind, "100", json_array());
    ck_assert(consent_known(&r, row->kind));
    for (int i = 0; i < 200; i++) { /* nothing is heard of them for long */
        fake_run(r.f, NS_PER_S);
        if (fake_find(r.f, "WATCH", store_paths[row->kind])) {
            break_watch(&r, row->kind, row->why);
        } else if (fake_find(r.f, "GET", store_paths[row->kind])) {
            fake_answer(list_call(&r, row->kind), row->http, row->why, NULL);
        }
    }
    ck_assert(!consent_known(&r, row->kind));
    rig_free(&r);
}
END_TEST

/* More than are kept: not known, until what has gone made room and a list shows them all. */
static json_t *requests(int n)
{
    json_t *items = json_array();
    for (int i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof(name), "dr-%05d", i);
        json_array_append_new(items, json_pack("{s:s, s:{s:s, s:s, s:s}}", "kind",
                                               "DisruptionRequest", "metadata", "name", name, "uid",
                                               name, "resourceVersion", "9"));
    }
    return items;
}

START_TEST(too_many_requests)
{
    struct rig r = rig_new();
    sync(&r, NULL, NULL, NULL);
    ck_assert(store_requests_known(r.s));
    json_t *all = requests(STORE_MAX_CONSENT + 2), *o;
    size_t i;
    json_array_foreach (all, i, o) {
        event(&r, STORE_DREQ, KUBE_ADDED, json_deep_copy(o));
        ck_assert(store_requests_known(r.s) == (i < STORE_MAX_CONSENT));
    }
    for (int left = STORE_MAX_CONSENT + 1; left >= STORE_MAX_CONSENT; left--) {
        event(&r, STORE_DREQ, KUBE_DELETED, json_deep_copy(json_array_get(all, 0)));
        json_array_remove(all, 0);
        fake_run(r.f, 11 * NS_PER_S);
        ck_assert(!store_requests_known(r.s));
        give_list(&r, STORE_DREQ, "101", json_deep_copy(all));
        fake_run(r.f, 0);
        ck_assert_uint_eq(map_count(store_all(r.s, STORE_DREQ)), STORE_MAX_CONSENT);
        ck_assert(store_requests_known(r.s) == (left == STORE_MAX_CONSENT));
    }
    json_decref(all);
    rig_free(&r);
}
END_TEST

/* The watch breaks for long: what was known goes with the kind, stays without a word. */
START_TEST(holds_lost)
{
    struct rig r = rig_new();
    sync(&r, NULL, NULL, NULL);
    event(&r, STORE_HOLD, KUBE_ADDED,
          json_pack("{s:{s:s, s:s}, s:{s:{s:s}}}", "metadata", "name", "h", "resourceVersion",
                    "101", "spec", "target", "kind", "Cluster"));
    bool gone = holds_rows[_i].known;
    for (int i = 0; i < 300; i++) {
        fake_run(r.f, NS_PER_S);
        if (fake_find(r.f, "WATCH", store_paths[STORE_HOLD])) {
            break_watch(&r, STORE_HOLD, holds_rows[_i].why);
        } else if (fake_find(r.f, "GET", store_paths[STORE_HOLD])) {
            fake_answer(list_call(&r, STORE_HOLD), holds_rows[_i].http, holds_rows[_i].why, NULL);
        }
        ck_assert(i > 30 || store_holds_known(r.s));
        ck_assert(i > 30 || map_count(store_all(r.s, STORE_HOLD)) == 1);
    }
    ck_assert(store_holds_known(r.s) == gone);
    ck_assert_uint_eq(map_count(store_all(r.s, STORE_HOLD)), gone ? 0 : 1);
    rig_free(&r);
}
END_TEST

/* What is known stays, and nothing is synced before the list has told what the watch has not. */
START_TEST(refresh)
{
    struct rig r = rig_new();
    sync(&r, NULL, NULL, json_pack("[o, o]", claim("a", 50, "p-a"), claim("b", 60, "p-b")));
    store_subscribe(r.s, STORE_CLAIM, on_change, &r);
    store_refresh(r.s, STORE_CLAIM);
    fake_run(r.f, 0);
    ck_assert(!store_synced(r.s) && !store_listed(r.s, STORE_CLAIM));
    ck_assert(store_claim(r.s, "a") != NULL);
    give_list(&r, STORE_CLAIM, "120",
              json_pack("[o, o]", claim("b", 60, "p-b"), claim("c", 110, "p-c")));
    fake_run(r.f, 0);
    ck_assert(store_synced(r.s));
    ck_assert_str_eq(r.changes, "+c -a ");
    event(&r, STORE_CLAIM, KUBE_MODIFIED, claim("c", 130, "p-c"));
    ck_assert_str_eq(r.changes, "+c -a ~c ");
    rig_free(&r);
}
END_TEST

UNIT_MAIN("store_known", UNIT_CASES(holds_known, holds_rows),
          UNIT_CASES(consent_is_known, consent_rows), UNIT_CASES(holds_lost, holds_rows),
          UNIT_TEST(too_many_requests), UNIT_TEST(refresh))
