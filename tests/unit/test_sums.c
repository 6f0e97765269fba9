/* test_sums.c - what is kept of what was observed (agent/observe/sums.h) */
#include "agent/observe/sums.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "unit.h"

#define NOW_NS (INT64_C(1767604200) * NS_PER_S) /* 2026-01-05T09:10:00Z */

static json_t *text_of(struct sums *s, int64_t now_ns)
{
    char *text AUTO_FREE = sums_text(s, now_ns);
    ck_assert_uint_le(strlen(text), SUMS_BYTES_MAX);
    return jsonx_parse(text, strlen(text), "t", NULL);
}

static json_t *entry(int i, size_t weight)
{
    char uid[32], at[TIMEFMT_TEXT];
    char *filler AUTO_FREE = xcalloc(1, weight + 1);
    memset(filler, 'x', weight);
    snprintf(uid, sizeof(uid), "uid-%d", i);
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "time", timefmt_rfc3339(NOW_NS, at), "by", "karp",
                     "action", "remove", "uid", uid, "message", filler);
}

static const json_t *nth(const json_t *doc, const char *key, size_t i)
{
    return json_array_get(jsonx_arr(doc, key), i);
}

START_TEST(adds_by_hour_and_day)
{
    struct sums *s = sums_new(NOW_NS);
    sums_add(s, NOW_NS, WOULD_LAUNCH, 2);
    sums_add(s, NOW_NS + NS_PER_H, WOULD_LAUNCH, 1);
    sums_add(s, NOW_NS + NS_PER_H, WOULD_SAVE_PUSD, INT64_C(1500000000000));
    sums_add(s, NOW_NS + NS_PER_H, DID_REMOVE, 0); /* nothing is no period of its own */
    sums_add(s, NOW_NS - NS_PER_H, DID_REMOVE, 1); /* a clock that went back */
    sums_add(s, NOW_NS + 24 * NS_PER_H, DID_REMOVE_PUSD_H, INT64_C(96000000000));
    AUTO_JSON json_t *doc = text_of(s, NOW_NS + 25 * NS_PER_H);
    ck_assert_str_eq(jsonx_str(doc, "since"), "2026-01-05T09:10:00Z");
    ck_assert_str_eq(jsonx_str(doc, "writtenAt"), "2026-01-06T10:10:00Z");
    ck_assert_uint_eq(json_array_size(jsonx_arr(doc, "hours")), 3);
    ck_assert_uint_eq(json_array_size(jsonx_arr(doc, "days")), 2);
    ck_assert_str_eq(jsonx_str(nth(doc, "hours", 1), "at"), "2026-01-05T10:00:00Z");
    ck_assert_int_eq(jsonx_int(nth(doc, "hours", 0), "would.launched", -1), 2);
    ck_assert_int_eq(jsonx_int(nth(doc, "hours", 1), "would.launched", -1), 1);
    ck_assert_int_eq(jsonx_int(nth(doc, "hours", 1), "did.removed", -1), 1);
    ck_assert_int_eq(jsonx_int(nth(doc, "days", 0), "would.launched", -1), 3);
    ck_assert_str_eq(jsonx_str(nth(doc, "days", 0), "would.saved"), "1.5");
    ck_assert_str_eq(jsonx_str(nth(doc, "days", 1), "did.removedPricePerHour"), "0.096");
    ck_assert_str_eq(jsonx_str(nth(doc, "days", 1), "at"), "2026-01-06T00:00:00Z");
    sums_free(s);
}
END_TEST

/* The next process goes on where the last one stood. */
START_TEST(survives)
{
    struct err e = ERR_INIT;
    struct sums *s = sums_new(NOW_NS);
    for (int i = 0; i < SUM_COUNT; i++) {
        sums_add(s, NOW_NS, (enum sum)i, i + 1);
    }
    sums_note(s, entry(7, 10));
    char *text AUTO_FREE = sums_text(s, NOW_NS + NS_PER_MIN);
    struct sums *t = sums_read(text, NOW_NS + NS_PER_H, &e);
    ck_assert_int_eq(e.kind, ERR_NONE);
    ck_assert_int_eq(sums_written_ns(s), NOW_NS + NS_PER_MIN);
    ck_assert_int_eq(sums_written_ns(t), NOW_NS + NS_PER_MIN);
    ck_assert(sums_entry(t, "karp", "remove", "uid-7") != NULL);
    ck_assert(!sums_entry(t, "others", "remove", "uid-7") &&
              !sums_entry(t, "karp", "launch", "uid-7"));
    char *again AUTO_FREE = sums_text(t, NOW_NS + NS_PER_MIN);
    ck_assert_str_eq(text, again);
    sums_add(t, NOW_NS, WOULD_LAUNCH, 1);
    AUTO_JSON json_t *doc = text_of(t, NOW_NS);
    ck_assert_int_eq(jsonx_int(nth(doc, "days", 0), "would.launched", -1), 2);
    sums_free(s);
    sums_free(t);
}
END_TEST

START_TEST(never_overflows)
{
    struct sums *s = sums_new(NOW_NS);
    sums_add(s, NOW_NS, DID_LAUNCH, INT64_MAX);
    sums_add(s, NOW_NS, DID_LAUNCH, INT64_MAX);
    sums_add(s, NOW_NS, DID_LAUNCH, -5);
    AUTO_JSON json_t *doc = text_of(s, NOW_NS);
    ck_assert_int_eq(jsonx_int(nth(doc, "days", 0), "did.launched", -1), INT64_MAX);
    sums_free(s);
}
END_TEST

