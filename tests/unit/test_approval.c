#include "common/core/consent/approval.h"
#include "unit.h"

static const struct {
    const char *text;
    bool ok;
    unsigned asks;
} texts[] = {
    {"Off", true, 0},
    {"Required", true, DISRUPT_UNDERUTILIZED | DISRUPT_DRIFTED},
    {"Empty", true, DISRUPT_EMPTY},
    {"Underutilized,Drifted", true, DISRUPT_UNDERUTILIZED | DISRUPT_DRIFTED},
    {"Drifted,Empty,Underutilized", true, DISRUPT_UNDERUTILIZED | DISRUPT_DRIFTED | DISRUPT_EMPTY},
    {"", false, 0},
    {"required", false, 0},
    {"Empty,", false, 0},
    {",Empty", false, 0},
    {"Empty, Drifted", false, 0},
    {"Emptyx", false, 0},
    {"Expired", false, 0},
};

START_TEST(parses)
{
    unsigned asks;
    ck_assert_int_eq(approval_parse(texts[_i].text, &asks), texts[_i].ok);
    ck_assert(!texts[_i].ok || asks == texts[_i].asks);
}
END_TEST

/* What cannot be read asks for all. */
START_TEST(of_a_pool)
{
    struct kv kv = {ANN_APPROVAL, texts[_i].text};
    struct nodepool np = {.m = {.annotations = {&kv, 1}}};
    unsigned all = DISRUPT_UNDERUTILIZED | DISRUPT_DRIFTED | DISRUPT_EMPTY;
    ck_assert_uint_eq(approval_of(&np, 0), texts[_i].ok ? texts[_i].asks : all);
}
END_TEST

START_TEST(of_the_flag)
{
    struct nodepool np = {.m = {.annotations = {NULL, 0}}};
    ck_assert_uint_eq(approval_of(&np, DISRUPT_EMPTY), DISRUPT_EMPTY);
    ck_assert_uint_eq(approval_of(NULL, DISRUPT_DRIFTED), DISRUPT_DRIFTED);
}
END_TEST

UNIT_MAIN("approval", UNIT_CASES(parses, texts), UNIT_CASES(of_a_pool, texts),
          UNIT_TEST(of_the_flag))
