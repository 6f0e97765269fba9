/* Launches: the plan's filters, tokens, EC2's answers, instances. */
#include "cloudrig.h"

#include "fixture.h"

/* ---- the plan -----------------------------------------------------------------------------------
 */

/* c.* amd64 2, 4, 8, 16, 32 vCPU, g.xlarge with a GPU, r.xlarge, t.* arm64; 3 zones; on-demand 0.05
 * $/h per vCPU unless the fixture says otherwise, spot 40%. cpu in whole cores. */
static const struct {
    const char *name, *reqs;
    int cpu;
    const char *sold_out; /* "TYPE ZONE CT, …"; "*" for all of either */
    const char *dear;     /* types whose spot is put to 9 $/h */
    uint32_t max;
    const char *want; /* "spot: types" */
} plans[] = {
    {"spot before on-demand", "", 6, "", "", 60, "spot: t.2xlarge c.2xlarge c.4xlarge"},
    {"on-demand if that is asked for", "karpenter.sh/capacity-type In on-demand", 6, "", "", 60,
     "on-demand: t.2xlarge c.2xlarge c.4xlarge c.8xlarge"},
    {"what does not fit stays out", "", 20, "", "", 60, "spot: c.8xlarge"},
    {"nothing fits", "", 40, "", "", 60, ""},
    {"requirements",
     "kubernetes.io/arch In amd64; node.kubernetes.io/instance-type In c.large,c.xlarge", 1, "", "",
     60, "spot: c.large c.xlarge"},
    {"a custom label of the pool does not matter", "intent In apps; kubernetes.io/arch In arm64", 6,
     "", "", 60, "spot: t.2xlarge"},
    {"sold out in all zones", "", 6, "t.2xlarge * spot, c.2xlarge * spot", "", 60,
     "spot: c.4xlarge"},
    {"sold out in one zone", "topology.kubernetes.io/zone In zone-a", 6, "t.2xlarge zone-a spot",
     "", 60, "spot: c.2xlarge c.4xlarge"},
    {"no spot at all: on-demand", "", 6, "* * spot", "", 60,
     "on-demand: t.2xlarge c.2xlarge c.4xlarge c.8xlarge"},
    {"nothing at all", "", 6, "* * spot, * * on-demand", "", 60, ""},
    {"exotic types stay out", "", 3, "", "", 60,
     "spot: t.xlarge c.xlarge r.xlarge t.2xlarge c.2xlarge"},
    {"unless nothing plain remains", "node.kubernetes.io/instance-type In g.xlarge", 3, "", "", 60,
     "spot: g.xlarge"},
    {"or minValues asks for variety",
     "kubernetes.io/arch In amd64; karpenter.k8s.aws/instance-family In c,g,r min 3", 3, "", "", 60,
     "spot: c.xlarge r.xlarge c.2xlarge c.4xlarge g.xlarge c.8xlarge"},
    {"spot dearer than on-demand is none", "", 6, "", "t.2xlarge", 60, "spot: c.2xlarge c.4xlarge"},
    {"all spot is dearer", "", 20, "", "c.8xlarge", 60, "on-demand: c.8xlarge"},
    {"but if on-demand is not allowed", "karpenter.sh/capacity-type In spot", 20, "", "c.8xlarge",
     60, "spot: c.8xlarge"},
    {"cut to the cheapest", "", 6, "", "", 2, "spot: t.2xlarge c.2xlarge"},
    {"cut, with what minValues needs",
     "kubernetes.io/arch In amd64; karpenter.k8s.aws/instance-family In c,g,r min 3", 3, "", "", 3,
     "spot: c.xlarge r.xlarge g.xlarge"},
    {"minValues over the cut", "karpenter.k8s.aws/instance-family In c,g,r,t min 4", 3, "", "", 2,
     "spot: t.xlarge c.xlarge r.xlarge g.xlarge"},
};

static bool names(const char *pattern, const char *s)
{
    return str_eq(pattern, "*") || str_eq(pattern, s);
}

