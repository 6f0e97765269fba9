#include "fixture.h"
#include "unit.h"

/* ---- joining --------------------------------------------------------------------------------- */

static const char *label(struct fix *f, const struct snapshot_node *n, const char *key)
{
    const struct req *r = reqset_get(&n->labels, fix_sym(f, key));
    return r ? sym_str(f->syms, req_single(r)) : NULL;
}

/* How far a node has come, and who speaks for it. */
static const struct join_row {
    const char *name;
    const char *node_labels; /* NULL: there is no node */
    const char *label_from;  /* value of label "who" */
    const char *taints;      /* those that count */
    int64_t cpu, gpus;       /* allocatable */
    bool initialized;
} join_rows[] = {
    {"no node yet", NULL, "claim", "claim", 8000, 2, false},
    {"not registered", "who=node", "claim", "claim", 4000, 2, false},
    {"registered", "who=node, karpenter.sh/registered=true", "node", "node", 4000, 2, false},
    {"initialized", "who=node, karpenter.sh/registered=true, karpenter.sh/initialized=true", "node",
     "startup,node,node.kubernetes.io/not-ready", 4000, 0, true},
};

START_TEST(test_join)
{
    const struct join_row *c = &join_rows[_i];
    struct fix *f = fix_new();
    fix_pool(f, "main", "");
    struct node *n = fix_node(f, "n1", "", "");
    struct nodeclaim *nc = fix_claim_of(f, n, "main");
    nc->m.labels = fix_labels(f, "who=claim, karpenter.sh/nodepool=main");
    nc->taints = fix_taints(f, "claim:NoSchedule");
    nc->startup_taints = fix_taints(f, "startup:NoSchedule");
    nc->capacity = nc->allocatable = fix_res(8000, 1024, 10);
    nc->allocatable.v[RES_NVIDIA_GPU] = 2;
    nc->conditions.n = 1; /* Launched */
    n->taints = fix_taints(f, "startup:NoSchedule, node:NoSchedule, "
                              "node.kubernetes.io/not-ready:NoSchedule");
    if (c->node_labels != NULL) {
        n->m.labels = fix_labels(f, c->node_labels);
    } else {
        f->in.n_nodes = 0;
        nc->node_name = "";
    }
    const struct snapshot *s = fix_snapshot(f);
    ck_assert_uint_eq(s->n_nodes, 1);
    const struct snapshot_node *got = &s->nodes[0];
    ck_assert_str_eq(got->name, c->node_labels ? "n1" : "claim-n1");
    ck_assert_ptr_eq(got->claim, nc);
    ck_assert_ptr_eq(got->pool, &s->pools[0]);
    ck_assert_msg(str_eq(label(f, got, "who"), c->label_from), "%s", c->name);
    ck_assert(got->launched && got->target && !got->leaving);
    ck_assert_msg(got->initialized == c->initialized, "%s", c->name);
    ck_assert_int_eq(got->allocatable.v[RES_CPU], c->cpu);
    ck_assert_int_eq(got->allocatable.v[RES_NVIDIA_GPU], c->gpus);
    struct buf out;
    buf_init(&out, 4096);
    for (uint32_t i = 0; i < got->taints.n; i++) {
        buf_printf(&out, "%s%s", i ? "," : "", sym_str(f->syms, got->taints.v[i].key));
    }
    ck_assert_msg(str_eq(out.p, c->taints), "%s: %s", c->name, out.p);
    buf_done(&out);
    fix_done(f);
}
END_TEST

START_TEST(test_foreign_node)
{
    struct fix *f = fix_new();
    struct node *n = fix_node(f, "n1", "", "who=node");
    n->taints = fix_taints(f, "node.kubernetes.io/not-ready:NoSchedule");
    const struct snapshot *s = fix_snapshot(f);
    ck_assert(s->nodes[0].initialized && s->nodes[0].target);
    ck_assert_ptr_null(s->nodes[0].claim);
    ck_assert_ptr_null(s->nodes[0].pool);
    ck_assert_uint_eq(s->nodes[0].taints.n, 1);
    fix_done(f);
}
END_TEST

