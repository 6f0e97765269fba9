/* test_brake.c - the last look before a create (plan/brake.h): what a pool's claims add up to */
#include "unit.h"

#include "agent/leave/command.h"
#include "agent/plan/brake.h"
#include "agent/store/store.h"
#include "common/base/jsonx.h"
#include "fakeagent.h"

static void put(struct store *s, json_t *o, const char *name)
{
    jsonx_set_new(o, "metadata.name", json_string(name));
    jsonx_set_new(o, "metadata.uid", json_string(name));
    jsonx_set_new(o, "metadata.resourceVersion", json_string("1"));
    store_observe(s, o);
    json_decref(o);
}

/* Three claims, each of this capacity. */
static const struct {
    const char *cpu, *memory, *dongle;
    bool over;
} sums[] = {
    {"3", "1Gi", "0", false},
    {"4", "1Gi", "0", true}, /* the limit is 10 */
    {"3", "5Gi", "0", true}, /* 12Gi */
    {"3", "1Gi", "2", false},
    {"3", "1Gi", "3", true}, /* 6 */
    /* What nobody has is more than any limit, and does not come round to less than none. */
    {"3", "4Ei", "0", true},
    {"5P", "1Gi", "0", true},
    {"9223372036854775807", "9223372036854775807", "0", true},
};

START_TEST(sum_of_claims)
{
    struct fake *f = fake_new();
    struct store *s = store_new(&f->rt);
    f->rt.store = s;
    struct commands *commands = commands_new(&f->rt);
    struct brake *b = brake_new(&f->rt);
    put(s,
        json_pack("{s:s, s:s, s:{}, s:{s:{s:s, s:s, s:s}, s:{s:{s:{s:s, s:s, s:s}, s:[]}}}}",
                  "apiVersion", "karpenter.sh/v1", "kind", "NodePool", "metadata", "spec", "limits",
                  "cpu", "10", "memory", "12Gi", "example.com/dongle", "6", "template", "spec",
                  "nodeClassRef", "group", "karpenter.k8s.aws", "kind", "EC2NodeClass", "name",
                  "default", "requirements"),
        "pool");
    ck_assert(!brake_over_limits(b, "pool"));
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof(name), "c%d", i);
        put(s,
            json_pack("{s:s, s:s, s:{s:{s:s}}, s:{s:{s:s, s:s, s:s}, s:[]}, s:{s:{s:s, s:s, s:s}}}",
                      "apiVersion", "karpenter.sh/v1", "kind", "NodeClaim", "metadata", "labels",
                      "karpenter.sh/nodepool", "pool", "spec", "nodeClassRef", "group",
                      "karpenter.k8s.aws", "kind", "EC2NodeClass", "name", "default",
                      "requirements", "status", "capacity", "cpu", sums[_i].cpu, "memory",
                      sums[_i].memory, "example.com/dongle", sums[_i].dongle),
            name);
        ck_assert_ptr_nonnull(store_claim(s, name));
    }
    ck_assert_int_eq(brake_over_limits(b, "pool"), sums[_i].over);
    brake_free(b);
    commands_free(commands);
    store_free(s);
    fake_free(f);
}
END_TEST

UNIT_MAIN("brake", UNIT_CASES(sum_of_claims, sums))