static void sell_out(struct fix *f, const char *text)
{
    char *rest = arena_strdup(&f->a, text);
    for (char *one; (one = fix_part(&rest, ',')) != NULL;) {
        const char *type = fix_part(&one, ' '), *zone = fix_part(&one, ' ');
        enum capacity_type ct = str_eq(fix_part(&one, ' '), "spot") ? CT_SPOT : CT_ON_DEMAND;
        for (uint32_t t = 0; t < catalog_n_types(f->catalog); t++) {
            for (uint32_t z = 0; z < catalog_n_zones(f->catalog); z++) {
                if (names(type, sym_str(f->syms, catalog_type_name(f->catalog, t))) &&
                    names(zone, sym_str(f->syms, catalog_zone(f->catalog, z)))) {
                    offerings_set_available(f->offerings, t, z, ct, false);
                }
            }
        }
    }
}

static void make_dear(struct fix *f, const char *type)
{
    int t = catalog_find_type(f->catalog, sym_find(f->syms, type));
    for (uint32_t z = 0; t >= 0 && z < catalog_n_zones(f->catalog); z++) {
        offerings_set_price(f->offerings, (uint32_t)t, z, CT_SPOT, 9 * PUSD_PER_USD);
    }
}

START_TEST(plan_is)
{
    struct fix *f = fix_new();
    struct plan p;
    AUTO_BUF struct buf b;
    buf_init(&b, 4096);
    sell_out(f, plans[_i].sold_out);
    make_dear(f, plans[_i].dear);
    struct reqset reqs = fix_reqs(f, plans[_i].reqs);
    struct resources need = fix_res(plans[_i].cpu * 1000, 1024, 3);
    const struct plan_in in = {.syms = f->syms,
                               .catalog = f->catalog,
                               .offerings = f->offerings,
                               .reqs = &reqs,
                               .requests = &need,
                               .max_types = plans[_i].max};
    plan_make(&f->a, &in, &p);
    for (uint32_t i = 0; i < p.n_types; i++) {
        const char *name = sym_str(f->syms, catalog_type_name(f->catalog, p.types[i].type));
        const char *ct = sym_str(f->syms, capacity_type_sym(p.ct));
        buf_printf(&b, "%s%s %s", i ? "" : ct, i ? "" : ":", name);
        ck_assert(p.types[i].zones != 0);
    }
    ck_assert_msg(str_eq(b.p, plans[_i].want), "%s: %s", plans[_i].name, b.p);
    fix_done(f);
}
END_TEST

/* ---- names and codes ------------------------------------------------------------------------- */

START_TEST(tokens)
{
    char a[LAUNCH_TOKEN_CHARS + 1], b[LAUNCH_TOKEN_CHARS + 1];
    launch_token("11111111-2222-3333-4444-555555555555", 1, a);
    ck_assert_str_eq(a, "cb95ff13c5dd28eec5b88ded357be65c");
    launch_token("11111111-2222-3333-4444-555555555555", 1, b);
    ck_assert_str_eq(a, b);
    launch_token("11111111-2222-3333-4444-555555555555", 2, b);
    ck_assert_str_ne(a, b);
    launch_token("11111111-2222-3333-4444-555555555556", 1, b);
    ck_assert_str_ne(a, b);
    ck_assert_uint_eq(strlen(a), 32);
}
END_TEST

static const struct {
    const char *text, *reason;
} reasons[] = {
    {"AuthFailure.ServiceLinkedRoleCreationNotPermitted: no", "SpotSLRCreationFailed"},
    {"UnauthorizedOperation: You are not authorized", "Unauthorized"},
    {"AuthFailure: Not authorized for images: [ami-1]", "AMIAuthorizationFailure"},
    {"InvalidParameter: sg-1 and subnet-1 belong to different networks.",
     "SecurityGroupSubnetVPCMismatch"},
    {"InvalidParameter: something else", "LaunchFailed"},
    {"InvalidParameterValue: Value (x) for parameter iamInstanceProfile.name is invalid",
     "InstanceProfileNameInvalid"},
    {"InvalidLaunchTemplateName.NotFoundException: gone", "LaunchTemplateNotFound"},
    {"InvalidAMIID.NotFound: The image id does not exist", "AMINotFound"},
    {"InvalidUserData.Malformed: User data is limited to 16384 bytes", "UserDataSizeLimitExceeded"},
    {"RequestLimitExceeded: slow down", "RequestLimitExceeded"},
    {"PendingVerification: wait", "AccountPendingVerification"},
    {"VcpuLimitExceeded: more", "VCPULimitExceeded"},
    {"Whatever: else", "LaunchFailed"},
};