/* One instance cannot be two claims' or two nodes'. */
START_TEST(test_same_provider_id)
{
    struct fix *f = fix_new();
    fix_pool(f, "main", "");
    struct node *n1 = fix_node(f, "n1", "main", ""), *n2 = fix_node(f, "n2", "main", "");
    n2->provider_id = n1->provider_id;
    struct nodeclaim *second = fix_claim(f, "z", "main");
    second->provider_id = n1->provider_id;
    struct nodeclaim *first = fix_claim_of(f, n1, "main");
    const struct snapshot *s = fix_snapshot(f);
    ck_assert_uint_eq(s->n_nodes, 3);
    ck_assert_ptr_eq(snapshot_find(s, "n1")->claim, first);
    ck_assert_ptr_null(snapshot_find(s, "n2")->claim);
    ck_assert_ptr_null(snapshot_find(s, "z")->node);
    fix_done(f);
}
END_TEST

/* ---- room ------------------------------------------------------------------------------------ */

START_TEST(test_free)
{
    struct fix *f = fix_new();
    fix_pool(f, "main", "");
    fix_node(f, "n1", "main", "disk=ssd")->taints =
        fix_taints(f, "a:NoSchedule, b:PreferNoSchedule");
    struct node_usage *u = fix_usage(f, 0);
    u->requested = fix_res(1500, 1024, 5);
    u->daemon_requested = fix_res(300, 512, 2);
    fix_daemonset(f, "not-tolerating", 4000, 0);
    struct pod_class *ds = fix_daemonset(f, "all", 200, 256);
    ds->tolerations = fix_tolerations(f, "a");
    ds = fix_daemonset(f, "ssd", 300, 128);
    ds->tolerations = fix_tolerations(f, "*");
    ds->selector = fix_reqs(f, "disk In ssd");
    ds = fix_daemonset(f, "hdd", 4000, 0);
    ds->tolerations = fix_tolerations(f, "*");
    ds->selector = fix_reqs(f, "disk In hdd");
    const struct snapshot *s = fix_snapshot(f);
    /* 500m of DaemonSets belong here, 300m are: 200m to come. Memory is above what is expected. */
    ck_assert_int_eq(s->nodes[0].free.v[RES_CPU], 4000 - 1500 - 200);
    ck_assert_int_eq(s->nodes[0].free.v[RES_MEMORY], (16 * 1024 - 1024) * FIX_MIB);
    ck_assert_int_eq(s->nodes[0].free.v[RES_PODS], 58 - 5);
    fix_done(f);
}
END_TEST

START_TEST(test_planned_claim)
{
    struct fix *f = fix_new();
    fix_pool(f, "main", "");
    fix_daemonset(f, "all", 200, 256);
    fix_daemonset(f, "gpu", 700, 0)->selector =
        fix_reqs(f, "karpenter.k8s.aws/instance-gpu-name Exists");
    struct nodeclaim *nc = fix_claim(f, "c1", "main");
    nc->reqs = fix_reqs(f, "node.kubernetes.io/instance-type In c.xlarge,c.2xlarge,g.xlarge,gone; "
                           "topology.kubernetes.io/zone In zone-a,zone-b");
    nc->requests = fix_res(2000, 2048, 4);
    const struct snapshot *s = fix_snapshot(f);
    const struct snapshot_node *n = &s->nodes[0];
    ck_assert(!n->launched && !n->initialized && n->target);
    ck_assert_int_eq(n->free.v[RES_CPU], 1800);
    ck_assert_int_eq(n->free.v[RES_PODS], 3);
    ck_assert_int_eq(s->pools[0].in_use.v[RES_CPU], 8000);
    ck_assert_int_eq(s->pools[0].in_use.v[RES_NVIDIA_GPU], 1);
    ck_assert_int_eq(s->pools[0].nodes_in_use, 1);
    fix_done(f);
}
END_TEST

/* Extended resources, too, are filled from the claim only where the node is silent. */
START_TEST(test_extended_resources_filled)
{
    struct fix *f = fix_new();
    fix_pool(f, "main", "");
    struct node *n = fix_node(f, "n1", "", "karpenter.sh/registered=true");
    struct nodeclaim *nc = fix_claim_of(f, n, "main");
    const struct res_ext own[] = {{fix_sym(f, "example.com/a"), 3}};
    const struct res_ext told[] = {{fix_sym(f, "example.com/a"), 5},
                                   {fix_sym(f, "example.com/b"), 2}};
    n->allocatable.ext = own;
    n->allocatable.n_ext = 1;
    nc->allocatable.ext = told;
    nc->allocatable.n_ext = 2;
    const struct snapshot_node *got = &fix_snapshot(f)->nodes[0];
    ck_assert(!got->initialized);
    ck_assert_int_eq(resources_get_ext(&got->allocatable, own[0].name), 3);
    ck_assert_int_eq(resources_get_ext(&got->free, told[1].name), 2);
    fix_done(f);
}
END_TEST

