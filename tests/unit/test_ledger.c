/* test_ledger.c - what is kept of the history (agent/history/ledger.h), and its reasons (why.h) */
#include "agent/history/ledger.h"
#include "agent/history/why.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "unit.h"

#define NOW_NS (INT64_C(1767600000) * NS_PER_S)

static json_t *entry(const char *uid, int64_t age_ns, size_t weight)
{
    char at[TIMEFMT_TEXT];
    char *filler = xcalloc(1, weight + 1);
    memset(filler, 'x', weight);
    json_t *o = json_pack("{s:s, s:s, s:s}", "time", timefmt_rfc3339(NOW_NS - age_ns, at), "uid",
                          uid, "message", filler);
    free(filler);
    return o;
}

static json_t *numbered(int i, int64_t age_ns, size_t weight)
{
    char uid[32];
    snprintf(uid, sizeof(uid), "uid-%d", i);
    return entry(uid, age_ns, weight);
}

/* What another process reads of it. */
static json_t *again(json_t *ledger)
{
    struct err e = ERR_INIT;
    char *text AUTO_FREE = ledger_text(ledger, NOW_NS);
    ck_assert_uint_le(strlen(text), LEDGER_BYTES_MAX);
    json_t *read = ledger_read(text, &e);
    ck_assert_int_eq(e.kind, ERR_NONE);
    return read;
}

START_TEST(one_each)
{
    AUTO_JSON json_t *l = ledger_read(NULL, NULL);
    ledger_add(l, entry("a", 2, 10));
    ledger_add(l, entry("b", 1, 10));
    ledger_add(l, entry("a", 0, 99));
    AUTO_JSON json_t *r = again(l);
    ck_assert(json_equal(l, r));
    ck_assert_uint_eq(json_array_size(r), 2);
    ck_assert(ledger_has(r, "a") && ledger_has(r, "b") && !ledger_has(r, "c"));
    ck_assert_uint_eq(strlen(jsonx_str(json_array_get(r, 0), "message")), 10);
}
END_TEST

START_TEST(old_ones_go)
{
    AUTO_JSON json_t *l = ledger_read(NULL, NULL);
    ledger_add(l, entry("old", LEDGER_AGE_NS + 1 * NS_PER_S, 10));
    ledger_add(l, entry("kept", LEDGER_AGE_NS, 10));
    ledger_add(l, json_pack("{s:s, s:s}", "uid", "odd", "time", "yesterday"));
    AUTO_JSON json_t *r = again(l);
    ck_assert_uint_eq(json_array_size(r), 1);
    ck_assert(ledger_has(r, "kept"));
}
END_TEST

START_TEST(newest_are_kept)
{
    AUTO_JSON json_t *l = ledger_read(NULL, NULL);
    for (int i = 0; i < (int)LEDGER_ENTRIES_MAX + 7; i++) {
        json_array_append_new(l, numbered(i, 0, 10));
    }
    AUTO_JSON json_t *r = again(l);
    ck_assert_uint_eq(json_array_size(r), LEDGER_ENTRIES_MAX);
    ck_assert(!ledger_has(r, "uid-6") && ledger_has(r, "uid-7"));
}
END_TEST

START_TEST(it_fits)
{
    AUTO_JSON json_t *l = ledger_read(NULL, NULL);
    for (int i = 0; i < 1000; i++) {
        json_array_append_new(l, numbered(i, 0, 2000));
    }
    AUTO_JSON json_t *r = again(l);
    size_t n = json_array_size(r);
    ck_assert(n > 400 && n < 460);
    ck_assert(ledger_has(r, "uid-999") && !ledger_has(r, "uid-0"));
}
END_TEST

static const struct {
    const char *text;
    size_t n;
    bool bad;
} texts[] = {
    {"{\"schema\":1,\"entries\":[]}", 0, false},
    {"{\"schema\":1,\"entries\":[{\"uid\":\"a\",\"time\":\"x\"},7,{\"uid\":\"b\"},{}]}", 1, false},
    {"{\"schema\":1}", 0, true},
    {"{\"entries\":{}}", 0, true},
    {"[]", 0, true},
    {"", 0, true},
    {"{\"schema\":1,\"entries\":[{\"uid\":", 0, true},
};

START_TEST(reads)
{
    struct err e = ERR_INIT;
    AUTO_JSON json_t *l = ledger_read(texts[_i].text, &e);
    ck_assert_uint_eq(json_array_size(l), texts[_i].n);
    ck_assert_int_eq(e.kind != ERR_NONE, texts[_i].bad);
}
END_TEST

START_TEST(reasons)
{
    ck_assert_str_eq(why_named("SpotInterrupted").actor, "spot");
    ck_assert_str_eq(why_named(WHY_NODE_DELETED).actor, "user");
    ck_assert(why_named("Drifted").command && !why_named("Empty").command);
    ck_assert_str_eq(why_named("SomethingNew").code, "SomethingNew");
    ck_assert_str_eq(why_named("SomethingNew").actor, "karp");
}
END_TEST

UNIT_MAIN("ledger", UNIT_TEST(one_each), UNIT_TEST(old_ones_go), UNIT_TEST(newest_are_kept),
          UNIT_TEST(it_fits), UNIT_CASES(reads, texts), UNIT_TEST(reasons))