START_TEST(reason_is)
{
    ck_assert_str_eq(launch_reason(reasons[_i].text), reasons[_i].reason);
}
END_TEST

static const struct {
    const char *id, *want;
} ids[] = {
    {"aws:///us-west-2a/i-0123", "i-0123"},
    {"aws:///us-west-2-lax-1a/i-1", "i-1"},
    {"aws:///i-0123", NULL},
    {"gce://x/y/i-0123", NULL},
    {"aws:///us-west-2a/fargate-1", NULL},
    {"", NULL},
    {NULL, NULL},
};

START_TEST(instance_id)
{
    const char *got = cloud_instance_id(ids[_i].id);
    ck_assert_msg(str_eq(got, ids[_i].want), "%s: %s", ids[_i].id, got);
}
END_TEST

/* ---- against EC2 ----------------------------------------------------------------------------- */

struct outcome {
    unsigned n;
    enum launch_outcome outcome;
    bool answered;
    char id[64], type[64], zone[64], reason[64], message[304];
    int64_t cpu_milli, free_milli;
};

static void on_launch(void *arg, const struct launch_result *r)
{
    struct outcome *o = arg;
    o->n++;
    o->outcome = r->outcome;
    o->answered = r->answered;
    str_copy(o->id, sizeof(o->id), r->instance.id);
    str_copy(o->type, sizeof(o->type), r->instance.type);
    str_copy(o->zone, sizeof(o->zone), r->instance.zone);
    str_copy(o->reason, sizeof(o->reason), r->reason);
    str_copy(o->message, sizeof(o->message), r->message);
    o->cpu_milli = r->capacity.v[RES_CPU];
    o->free_milli = r->allocatable.v[RES_CPU];
}

