/* test_drift.c - does a claim still agree with its pool and class (core/disrupt/drift.h)? */
#include "plantest.h"

#include "common/core/disrupt/drift.h"

struct case_ {
    struct fleet *fl;
    struct nodepool *np;
    struct nodeclaim *nc;
    struct node *node;
    struct nodeclass cls;
};

static void annotate(struct case_ *c, struct meta *m, const char *key, const char *value)
{
    struct arena *a = &c->fl->w.f->a;
    struct kv *v = ARENA_NEW_N(a, struct kv, m->annotations.n + 1);
    uint32_t at = m->annotations.n;
    if (at > 0) {
        memcpy(v, m->annotations.v, at * sizeof(*v));
    }
    for (; at > 0 && strcmp(v[at - 1].key, key) > 0; at--) {
        v[at] = v[at - 1];
    }
    v[at] = (struct kv){key, value};
    m->annotations = (struct kvs){v, m->annotations.n + 1};
}

static void set_nothing(struct case_ *c UNUSED)
{
}

static void set_pool_hash(struct case_ *c)
{
    c->np->hash = "new";
    annotate(c, &c->nc->m, ANN_POOL_HASH, "old");
    annotate(c, &c->nc->m, ANN_POOL_HASH_VERSION, HASH_VERSION);
}

static void set_same_hash(struct case_ *c)
{
    set_pool_hash(c);
    c->np->hash = "old";
}

static void set_foreign_hash(struct case_ *c)
{
    c->np->hash = "new";
    annotate(c, &c->nc->m, ANN_POOL_HASH, "old");
    annotate(c, &c->nc->m, ANN_POOL_HASH_VERSION, "v3");
}

static void set_class_hash(struct case_ *c)
{
    c->cls.hash = "new";
    annotate(c, &c->nc->m, ANN_CLASS_HASH, "old");
    annotate(c, &c->nc->m, ANN_CLASS_HASH_VERSION, HASH_VERSION);
}

static void set_label_on_node(struct case_ *c)
{
    c->node->m.labels = fix_labels(
        c->fl->w.f, "kubernetes.io/arch=arm64, karpenter.sh/nodepool=main, "
                    "karpenter.sh/initialized=true, karpenter.sh/registered=true, extra=1");
}

static void set_wrong_zone(struct case_ *c)
{
    c->np->reqs = fix_reqs(c->fl->w.f, "topology.kubernetes.io/zone In zone-b");
}

/* A requirement that the pool gained later, about a label that the claim does not carry. */
static void set_new_key(struct case_ *c)
{
    c->np->reqs = fix_reqs(c->fl->w.f, "karpenter.k8s.aws/instance-family In c,m");
}

static void set_new_key_not_met(struct case_ *c)
{
    c->np->reqs = fix_reqs(c->fl->w.f, "karpenter.k8s.aws/instance-family In m");
}

static void set_not_in(struct case_ *c)
{
    c->np->reqs = fix_reqs(c->fl->w.f, "karpenter.k8s.aws/instance-capability-flex NotIn true");
}

static void set_new_custom_key(struct case_ *c)
{
    c->np->reqs = fix_reqs(c->fl->w.f, "team In a");
}

static void set_type_gone(struct case_ *c)
{
    c->nc->m.labels = fix_labels(c->fl->w.f, "node.kubernetes.io/instance-type=m1.gone, "
                                             "karpenter.sh/nodepool=main");
    c->np->reqs = (struct reqset){NULL, 0};
}

static void set_type_gone_young(struct case_ *c)
{
    set_type_gone(c);
    c->nc->m.created_ns = FIX_NOW - 60 * FIX_S;
}

static const struct class_ami amis[] = {{.id = "ami-new"}, {.id = "ami-newer"}};

static void set_image_old(struct case_ *c)
{
    c->cls.amis = amis;
    c->cls.n_amis = 2;
    c->nc->image_id = "ami-old";
}

static void set_image_current(struct case_ *c)
{
    set_image_old(c);
    c->nc->image_id = "ami-newer";
}

static void set_image_of_other_arch(struct case_ *c)
{
    struct class_ami *v = ARENA_NEW(&c->fl->w.f->a, struct class_ami);
    *v = (struct class_ami){.id = "ami-arm",
                            .reqs = fix_reqs(c->fl->w.f, "kubernetes.io/arch In arm64")};
    c->cls.amis = v;
    c->cls.n_amis = 1;
    c->nc->image_id = "ami-arm";
}