static const struct host_port fixed_port = {9100, 0, ""};

/* A DaemonSet that came after the claim was planned: it takes what it takes, its host port too, and
 * pods that ask for none of it still fit. */
START_TEST(test_planned_before_daemonset)
{
    struct fix *f = fix_new();
    fix_pool(f, "main", "");
    struct nodeclaim *nc = fix_claim(f, "c1", "main");
    nc->reqs = fix_reqs(f, "node.kubernetes.io/instance-type In c.xlarge");
    nc->requests = fix_res(0, 2048, 4);
    struct pod_class *ds = fix_daemonset(f, "exporter", 200, 256);
    ds->host_ports = &fixed_port;
    ds->n_host_ports = 1;
    struct pod_class *plain = fix_class(f, 0, 100), *port = fix_class(f, 0, 50);
    port->host_ports = &fixed_port;
    port->n_host_ports = 1;
    f->pools[0].max_new_nodes = 0;
    fix_pods(f, plain, 1, "plain");
    fix_pods(f, port, 1, "port");
    const struct snapshot_node *n = &fix_snapshot(f)->nodes[0];
    ck_assert_int_eq(n->free.v[RES_CPU], 0);
    ck_assert_int_eq(n->free.v[RES_MEMORY], (2048 - 256) * FIX_MIB);
    ck_assert_uint_eq(n->n_ports, 1);
    const struct sched_result *r = fix_schedule(f, 1000);
    ck_assert_uint_eq(r->n_existing, 1);
    ck_assert_str_eq(r->existing[0].pod->m.name, "plain-00000");
    fix_done(f);
}
END_TEST

/* Launched, but nobody has written down how large the instance is: what was planned holds. */
START_TEST(test_launched_without_room)
{
    struct fix *f = fix_new();
    fix_pool(f, "main", "");
    struct nodeclaim *nc = fix_claim(f, "c1", "main");
    nc->reqs = fix_reqs(f, "node.kubernetes.io/instance-type In c.xlarge,c.2xlarge");
    nc->requests = fix_res(2000, 2048, 4);
    nc->provider_id = "aws:///zone-a/i-1";
    fix_condition(f, &nc->conditions, "Launched");
    const struct snapshot *s = fix_snapshot(f);
    ck_assert(s->nodes[0].launched);
    ck_assert_int_eq(s->nodes[0].free.v[RES_CPU], 2000);
    ck_assert_int_eq(s->pools[0].in_use.v[RES_CPU], 8000);
    fix_done(f);
}
END_TEST

/* A pod is promised a claim that was not launched only if it will surely like it. */
static const struct promise {
    const char *claim, *pod;
    bool placed;
} promises[] = {
    {"topology.kubernetes.io/zone In zone-a", "topology.kubernetes.io/zone In zone-a", true},
    {"topology.kubernetes.io/zone In zone-a", "topology.kubernetes.io/zone In zone-a,zone-b", true},
    {"topology.kubernetes.io/zone In zone-a,zone-b", "topology.kubernetes.io/zone In zone-a",
     false},
    {"topology.kubernetes.io/zone In zone-a,zone-b", "topology.kubernetes.io/zone NotIn zone-c",
     true},
    {"topology.kubernetes.io/zone In zone-a,zone-c", "topology.kubernetes.io/zone NotIn zone-c",
     false},
    {"topology.kubernetes.io/region Exists", "topology.kubernetes.io/zone In zone-a", false},
    {"team NotIn a", "team NotIn a", true},
    {"team NotIn a", "team Exists", false},
    {"team Exists; team NotIn a", "team Exists", true},
    {"team Exists", "team Exists", true},
    {"team DoesNotExist", "team In a", false},
    {"team DoesNotExist", "team NotIn a", true},
    {"karpenter.k8s.aws/instance-cpu Gt 4", "karpenter.k8s.aws/instance-cpu Gt 3", true},
    {"karpenter.k8s.aws/instance-cpu Gt 4", "karpenter.k8s.aws/instance-cpu Gt 5", false},
    {"karpenter.k8s.aws/instance-cpu NotIn 2,4", "karpenter.k8s.aws/instance-cpu NotIn 2", true},
    {"karpenter.k8s.aws/instance-cpu NotIn 2", "karpenter.k8s.aws/instance-cpu NotIn 2,4", false},
};