static const struct {
    const char *name, *cls, *claim, *step;
    enum launch_outcome outcome;
    bool answered;
    const char *reason, *message; /* part of it */
    bool spot;
    size_t stockouts, fleets;
} launches[] = {
    {.name = "plain", .outcome = LAUNCH_OK, .answered = true, .spot = true, .fleets = 1},
    {.name = "the class is not there",
     .claim = "{\"spec\":{\"nodeClassRef\":{\"name\":\"other\"}}}",
     .outcome = LAUNCH_NO_CAPACITY,
     .reason = "InsufficientCapacityError",
     .message = "EC2NodeClass other does not exist"},
    {.name = "the class is not ready",
     .cls = "{\"spec\":{\"subnetSelectorTerms\":[{\"id\":\"subnet-0ff\"}]}}",
     .outcome = LAUNCH_NOT_READY,
     .reason = "NodeClassNotReady",
     .message = "SubnetsReady=False"},
    {.name = "nothing is large enough",
     .claim = "{\"spec\":{\"resources\":{\"requests\":{\"cpu\":\"5000\"}}}}",
     .outcome = LAUNCH_NO_CAPACITY,
     .reason = "InsufficientCapacityError",
     .message = "all requested instance types were unavailable"},
    {.name = "sold out",
     .step = "{\"outOfCapacity\":[{\"capacityType\":\"spot\",\"type\":\"*\",\"zone\":\"*\"}]}",
     .outcome = LAUNCH_NO_CAPACITY,
     .answered = true,
     .reason = "InsufficientCapacityError",
     .message = "UnfulfillableCapacity",
     .stockouts = 60,
     .fleets = 1},
    {.name = "the spot role is missing",
     .step = "{\"fail\":{\"action\":\"CreateFleet\",\"code\":"
             "\"AuthFailure.ServiceLinkedRoleCreationNotPermitted\",\"times\":1}}",
     .outcome = LAUNCH_NO_CAPACITY,
     .answered = true,
     .reason = "InsufficientCapacityError",
     .stockouts = 1,
     .fleets = 1},
    {.name = "refused",
     .step = "{\"fail\":{\"action\":\"CreateFleet\",\"code\":\"UnauthorizedOperation\","
             "\"times\":1}}",
     .outcome = LAUNCH_REFUSED,
     .reason = "Unauthorized",
     .fleets = 1},
    {.name = "no answer, but a repetition gets it",
     .step = "{\"fail\":{\"action\":\"CreateFleet\",\"code\":\"LostAnswer\",\"times\":1}}",
     .outcome = LAUNCH_OK,
     .answered = true,
     .spot = true,
     .fleets = 2},
    {.name = "no answer at all",
     .step = "{\"fail\":{\"action\":\"CreateFleet\",\"code\":\"LostAnswer\",\"times\":3}}",
     .outcome = LAUNCH_UNKNOWN,
     .reason = "LaunchUnknown",
     .fleets = 3},
    {.name = "an answer that cannot be read",
     .step = "{\"cut\":{\"action\":\"CreateFleet\",\"times\":1}}",
     .outcome = LAUNCH_UNKNOWN,
     .reason = "LaunchUnknown",
     .fleets = 1},
    {.name = "the token was used with other parameters",
     .step = "{\"fail\":{\"action\":\"CreateFleet\",\"code\":\"IdempotentParameterMismatch\","
             "\"times\":1}}",
     .outcome = LAUNCH_UNKNOWN,
     .reason = "LaunchUnknown",
     .fleets = 1},
    {.name = "the connection breaks again and again",
     .step = "{\"fail\":{\"action\":\"CreateFleet\",\"code\":\"ConnectionRefused\",\"times\":3}}",
     .outcome = LAUNCH_UNKNOWN,
     .reason = "LaunchUnknown",
     .fleets = 3},
    {.name = "a template is gone: made anew, asked again",
     .step = "{\"fail\":{\"action\":\"CreateFleet\",\"code\":"
             "\"InvalidLaunchTemplateName.NotFoundException\",\"times\":1}}",
     .outcome = LAUNCH_OK,
     .answered = true,
     .spot = true,
     .fleets = 2},
    {.name = "but only once",
     .step = "{\"fail\":{\"action\":\"CreateFleet\",\"code\":"
             "\"InvalidLaunchTemplateName.NotFoundException\",\"times\":2}}",
     .outcome = LAUNCH_REFUSED,
     .reason = "LaunchTemplateNotFound",
     .fleets = 2},
    {.name = "templates cannot be made",
     .step = "{\"fail\":{\"action\":\"CreateLaunchTemplate\",\"code\":\"UnauthorizedOperation\","
             "\"times\":100}}",
     .outcome = LAUNCH_REFUSED,
     .reason = "Unauthorized"},
    {.name = "on-demand only",
     .claim = "{\"spec\":{\"requirements\":[{\"key\":\"karpenter.sh/capacity-type\","
              "\"operator\":\"In\",\"values\":[\"on-demand\"]},{\"key\":"
              "\"topology.kubernetes.io/zone\",\"operator\":\"In\",\"values\":"
              "[\"us-west-2c\"]}]}}",
     .outcome = LAUNCH_OK,
     .answered = true,
     .fleets = 1},
    {.name = "Custom family without user data",
     .cls = "{\"spec\":{\"amiFamily\":\"Custom\",\"amiSelectorTerms\":[{\"tags\":{\"a\":\"b\"}}]}}",
     .outcome = LAUNCH_OK,
     .answered = true,
     .spot = true,
     .fleets = 1},
    {.name = "user data that is no MIME",
     .cls = "{\"spec\":{\"userData\":\"Content-Type: multipart/mixed; boundary=X\\n\\n--X\"}}",
     .outcome = LAUNCH_REFUSED,
     .reason = "LaunchFailed",
     .message = "spec.userData: the MIME message does not end"},
};

static void rig_ready(struct rig *r, const char *cls)
{
    rig_init(r);
    cloud_start(r->cloud);
    rig_put(r, rig_class(cls));
    rig_run(r, 3 * NS_PER_S);
}

static const struct nodeclaim *put_claim(struct rig *r, const char *patch)
{
    rig_put(r, rig_claim(patch));
    return store_claim(r->rt->store, "claim");
}

