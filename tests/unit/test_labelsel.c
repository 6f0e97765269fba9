/* test_labelsel.c - kubectl's -l (cmd/read/labelsel.h). */
#include "cmd/read/labelsel.h"
#include "common/base/str.h"
#include "common/core/labels.h"
#include "unit.h"

/* A selector and whether it takes a node of env=prod, tier=web, blank= ; or part of the message. */
static const struct {
    const char *text;
    bool takes;
    const char *error;
} rows[] = {
    {"", true, NULL},
    {"env=prod", true, NULL},
    {"env==prod", true, NULL},
    {" env = prod , tier = web ", true, NULL},
    {"env=test", false, NULL},
    {"env!=test", true, NULL},
    {"env!=prod", false, NULL},
    {"env", true, NULL},
    {"absent", false, NULL},
    {"!absent", true, NULL},
    {"!env", false, NULL},
    {"absent!=x", true, NULL},
    {"absent notin (x)", true, NULL},
    {"env in (test, prod)", true, NULL},
    {"env in (test)", false, NULL},
    {"env notin (test),tier in (web)", true, NULL},
    {"blank=", true, NULL},
    {"blank", true, NULL},
    {"env=", false, NULL},
    {"karpenter.sh/nodepool=default", false, NULL},
    {"env=prod tier=web", false, "a comma is missing at \"tier=web\""},
    {"env in prod", false, "\"(\" is missing"},
    {"env in (prod", false, "\")\" is missing"},
    {"env like (prod)", false, "no operator"},
    {"=prod", false, "a label's name is missing"},
    {",", false, "a label's name is missing"},
    {"env=prod,,tier=web", false, "a label's name is missing"},
};

START_TEST(test_rows)
{
    struct arena a;
    struct err err = ERR_INIT;
    struct selector sel;
    struct symtab *t = labels_symtab_new();
    const struct label v[] = {{sym_intern(t, "tier"), sym_intern(t, "web")},
                              {sym_intern(t, "env"), sym_intern(t, "prod")},
                              {sym_intern(t, "blank"), sym_intern(t, "")}};
    const struct labels labels = {v, ARRAY_LEN(v)};
    arena_init(&a, 0, SIZE_MAX);
    int rc = labelsel_parse(&a, rows[_i].text, &sel, &err);
    if (rows[_i].error) {
        ck_assert_int_eq(rc, -1);
        ck_assert_msg(str_contains(err.msg, rows[_i].error), "%s", err.msg);
    } else {
        ck_assert_msg(rc == 0, "%s", err.msg);
        ck_assert_int_eq(labelsel_matches(&a, t, &sel, &labels), rows[_i].takes);
    }
    arena_done(&a);
    symtab_free(t);
}
END_TEST

UNIT_MAIN("labelsel", UNIT_CASES(test_rows, rows))