START_TEST(newest_are_kept)
{
    struct sums *s = sums_new(NOW_NS);
    for (int i = 0; i < (int)SUMS_DAYS_MAX * 24 + 48; i++) {
        sums_add(s, NOW_NS + i * NS_PER_H, WOULD_REMOVE, 1);
    }
    for (int i = 0; i < (int)SUMS_ENTRIES_MAX + 3; i++) {
        sums_note(s, entry(i, 10));
    }
    AUTO_JSON json_t *doc = text_of(s, NOW_NS);
    ck_assert_uint_eq(json_array_size(jsonx_arr(doc, "hours")), SUMS_HOURS_MAX);
    ck_assert_uint_eq(json_array_size(jsonx_arr(doc, "days")), SUMS_DAYS_MAX);
    ck_assert_uint_eq(json_array_size(jsonx_arr(doc, "entries")), SUMS_ENTRIES_MAX);
    ck_assert(!sums_entry(s, "karp", "remove", "uid-2") &&
              sums_entry(s, "karp", "remove", "uid-3"));
    /* Texts that are too long leave the oldest out. */
    for (int i = 0; i < (int)SUMS_ENTRIES_MAX; i++) {
        sums_note(s, entry(i, 2000));
    }
    AUTO_JSON json_t *cut = text_of(s, NOW_NS);
    ck_assert_uint_lt(json_array_size(jsonx_arr(cut, "entries")), SUMS_ENTRIES_MAX);
    ck_assert_uint_gt(json_array_size(jsonx_arr(cut, "entries")), 100);
    ck_assert(sums_entry(s, "karp", "remove", "uid-499") != NULL);
    sums_free(s);
}
END_TEST

/* What cannot be read is left out; the rest counts. */
static const struct {
    const char *text;
    enum err_kind kind;
    size_t hours, entries;
    int launched; /* of the first hour */
} odd[] = {
    {NULL, ERR_NONE, 0, 0, -1},
    {"", ERR_INVALID, 0, 0, -1},
    {"7", ERR_INVALID, 0, 0, -1},
    {"{}", ERR_INVALID, 0, 0, -1},
    {"{\"since\":\"2026-01-05T09:00:00Z\"}", ERR_NONE, 0, 0, -1},
    {"{\"since\":\"2026-01-05T09:00:00Z\",\"hours\":[7,{\"at\":\"x\"},{\"at\":\"2026-01-05T09:00:"
     "00Z\","
     "\"would\":{\"launched\":-3,\"saved\":\"-1\"}}],\"entries\":[7,{},{\"time\":\"2026-01-05T09:"
     "00:00Z\"}]}",
     ERR_NONE, 1, 1, 0},
    /* Hours that go back, or come twice. */
    {"{\"since\":\"2026-01-05T09:00:00Z\",\"hours\":[{\"at\":\"2026-01-05T09:00:00Z\",\"would\":{"
     "\"launched\":2}},{\"at\":\"2026-01-05T08:00:00Z\"},{\"at\":\"2026-01-05T09:00:00Z\"}]}",
     ERR_NONE, 1, 0, 2},
};

START_TEST(odd_texts)
{
    struct err e = ERR_INIT;
    struct sums *s = sums_read(odd[_i].text, NOW_NS, &e);
    ck_assert_int_eq(e.kind, odd[_i].kind);
    AUTO_JSON json_t *doc = text_of(s, NOW_NS);
    ck_assert_uint_eq(json_array_size(jsonx_arr(doc, "hours")), odd[_i].hours);
    ck_assert_uint_eq(json_array_size(jsonx_arr(doc, "entries")), odd[_i].entries);
    ck_assert_int_eq(jsonx_int(nth(doc, "hours", 0), "would.launched", -1), odd[_i].launched);
    sums_free(s);
}
END_TEST

/* What replaces nodes of these prices is shared: it is all of it, and none costs more than before
 * where the whole saves. */
static const struct {
    int64_t whole, prices[3], shares[3];
} shared[] = {
    {400, {100, 500, 0}, {66, 334, 0}},
    {10, {1, 1, 1}, {3, 3, 4}},
    {0, {1, 2, 3}, {0, 0, 0}},
    {INT64_MAX,
     {INT64_MAX / 3, INT64_MAX / 3, INT64_MAX / 3},
     {3074457345618258602, 3074457345618258602, 3074457345618258603}},
};

START_TEST(shares_are_the_whole)
{
    int64_t total = 0, at = 0, sum = 0;
    for (int i = 0; i < 3; i++) {
        total += shared[_i].prices[i];
    }
    for (int i = 0; i < 3; i++) {
        int64_t to = at + shared[_i].prices[i];
        int64_t share = sums_share(shared[_i].whole, at, to, total);
        ck_assert_int_eq(share, shared[_i].shares[i]);
        sum += share;
        at = to;
    }
    ck_assert_int_eq(sum, shared[_i].whole);
}
END_TEST

UNIT_MAIN("sums", UNIT_CASES(shares_are_the_whole, shared), UNIT_TEST(adds_by_hour_and_day),
          UNIT_TEST(survives), UNIT_TEST(never_overflows), UNIT_TEST(newest_are_kept),
          UNIT_CASES(odd_texts, odd))