static void check_instance(struct rig *r, const struct outcome *o, bool spot)
{
    const struct simec2_instance *i = simec2_find(r->ec2, o->id);
    ck_assert(i != NULL);
    ck_assert_str_eq(i->type, o->type);
    ck_assert_str_eq(i->zone, o->zone);
    ck_assert(i->spot == spot);
    ck_assert_int_gt(o->cpu_milli, 3000);
    ck_assert(o->free_milli < o->cpu_milli && o->free_milli >= 3000);
    static const char *const tags[][2] = {
        {TAG_CLAIM_UID, "claim-1"}, {TAG_CLUSTER_UID, "cluster-1"},
        {TAG_CLUSTER, "sim"},       {TAG_POOL, "pool"},
        {TAG_CLASS, "default"},     {"kubernetes.io/cluster/sim", "owned"}};
    for (size_t k = 0; k < ARRAY_LEN(tags); k++) {
        const char *value = json_string_value(json_object_get(i->tags, tags[k][0]));
        ck_assert_msg(str_eq(value, tags[k][1]), "%s: %s", tags[k][0], value);
    }
}

START_TEST(launch_gives)
{
    struct rig r;
    struct outcome o = {.n = 0};
    struct arena a;
    const struct stockout *stockouts;
    rig_ready(&r, launches[_i].cls);
    if (launches[_i].step) {
        rig_step(&r, launches[_i].step);
    }
    cloud_launch(r.cloud, put_claim(&r, launches[_i].claim), 1, on_launch, &o);
    ck_assert_uint_eq(o.n, 0);
    rig_run(&r, 30 * NS_PER_S);
    ck_assert_uint_eq(o.n, 1);
    ck_assert_msg(o.outcome == launches[_i].outcome && o.answered == launches[_i].answered,
                  "%s: outcome %d %s %s", launches[_i].name, (int)o.outcome, o.reason, o.message);
    if (o.outcome == LAUNCH_OK) {
        check_instance(&r, &o, launches[_i].spot);
    } else {
        ck_assert_msg(str_eq(o.reason, launches[_i].reason), "%s: %s", launches[_i].name, o.reason);
        const char *part = launches[_i].message;
        ck_assert_msg(!part || str_contains(o.message, part), "%s", o.message);
    }
    arena_init(&a, 0, 1u << 20);
    uint32_t n = cloud_stockouts(r.cloud, &a, &stockouts);
    ck_assert_msg((n > 0) == (launches[_i].stockouts > 0) && n >= launches[_i].stockouts,
                  "%s: %u stock-outs", launches[_i].name, n);
    arena_done(&a);
    ck_assert_uint_eq(simec2_calls(r.ec2, "ec2", "CreateFleet"), launches[_i].fleets);
    rig_done(&r);
}
END_TEST

/* The same attempt asked again gives the same instance; another attempt another one. */
START_TEST(same_attempt_same_instance)
{
    struct rig r;
    struct outcome a = {.n = 0}, b = {.n = 0}, c = {.n = 0};
    rig_ready(&r, NULL);
    const struct nodeclaim *nc = put_claim(&r, NULL);
    cloud_launch(r.cloud, nc, 1, on_launch, &a);
    rig_run(&r, 5 * NS_PER_S);
    cloud_launch(r.cloud, nc, 1, on_launch, &b);
    rig_run(&r, 5 * NS_PER_S);
    cloud_launch(r.cloud, nc, 2, on_launch, &c);
    rig_run(&r, 5 * NS_PER_S);
    ck_assert_int_eq(a.outcome, LAUNCH_OK);
    ck_assert_str_eq(a.id, b.id);
    ck_assert_str_ne(a.id, c.id);
    ck_assert_uint_eq(simec2_calls(r.ec2, "ec2", "DescribeLaunchTemplates"), 1);
    rig_done(&r);
}
END_TEST

