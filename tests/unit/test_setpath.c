/* test_setpath.c - KIND/[NS/]NAME.PATH=VALUE (cmd/setpath.h). */
#include "cmd/setpath.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "unit.h"

/* An expression and what becomes of the object, or part of the message. */
static const struct {
    const char *text, *before, *after, *error;
    enum kube_kind kind;
    const char *ns, *name;
} rows[] = {
    {"nodepool/default.spec.limits.cpu=160", "{\"spec\":{\"limits\":{\"cpu\":\"96\"}}}",
     "{\"spec\":{\"limits\":{\"cpu\":160}}}", NULL, KIND_NODE_POOL, NULL, "default"},
    /* quoted is text, and objects on the way are made */
    {"nodepools/x.spec.limits.memory=\"1Gi\"", "{}", "{\"spec\":{\"limits\":{\"memory\":\"1Gi\"}}}",
     NULL, KIND_NODE_POOL, NULL, "x"},
    {"np/x.spec.weight=1", "{}", NULL, "no kind \"np\"", KIND_COUNT, NULL, NULL},
    {"pod/shop/api-0.spec.priority=5", "{\"spec\":{}}", "{\"spec\":{\"priority\":5}}", NULL,
     KIND_POD, "shop", "api-0"},
    {"node/shop/x.spec.unschedulable=true", "{}", NULL, "names no Node", KIND_COUNT, NULL, NULL},
    /* names with dots, keys with dots and signs */
    {"no/ip-10.ec2.internal.metadata.labels[\"a.b/c=d\"]=e=f", "{}",
     "{\"metadata\":{\"labels\":{\"a.b/c=d\":\"e=f\"}}}", NULL, KIND_NODE, NULL,
     "ip-10.ec2.internal"},
    {"node/x.metadata[\"labels\"].a=1", "{}", "{\"metadata\":{\"labels\":{\"a\":1}}}", NULL,
     KIND_NODE, NULL, "x"},
    /* lists */
    {"pod/a.spec.containers[1].image=x", "{\"spec\":{\"containers\":[{},{\"image\":\"y\"}]}}",
     "{\"spec\":{\"containers\":[{},{\"image\":\"x\"}]}}", NULL, KIND_POD, NULL, "a"},
    {"pod/a.spec.containers[2].image=x", "{\"spec\":{\"containers\":[{}]}}", NULL,
     "spec.containers has 1 items", KIND_POD, NULL, "a"},
    {"pod/a.spec.containers[0]=x", "{\"spec\":{}}", NULL, "spec.containers is no list", KIND_POD,
     NULL, "a"},
    {"pod/a.spec.containers[x]=1", "{\"spec\":{\"containers\":[1]}}", NULL, "is no path", KIND_POD,
     NULL, "a"},
    /* null and nothing remove */
    {"pod/a.spec.nodeName=", "{\"spec\":{\"nodeName\":\"n\",\"x\":1}}", "{\"spec\":{\"x\":1}}",
     NULL, KIND_POD, NULL, "a"},
    {"pod/a.spec.nodeName=null", "{\"spec\":{}}", "{\"spec\":{}}", NULL, KIND_POD, NULL, "a"},
    {"pod/a.spec.nodeName=''", "{}", "{\"spec\":{\"nodeName\":\"\"}}", NULL, KIND_POD, NULL, "a"},
    /* scalars only, and not into one */
    {"pod/a.spec.x.y=1", "{\"spec\":{\"x\":\"s\"}}", NULL, "spec.x is no object", KIND_POD, NULL,
     "a"},
    {"pod/a.spec.x={a: 1}", "{}", NULL, "not a scalar", KIND_POD, NULL, "a"},
    {"pod/a.spec.x=[1]", "{}", NULL, "not a scalar", KIND_POD, NULL, "a"},
    {"pod/a.spec.x=\"open", "{}", NULL, "--set", KIND_POD, NULL, "a"},
    {"pod/a.spec..x=1", "{}", NULL, "is no path", KIND_POD, NULL, "a"},
    {"pod/a.spec.x.=1", "{\"spec\":{\"x\":{}}}", NULL, "is no path", KIND_POD, NULL, "a"},
    {"pod/a.spec[\"x=1", "{}", NULL, "say KIND/NAME", KIND_COUNT, NULL, NULL},
    {"pod/a.data.x=1", "{}", NULL, "say KIND/NAME", KIND_COUNT, NULL, NULL},
    {"pod/a.spec.x", "{}", NULL, "say KIND/NAME", KIND_COUNT, NULL, NULL},
    {"pod.spec.x=1", "{}", NULL, "say KIND/NAME", KIND_COUNT, NULL, NULL},
    {"pod/.spec.x=1", "{}", NULL, "say KIND/NAME", KIND_COUNT, NULL, NULL},
    {"pod/a/b/c.spec.x=1", "{}", NULL, "names no Pod", KIND_COUNT, NULL, NULL},
};

START_TEST(test_rows)
{
    struct arena a;
    struct setpath p;
    struct err err = ERR_INIT;
    arena_init(&a, 0, SIZE_MAX);
    json_t *o = json_loads(rows[_i].before, 0, NULL);
    int rc = setpath_parse(&a, rows[_i].text, &p, &err);
    if (rc == 0 && rows[_i].kind != KIND_COUNT) {
        ck_assert_int_eq(p.kind, rows[_i].kind);
        ck_assert(str_eq(p.ns, rows[_i].ns));
        ck_assert_str_eq(p.name, rows[_i].name);
    }
    rc = rc ? rc : setpath_apply(&p, o, &err);
    if (rows[_i].error) {
        ck_assert_int_eq(rc, -1);
        ck_assert_msg(str_contains(err.msg, rows[_i].error), "%s", err.msg);
    } else {
        ck_assert_msg(rc == 0, "%s", err.msg);
        char *text = jsonx_dump(o);
        ck_assert_str_eq(text, rows[_i].after);
        free(text);
    }
    setpath_done(&p);
    json_decref(o);
    arena_done(&a);
}
END_TEST

UNIT_MAIN("setpath", UNIT_CASES(test_rows, rows))