static void set_no_images(struct case_ *c)
{
    c->nc->image_id = "ami-old";
}

static void set_replace(struct case_ *c)
{
    annotate(c, &c->np->m, ANN_REPLACE, "2100-01-01T00:00:00Z");
}

static void set_replace_before(struct case_ *c)
{
    annotate(c, &c->np->m, ANN_REPLACE, "2001-01-01T00:00:00Z");
}

static void set_condition(struct case_ *c)
{
    fix_condition(c->fl->w.f, &c->nc->conditions, "Drifted");
}

static void set_starting(struct case_ *c)
{
    set_pool_hash(c);
    c->nc->conditions.n = 2; /* not Initialized */
}

static void set_class_leaving(struct case_ *c)
{
    set_pool_hash(c);
    c->cls.m.deleted_ns = FIX_NOW;
}

static void set_static(struct case_ *c)
{
    set_pool_hash(c);
    c->np->is_static = true;
}

static void set_two(struct case_ *c)
{
    set_image_old(c);
    set_pool_hash(c);
}

static const struct row {
    const char *name;
    void (*set)(struct case_ *c);
    const char *reason;   /* "" = not drifted */
    const char *upstream; /* where another controller is in charge */
} rows[] = {
    {"nothing has changed", set_nothing, "", ""},
    {"the pool's template", set_pool_hash, "NodePoolDrifted", ""},
    {"the same hash", set_same_hash, "", ""},
    {"a hash of another controller is not compared", set_foreign_hash, "", ""},
    {"the class", set_class_hash, "NodeClassDrift", ""},
    {"labels that others put on the node", set_label_on_node, "", ""},
    {"a requirement that the claim's label does not meet", set_wrong_zone, "RequirementsDrifted",
     ""},
    {"a requirement that came later and is met by the type", set_new_key, "", ""},
    {"or is not", set_new_key_not_met, "RequirementsDrifted", ""},
    {"one that forbids what it does not have", set_not_in, "", ""},
    {"one about a label that it does not have", set_new_custom_key, "RequirementsDrifted", ""},
    {"a type that is no more", set_type_gone, "InstanceTypeNotFound", ""},
    {"young claims are given time", set_type_gone_young, "", ""},
    {"an image of before", set_image_old, "AMIDrift", ""},
    {"any current image", set_image_current, "", ""},
    {"an image for other machines", set_image_of_other_arch, "AMIDrift", ""},
    {"a class that has no images", set_no_images, "", ""},
    {"somebody asked for it", set_replace, "Replace", ""},
    {"but for older claims only", set_replace_before, "", ""},
    {"the condition", set_condition, "Drifted", "Drifted"},
    {"a claim that still comes up", set_starting, "", ""},
    {"a class that is leaving", set_class_leaving, "", ""},
    {"a static pool", set_static, "", ""},
    {"the first reason counts", set_two, "NodePoolDrifted", ""},
};

START_TEST(test_drift)
{
    const struct row *row = &rows[_i];
    static struct fleet fl;
    f_build(&fl, "fleet: [{name: n1}]");
    struct fix *f = fl.w.f;
    struct case_ c = {.fl = &fl,
                      .np = (struct nodepool *)(uintptr_t)f->pools[0].pool,
                      .nc = fl.claims[0],
                      .node = fl.nodes[0]};
    c.cls.m = fix_meta(f, "default");
    f->pools[0].cls = &c.cls;
    row->set(&c);
    const struct snapshot *s = fix_snapshot(f);
    struct drift ours = drift_of(&f->a, s, &s->nodes[0], DRIFT_COMPUTED);
    struct drift theirs = drift_of(&f->a, s, &s->nodes[0], DRIFT_CONDITION);
    struct drift afresh = drift_of(&f->a, s, &s->nodes[0], DRIFT_AFRESH);
    ck_assert_msg(str_eq(ours.reason ? ours.reason : "", row->reason), "%s: %s", row->name,
                  ours.reason);
    ck_assert_msg(str_eq(theirs.reason ? theirs.reason : "", row->upstream), "%s: %s", row->name,
                  theirs.reason);
    ck_assert(ours.reason == NULL || ours.text != NULL);
    ck_assert_msg(theirs.reason ? !afresh.reason : str_eq(ours.reason, afresh.reason), "%s",
                  row->name);
    f_done(&fl);
}
END_TEST

UNIT_MAIN("drift", UNIT_CASES(test_drift, rows))