/* A stock-out holds for three minutes, the next one of the same offering twice as long. */
START_TEST(stock_out_ends)
{
    struct rig r;
    struct arena a;
    const struct stockout *v;
    rig_ready(&r, NULL);
    arena_init(&a, 0, 1u << 20);
    stock_mark(r.cloud, CT_SPOT, "m5.large", "us-west-2a", "InsufficientInstanceCapacity");
    ck_assert_uint_eq(cloud_stockouts(r.cloud, &a, &v), 1);
    ck_assert_str_eq(v[0].code, "InsufficientInstanceCapacity");
    ck_assert_int_eq(v[0].until_ns, clock_wall(&r.f->clock) + 3 * NS_PER_MIN);
    rig_run(&r, 3 * NS_PER_MIN + NS_PER_S);
    ck_assert_uint_eq(cloud_stockouts(r.cloud, &a, &v), 0);
    stock_mark(r.cloud, CT_SPOT, "m5.large", "us-west-2a", "InsufficientInstanceCapacity");
    rig_run(&r, 5 * NS_PER_MIN);
    ck_assert_uint_eq(cloud_stockouts(r.cloud, &a, &v), 1);
    rig_run(&r, 2 * NS_PER_MIN);
    ck_assert_uint_eq(cloud_stockouts(r.cloud, &a, &v), 0);
    arena_done(&a);
    rig_done(&r);
}
END_TEST

/* ---- instances ------------------------------------------------------------------------------- */

struct seen {
    unsigned n;
    uint32_t found;
    enum err_kind kind;
    char id[64], claim_uid[64];
};

static void on_list(void *arg, const struct err *err, const struct instance *list, uint32_t n)
{
    struct seen *s = arg;
    s->n++;
    s->found = n;
    s->kind = err->kind;
    if (n > 0) {
        str_copy(s->id, sizeof(s->id), list[0].id);
        str_copy(s->claim_uid, sizeof(s->claim_uid), list[0].claim_uid);
    }
}

static void on_done(void *arg, const struct err *err)
{
    struct seen *s = arg;
    s->n++;
    s->kind = err->kind;
}

static struct seen get(struct rig *r, const char *id)
{
    struct seen s = {.n = 0};
    cloud_get(r->cloud, id, on_list, &s);
    ck_assert_uint_eq(s.n, 0);
    rig_run(r, 10 * NS_PER_S);
    ck_assert_uint_eq(s.n, 1);
    return s;
}

START_TEST(instances)
{
    struct rig r;
    struct outcome o = {.n = 0};
    struct seen s = {.n = 0};
    rig_ready(&r, NULL);
    rig_step(&r, "{\"foreign\":[{\"type\":\"m5.large\",\"zone\":\"us-west-2a\",\"clusterUID\":"
                 "\"other\"}]}");
    cloud_launch(r.cloud, put_claim(&r, NULL), 1, on_launch, &o);
    rig_run(&r, 5 * NS_PER_S);
    cloud_list(r.cloud, on_list, &s);
    rig_run(&r, NS_PER_S);
    ck_assert_uint_eq(s.found, 1); /* the foreign one is none of ours */
    ck_assert_str_eq(s.id, o.id);
    ck_assert_str_eq(s.claim_uid, "claim-1");
    cloud_find(r.cloud, "claim-1", on_list, &s);
    rig_run(&r, NS_PER_S);
    ck_assert_uint_eq(s.found, 1);
    cloud_find(r.cloud, "claim-2", on_list, &s);
    rig_run(&r, NS_PER_S);
    ck_assert_uint_eq(s.found, 0);
    ck_assert_int_eq(s.kind, ERR_NONE);
    ck_assert_uint_eq(get(&r, o.id).found, 1);
    cloud_terminate(r.cloud, o.id, on_done, &s);
    rig_run(&r, 10 * NS_PER_S);
    ck_assert_int_eq(s.kind, ERR_NONE);
    struct seen gone = get(&r, o.id);
    ck_assert(gone.found == 0 && gone.kind == ERR_NONE);
    gone = get(&r, "i-0123456789abcdef0");
    ck_assert(gone.found == 0 && gone.kind == ERR_NONE);
    rig_done(&r);
}
END_TEST