START_TEST(test_promises)
{
    struct fix *f = fix_new();
    struct nodeclaim *nc = fix_claim(f, "c1", "main");
    nc->reqs = fix_reqs(f, promises[_i].claim);
    nc->requests = fix_res(1000, 1024, 2);
    struct pod_class *cls = fix_class(f, 100, 100);
    cls->selector = fix_reqs(f, promises[_i].pod);
    fix_pods(f, cls, 1, "p");
    const struct sched_result *r = fix_schedule(f, 1000);
    ck_assert_msg((r->n_existing == 1) == promises[_i].placed, "%s / %s", promises[_i].claim,
                  promises[_i].pod);
    fix_done(f);
}
END_TEST

/* ---- leaving -----------------------------------------------------------------------------------
 */

static void leave_claim_deleted(struct fix *f UNUSED, struct node *n UNUSED, struct nodeclaim *nc)
{
    nc->m.deleted_ns = FIX_NOW;
}

static void leave_node_deleted(struct fix *f UNUSED, struct node *n, struct nodeclaim *nc UNUSED)
{
    n->m.deleted_ns = FIX_NOW;
}

static void leave_terminating(struct fix *f, struct node *n UNUSED, struct nodeclaim *nc)
{
    fix_condition(f, &nc->conditions, "InstanceTerminating");
}

static void leave_reason(struct fix *f, struct node *n UNUSED, struct nodeclaim *nc)
{
    fix_condition(f, &nc->conditions, "DisruptionReason");
}

static void leave_taint(struct fix *f, struct node *n, struct nodeclaim *nc UNUSED)
{
    n->taints = fix_taints(f, "karpenter.sh/disrupted:NoSchedule");
}

static void leave_cordoned(struct fix *f UNUSED, struct node *n, struct nodeclaim *nc UNUSED)
{
    n->unschedulable = true;
}

static void leave_assumed(struct fix *f, struct node *n UNUSED, struct nodeclaim *nc)
{
    const char **v = ARENA_NEW_N(&f->a, const char *, 2);
    v[0] = "another";
    v[1] = nc->m.name;
    qsort(v, 2, sizeof(*v), str_qsort_cmp);
    f->in.leaving = v;
    f->in.n_leaving = 2;
}

static void leave_lost(struct fix *f, struct node *n UNUSED, struct nodeclaim *nc UNUSED)
{
    f->in.n_nodes = 0;
}

/* As after its Node was missed for long: the condition is set back, the name stays. */
static void leave_lost_set_back(struct fix *f, struct node *n, struct nodeclaim *nc)
{
    f->in.n_nodes = 0;
    nc->node_name = n->m.name;
    nc->conditions.n = 0;
}

static const struct leave_row {
    const char *name;
    void (*set)(struct fix *f, struct node *n, struct nodeclaim *nc);
    bool leaving;
    int64_t in_use;
} leave_rows[] = {
    {"claim deleted", leave_claim_deleted, true, 0},
    {"node deleted", leave_node_deleted, true, 0},
    {"terminating", leave_terminating, true, 0},
    {"disruption reason", leave_reason, true, 4000},
    {"taint", leave_taint, true, 4000},
    {"assumed", leave_assumed, true, 0},
    {"cordoned", leave_cordoned, false, 4000},
    {"node lost", leave_lost, false, 4000},
    {"node lost, set back", leave_lost_set_back, false, 4000},
};

