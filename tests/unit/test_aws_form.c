/* test_aws_form.c - the Query encoder and exact prices (aws/form.h, base/price.h) */
#include "common/aws/form.h"
#include "common/base/price.h"
#include "unit.h"

/* ---- escaping -------------------------------------------------------------------------------- */

static const struct {
    const char *in, *out;
} escapes[] = {
    {"", ""},
    {"azAZ09-._~", "azAZ09-._~"},
    {" ", "%20"},
    {"a b+c", "a%20b%2Bc"},
    {"tag:karpenter.sh/discovery", "tag%3Akarpenter.sh%2Fdiscovery"},
    {"$Latest", "%24Latest"},
    {"a=b&c;d", "a%3Db%26c%3Bd"},
    {"100%", "100%25"},
    {"*'()!", "%2A%27%28%29%21"},
    {"\n\t\x7f", "%0A%09%7F"},
    {"\xc3\xa9\xff", "%C3%A9%FF"},
};

START_TEST(escapes_all_but_unreserved)
{
    AUTO_BUF struct buf b = {0};
    buf_init(&b, 1000);
    form_escape(&b, escapes[_i].in);
    ck_assert_str_eq(b.p, escapes[_i].out);
}
END_TEST

/* ---- flattening ------------------------------------------------------------------------------ */

START_TEST(flattens_scopes_and_indexes)
{
    AUTO_FORM struct form f = {0};
    form_init(&f, "DescribeThings", "2016-11-15");
    form_begin_item(&f, "Filter", 1);
    form_str(&f, "Name", "tag:k");
    form_item(&f, "Value", 1, "v1");
    form_item(&f, "Value", 2, "v2");
    form_end(&f);
    form_begin_item(&f, "Filter", 12);
    form_begin(&f, "Deep");
    form_begin_item(&f, "Item", 3);
    form_i64(&f, "N", -7);
    form_end(&f);
    form_bool(&f, "Yes", true);
    form_end(&f);
    form_end(&f);
    form_bool(&f, "No", false);
    form_i64(&f, "Max", INT64_MAX);
    form_time(&f, "StartTime", INT64_C(1767603600) * 1000000000 + 999);
    ck_assert_str_eq(f.body.p, "Action=DescribeThings&Version=2016-11-15&Filter.1.Name=tag%3Ak"
                               "&Filter.1.Value.1=v1&Filter.1.Value.2=v2&Filter.12.Deep.Item.3.N=-7"
                               "&Filter.12.Deep.Yes=true&No=false&Max=9223372036854775807"
                               "&StartTime=2026-01-05T09%3A00%3A00Z");
    ck_assert_str_eq(f.action, "DescribeThings");
    ck_assert(!form_over(&f));
}
END_TEST

START_TEST(absent_is_nothing_and_empty_is_empty)
{
    AUTO_FORM struct form f = {0};
    form_init(&f, "A", "1");
    form_str(&f, "Null", NULL);
    form_item(&f, "NullItem", 1, NULL);
    form_str(&f, "Empty", "");
    form_item(&f, "EmptyItem", 2, "");
    ck_assert_str_eq(f.body.p, "Action=A&Version=1&Empty=&EmptyItem.2=");
}
END_TEST

START_TEST(too_large_is_remembered)
{
    AUTO_FORM struct form f = {0};
    char block[4096];
    memset(block, '/', sizeof(block) - 1);
    block[sizeof(block) - 1] = '\0';
    form_init(&f, "A", "1");
    for (size_t i = 0; i < FORM_MAX / (3 * 4095) + 2; i++) {
        form_str(&f, "X", block);
    }
    ck_assert(form_over(&f));
    ck_assert_uint_le(f.body.n, FORM_MAX);
}
END_TEST

START_TEST(done_takes_zeroed_and_twice)
{
    struct form f = {0};
    form_done(&f);
    form_init(&f, "A", "1");
    form_done(&f);
    form_done(&f);
    ck_assert_ptr_null(f.body.p);
}
END_TEST

/* ---- prices ---------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    int64_t pusd; /* -1 = refused */
    const char *again;
} prices[] = {
    {"0.0960000000", 96000000000, "0.096"},
    {"0.00001", 10000000, "0.00001"},
    {"0.000000000001", 1, "0.000000000001"},
    {"0.0000000000010000", 1, "0.000000000001"},
    {"0.0000000000011", -1, NULL},
    {"55.0400000000", 55040000000000, "55.04"},
    {"1", 1000000000000, "1"},
    {"10", 10000000000000, "10"},
    {"0", 0, "0"},
    {"0.0000000000", 0, "0"},
    {".5", 500000000000, "0.5"},
    {"5.", 5000000000000, "5"},
    {"007", 7000000000000, "7"},
    {"9223372.036854775807", INT64_MAX, "9223372.036854775807"},
    {"9223372.036854775808", -1, NULL},
    {"9223373", -1, NULL},
    {"99999999999999999999999999", -1, NULL},
    {"", -1, NULL},
    {".", -1, NULL},
    {"-1", -1, NULL},
    {"+1", -1, NULL},
    {"1e3", -1, NULL},
    {"1.2.3", -1, NULL},
    {" 1", -1, NULL},
    {"1 ", -1, NULL},
    {"1,5", -1, NULL},
    {"0x10", -1, NULL},
    {"nan", -1, NULL},
    {NULL, -1, NULL},
};

START_TEST(prices_are_exact)
{
    int64_t got = 42;
    bool ok = price_parse(prices[_i].text, &got);
    ck_assert_int_eq(ok, prices[_i].pusd >= 0);
    ck_assert_int_eq(got, ok ? prices[_i].pusd : 42);
    if (ok) {
        char text[PRICE_TEXT];
        ck_assert_str_eq(price_text(got, text), prices[_i].again);
    }
}
END_TEST

static const struct {
    int64_t sum, pusd, then;
} sums[] = {
    {0, 96000000000, 96000000000},
    {5, 0, 5},
    {5, -1, 5}, /* not known */
    {INT64_MAX - 1, 1, INT64_MAX},
    {INT64_MAX - 1, 2, INT64_MAX},
    {INT64_MAX, INT64_MAX, INT64_MAX},
};

START_TEST(sums_stay_within_bounds)
{
    int64_t sum = sums[_i].sum;
    price_add(&sum, sums[_i].pusd);
    ck_assert_int_eq(sum, sums[_i].then);
}
END_TEST

UNIT_MAIN("aws_form", UNIT_CASES(escapes_all_but_unreserved, escapes),
          UNIT_TEST(flattens_scopes_and_indexes), UNIT_TEST(absent_is_nothing_and_empty_is_empty),
          UNIT_TEST(too_large_is_remembered), UNIT_TEST(done_takes_zeroed_and_twice),
          UNIT_CASES(prices_are_exact, prices), UNIT_CASES(sums_stay_within_bounds, sums))