/* Questions of one moment share a call; an unknown id spoils nothing for the others. */
START_TEST(by_ids)
{
    struct rig r;
    struct outcome o[2] = {{.n = 0}};
    struct seen got[3] = {{.n = 0}}, ended[3] = {{.n = 0}};
    rig_ready(&r, NULL);
    const struct nodeclaim *nc = put_claim(&r, NULL);
    for (int i = 0; i < 2; i++) {
        cloud_launch(r.cloud, nc, i + 1, on_launch, &o[i]);
    }
    rig_run(&r, 5 * NS_PER_S);
    const char *names[] = {o[0].id, "i-0123456789abcdef0", o[1].id};
    for (int i = 0; i < 3; i++) {
        cloud_get(r.cloud, names[i], on_list, &got[i]);
    }
    rig_run(&r, NS_PER_S);
    ck_assert_uint_eq(simec2_calls(r.ec2, "ec2", "DescribeInstances"), 1);
    for (int i = 0; i < 3; i++) {
        ck_assert(got[i].n == 1 && got[i].kind == ERR_NONE && got[i].found == (i != 1));
        ck_assert(i == 1 || str_eq(got[i].id, names[i]));
        cloud_terminate(r.cloud, names[i], on_done, &ended[i]);
    }
    rig_run(&r, NS_PER_S);
    ck_assert_uint_eq(simec2_calls(r.ec2, "ec2", "TerminateInstances"), 4);
    for (int i = 0; i < 3; i++) {
        ck_assert(ended[i].n == 1 && ended[i].kind == (i == 1 ? ERR_NOT_FOUND : ERR_NONE));
    }
    rig_done(&r);
}
END_TEST

/* What EC2 does not show yet is not gone. */
START_TEST(young_instances)
{
    struct rig r;
    struct outcome o = {.n = 0};
    struct seen s = {.n = 0};
    rig_ready(&r, NULL);
    rig_step(&r, "{\"hide\":{\"for\":\"60s\"}}");
    cloud_launch(r.cloud, put_claim(&r, NULL), 1, on_launch, &o);
    rig_run(&r, 5 * NS_PER_S);
    ck_assert_int_eq(get(&r, o.id).kind, ERR_UNAVAILABLE);
    cloud_terminate(r.cloud, "i-0123456789abcdef0", on_done, &s);
    rig_run(&r, NS_PER_S);
    ck_assert_int_eq(s.kind, ERR_NOT_FOUND);
    rig_run(&r, 60 * NS_PER_S);
    ck_assert_uint_eq(get(&r, o.id).found, 1);
    rig_done(&r);
}
END_TEST

START_TEST(failing_calls)
{
    struct rig r;
    struct outcome o = {.n = 0};
    rig_ready(&r, NULL);
    ck_assert(!cloud_failing(r.cloud));
    rig_step(&r, "{\"fail\":{\"action\":\"CreateFleet\",\"code\":\"UnauthorizedOperation\","
                 "\"times\":1}}");
    const struct nodeclaim *nc = put_claim(&r, NULL);
    cloud_launch(r.cloud, nc, 1, on_launch, &o);
    rig_run(&r, 5 * NS_PER_S);
    ck_assert(cloud_failing(r.cloud));
    rig_step(&r, "{\"outOfCapacity\":[{\"capacityType\":\"spot\",\"type\":\"*\",\"zone\":\"*\"}]}");
    cloud_launch(r.cloud, nc, 2, on_launch, &o);
    rig_run(&r, 5 * NS_PER_S);
    ck_assert_int_eq(o.outcome, LAUNCH_NO_CAPACITY);
    ck_assert(!cloud_failing(r.cloud)); /* a stock-out is an answer */
    rig_done(&r);
}
END_TEST

static const int moments[] = {0, 1, 10};

/* An agent may die at any instant: nothing runs afterwards, nothing leaks. */
START_TEST(dies_in_between)
{
    struct rig r;
    struct outcome o = {.n = 0};
    struct seen s = {.n = 0};
    rig_ready(&r, NULL);
    cloud_launch(r.cloud, put_claim(&r, NULL), 1, on_launch, &o);
    cloud_list(r.cloud, on_list, &s);
    rig_run(&r, moments[_i] * 100 * NS_PER_MS);
    rig_done(&r);
    ck_assert_uint_eq(o.n, 0);
}
END_TEST

UNIT_MAIN("launch", UNIT_CASES(plan_is, plans), UNIT_TEST(tokens), UNIT_CASES(reason_is, reasons),
          UNIT_CASES(instance_id, ids), UNIT_CASES(launch_gives, launches),
          UNIT_TEST(same_attempt_same_instance), UNIT_TEST(stock_out_ends), UNIT_TEST(instances),
          UNIT_TEST(by_ids), UNIT_TEST(young_instances), UNIT_TEST(failing_calls),
          UNIT_CASES(dies_in_between, moments))