START_TEST(test_leaving)
{
    const struct leave_row *c = &leave_rows[_i];
    struct fix *f = fix_new();
    fix_pool(f, "main", "");
    f->pools[0].max_new_nodes = 0;
    struct node *n = fix_node(f, "n1", "main", "");
    struct nodeclaim *nc = fix_claim_of(f, n, "main");
    c->set(f, n, nc);
    struct pod_class *cls = fix_class(f, 100, 100);
    cls->tolerations = fix_tolerations(f, "*");
    fix_pods(f, cls, 1, "p");
    const struct snapshot *s = fix_snapshot(f);
    ck_assert_msg(s->nodes[0].leaving == c->leaving, "%s", c->name);
    ck_assert_msg(!s->nodes[0].target, "%s", c->name);
    ck_assert_int_eq(s->pools[0].in_use.v[RES_CPU], c->in_use);
    ck_assert_int_eq(s->pools[0].nodes_in_use, c->in_use ? 1 : 0);
    ck_assert_uint_eq(fix_schedule(f, 1000)->n_existing, 0);
    fix_done(f);
}
END_TEST

/* ---- pods ------------------------------------------------------------------------------------ */

START_TEST(test_pods)
{
    struct fix *f = fix_new();
    fix_pool(f, "main", "");
    struct node *n1 = fix_node(f, "n1", "main", ""), *n2 = fix_node(f, "n2", "main", "");
    fix_claim_of(f, n1, "main")->m.deleted_ns = FIX_NOW;
    fix_claim_of(f, n2, "main");
    struct pod_class *small = fix_class(f, 100, 100), *large = fix_class(f, 200, 100);
    struct pod_class *fat = fix_class(f, 100, 200), *urgent = fix_class(f, 1, 1);
    urgent->priority = 1;
    fix_pod(f, small, "young")->m.created_ns = FIX_NOW;
    fix_pod(f, small, "old-2");
    fix_pod(f, small, "old-1");
    fix_pod(f, fat, "fat");
    fix_pod(f, large, "large");
    fix_pod(f, urgent, "urgent");
    fix_pod(f, small, "scheduled-elsewhere")->unschedulable = false;
    fix_pod(f, small, "preempting")->nominated_node = "n2";
    fix_pod(f, small, "daemon")->owner = POWNER_DAEMONSET;
    struct pod *moving = fix_pod(f, urgent, "on-leaving");
    moving->node_name = moving->nominated_node = "n1"; /* it had preempted others there */
    ck_assert_int_eq(sched_pod_gate(moving), REASON_NONE);
    fix_pod(f, urgent, "on-staying")->node_name = "n2";
    fix_pod(f, urgent, "on-unknown")->node_name = "n3";
    struct pod *done = fix_pod(f, urgent, "done");
    done->node_name = "n1";
    done->phase = POD_SUCCEEDED;
    const struct snapshot *s = fix_snapshot(f);
    static const char *const want[] = {"on-leaving", "urgent", "large", "fat",
                                       "old-1",      "old-2",  "young"};
    ck_assert_uint_eq(s->n_pods, ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        ck_assert_str_eq(s->pods[i]->m.name, want[i]);
    }
    fix_done(f);
}
END_TEST

/* ---- order and finding ----------------------------------------------------------------------- */

START_TEST(test_order)
{
    struct fix *f = fix_new();
    fix_pool(f, "a", "");
    fix_pool(f, "heavy", "")->weight = 3;
    fix_pool(f, "b", "");
    fix_claim(f, "aa", "a");
    fix_node(f, "z", "", "");
    struct node *ours = fix_node(f, "y", "a", "");
    fix_claim_of(f, ours, "a");
    fix_claim(f, "zz", "a");
    const struct snapshot *s = fix_snapshot(f);
    static const char *const nodes[] = {"y", "z", "aa", "zz"}, *const pools[] = {"heavy", "b", "a"};
    ck_assert_uint_eq(s->n_nodes, 4);
    ck_assert_uint_eq(s->n_initialized, 2);
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        ck_assert_str_eq(s->nodes[i].name, nodes[i]);
        ck_assert_ptr_eq(snapshot_find(s, nodes[i]), &s->nodes[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(pools); i++) {
        ck_assert_str_eq(s->pools[i].np->m.name, pools[i]);
        ck_assert_ptr_eq(snapshot_pool_find(s, pools[i]), &s->pools[i]);
    }
    ck_assert_ptr_eq(snapshot_find(s, "claim-y"), &s->nodes[0]);
    ck_assert_ptr_null(snapshot_find(s, "nobody"));
    ck_assert_ptr_null(snapshot_pool_find(s, "nobody"));
    fix_done(f);
}
END_TEST

/* What the newest pod of a DaemonSet asks for, unless it was made of an older template. */
static const struct live_case {
    const char *name;
    struct {
        const char *owner, *generation;
        int64_t cpu_milli, age_s;
        bool going;
    } pods[3];
    int64_t cpu_milli;
} live_cases[] = {
    {"the template", {{"other", "2", 900, 10, false}}, 10},
    {"a pod", {{"uid-ds", "2", 200, 10, false}}, 200},
    {"the newest", {{"uid-ds", "2", 200, 10, false}, {"uid-ds", "2", 300, 5, false}}, 300},
    {"none of an older template", {{"uid-ds", "1", 200, 10, false}}, 10},
    {"one that does not say", {{"uid-ds", NULL, 200, 10, false}}, 200},
    {"none that is going", {{"uid-ds", "2", 200, 10, true}}, 10},
};

START_TEST(test_live_daemonset)
{
    const struct live_case *c = &live_cases[_i];
    struct fix *f = fix_new();
    struct pod_class *template = fix_daemonset(f, "ds", 10, 64);
    struct affinity_term term = {.reqs = fix_reqs(f, "team In a")};
    template->required = &term;
    template->n_required = 1;
    ((struct daemonset *)f->daemonsets[0])->generation = "2";
    fix_node(f, "n1", "", "");
    const struct pod *bound[3];
    for (size_t i = 0; i < ARRAY_LEN(c->pods) && c->pods[i].owner != NULL; i++) {
        struct pod *p = fix_pod(f, fix_class(f, c->pods[i].cpu_milli, 64), "p");
        struct kv *label = ARENA_NEW(&f->a, struct kv);
        *label = (struct kv){LABEL_TEMPLATE_GENERATION, c->pods[i].generation};
        p->labels = (struct kvs){label, c->pods[i].generation != NULL};
        p->owner = POWNER_DAEMONSET;
        p->owner_uid = c->pods[i].owner;
        p->node_name = "n1";
        p->m.created_ns = FIX_NOW - c->pods[i].age_s * FIX_S;
        p->m.deleted_ns = c->pods[i].going ? FIX_NOW : 0;
        bound[f->in.n_bound++] = p;
    }
    f->in.n_pods = 0;
    f->in.bound = bound;
    const struct snapshot *s = fix_snapshot(f);
    ck_assert_msg(s->daemonsets[0]->cls->requests.v[RES_CPU] == c->cpu_milli, "%s: %lld", c->name,
                  (long long)s->daemonsets[0]->cls->requests.v[RES_CPU]);
    ck_assert_ptr_eq(s->daemonsets[0]->cls->required, &term);
    fix_done(f);
}
END_TEST

/* Pods that the last decision did not get to go before others of their priority. */
START_TEST(test_first)
{
    struct fix *f = fix_new();
    struct pod_class *small = fix_class(f, 100, 100), *large = fix_class(f, 900, 100);
    struct pod_class *urgent = fix_class(f, 50, 100);
    urgent->priority = 7;
    const char *first[] = {"uid-other", "uid-small"};
    fix_pod(f, large, "large");
    fix_pod(f, small, "small");
    fix_pod(f, urgent, "urgent");
    f->in.first = first;
    f->in.n_first = 2;
    const struct snapshot *s = fix_snapshot(f);
    ck_assert_str_eq(s->pods[0]->m.name, "urgent");
    ck_assert_str_eq(s->pods[1]->m.name, "small");
    ck_assert_str_eq(s->pods[2]->m.name, "large");
    fix_done(f);
}
END_TEST

/* What counts where it is: not what is over, what is to be moved, or what lies on no node. */
START_TEST(test_bound)
{
    struct fix *f = fix_new();
    struct pod_class *cls = fix_class(f, 100, 100);
    fix_node(f, "n1", "", "");
    struct node *leaving = fix_node(f, "n2", "", "");
    leaving->m.deleted_ns = FIX_NOW;
    const char *const names[] = {"stays", "over", "moved", "lost"};
    const char *const nodes[] = {"n1", "n1", "n2", "n3"};
    const struct pod *bound[4];
    struct pod *moved = NULL;
    for (int i = 0; i < 4; i++) {
        struct pod *p = fix_pod(f, cls, names[i]);
        p->node_name = nodes[i];
        p->phase = i == 1 ? POD_SUCCEEDED : POD_RUNNING;
        moved = i == 2 ? p : moved;
        bound[i] = p;
    }
    f->pods[0] = moved;
    struct pod *planned = fix_pod(f, cls, "planned");
    struct snapshot_planned plan[] = {{planned, "n1"}, {planned, "gone"}};
    f->in.n_pods = 1;
    f->in.bound = bound;
    f->in.n_bound = 4;
    f->in.planned = plan;
    f->in.n_planned = 2;
    const struct snapshot *s = fix_snapshot(f);
    ck_assert_uint_eq(s->n_pods, 1);
    ck_assert_uint_eq(s->n_bound, 2);
    ck_assert_str_eq(s->bound[0].pod->m.name, "stays");
    ck_assert_str_eq(s->bound[1].pod->m.name, "planned");
    ck_assert_str_eq(s->bound[1].node->name, "n1");
    fix_done(f);
}
END_TEST

START_TEST(test_empty)
{
    struct fix *f = fix_new();
    const struct sched_result *r = fix_schedule(f, 1);
    ck_assert_uint_eq(fix_snapshot(f)->n_nodes, 0);
    ck_assert_uint_eq(r->n_claims + r->n_existing + r->n_refused + r->n_undecided, 0);
    ck_assert(!r->truncated);
    fix_done(f);
}
END_TEST

/* What is known of pods lies beside them, however many steps it takes. */
START_TEST(test_in_parts)
{
    enum { N = 10000 };
    struct fix *f = fix_new();
    struct pod_class *plain = fix_class(f, 100, 100), *spread = fix_class(f, 200, 100);
    spread->spreads = ARENA_NEW(&f->a, struct spread);
    spread->n_spreads = 1;
    for (uint32_t i = 0; i < N; i++) {
        struct pod *p = fix_pod(f, i % 3 ? plain : spread, arena_printf(&f->a, "p%05u", i));
        struct kv *app = ARENA_NEW(&f->a, struct kv);
        *app = (struct kv){"app", arena_printf(&f->a, "%u", i % 7)};
        p->labels = (struct kvs){app, 1};
        p->gated = i % 5 == 0;
    }
    struct snapshot s;
    struct snapshot_work *w = snapshot_begin(&f->a, &f->in, &s);
    uint32_t steps = 1, number[7];
    for (; !snapshot_step(w); steps++) {
        ck_assert_uint_lt(steps, N);
    }
    ck_assert_uint_gt(steps, 6);
    ck_assert_uint_eq(s.n_pods, N);
    ck_assert(s.rules && s.labels != NULL && !s.volumes && !s.bound_rules);
    ck_assert_uint_eq(s.n_labels, 7);
    memset(number, 0xff, sizeof(number));
    for (uint32_t i = 0; i < N; i++) {
        const struct pod *p = s.pods[i];
        uint32_t *its = &number[p->labels.v[0].value[0] - '0'];
        *its = *its == UINT32_MAX ? s.labels[i] : *its;
        ck_assert_uint_eq(s.labels[i], *its);
        ck_assert_uint_eq(s.gates[i], p->gated ? REASON_Gated : REASON_NONE);
        ck_assert_ptr_eq(s.classes[i], p->cls);
        ck_assert(i == 0 || snapshot_pod_cmp(s.pods[i - 1], p) < 0);
    }
    fix_done(f);
}
END_TEST

UNIT_MAIN("snapshot", UNIT_CASES(test_join, join_rows), UNIT_TEST(test_foreign_node),
          UNIT_TEST(test_same_provider_id), UNIT_TEST(test_free), UNIT_TEST(test_planned_claim),
          UNIT_TEST(test_extended_resources_filled), UNIT_TEST(test_planned_before_daemonset),
          UNIT_TEST(test_launched_without_room), UNIT_CASES(test_promises, promises),
          UNIT_CASES(test_leaving, leave_rows), UNIT_TEST(test_pods), UNIT_TEST(test_order),
          UNIT_TEST(test_empty), UNIT_TEST(test_first), UNIT_CASES(test_live_daemonset, live_cases),
          UNIT_TEST(test_bound), UNIT_TEST(test_in_parts))
