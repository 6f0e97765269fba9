#include "decodetest.h"

#include "common/base/clock.h"
#include "common/base/tzone.h"

enum what { POOL, CLASS };

/* ---- problems and unknown fields ------------------------------------------------------------- */

#define TPL(x) "{template: {spec: {" REF ", requirements: [" x "]}}}"
#define SPEC(x) "{template: {spec: {" REF ", requirements: []}}, " x "}"

struct problem_row {
    enum what what;
    const char *spec;
    const char *problem; /* part of it; NULL = none */
    const char *unknown; /* NULL = none */
};

#define RESERVED(terms)                                                                            \
    "{" TERMS "amiSelectorTerms: [{alias: al2023@latest}], role: r, "                              \
    "capacityReservationSelectorTerms: [" terms "]}"
#define TERMS "subnetSelectorTerms: [{tags: {a: b}}], securityGroupSelectorTerms: [{name: x}], "

static const struct problem_row problem_rows[] = {
    {POOL, TPL(""), NULL, NULL},
    {POOL, "{}", "spec.template.spec.nodeClassRef.group: missing", NULL},
    {POOL, "5", "spec: not an object", NULL},
    {POOL, "{template: []}", "spec.template: not an object", NULL},
    {POOL, "{template: {metadata: 1, spec: {" REF "}}}", "spec.template.metadata: not an object",
     NULL},
    {POOL, "{template: {spec: {nodeClassRef: {group: g, kind: k}}}}", "nodeClassRef.name: missing",
     NULL},
    {POOL, TPL("{key: a, operator: Like}"),
     "spec.template.spec.requirements[0].operator: \"Like\" is unknown", NULL},
    {POOL, TPL("{operator: Exists}"), "requirements[0].key: missing", NULL},
    {POOL, TPL("{key: a, operator: In, values: [1]}"), "requirements[0].values[0]: not a string",
     NULL},
    {POOL, TPL("{key: a, operator: In, values: {}}"), "requirements[0].values: not a list", NULL},
    {POOL, TPL("{key: a, operator: Gt, values: [x]}"), "requirements[0].a", NULL},
    {POOL, TPL("{key: a, operator: Exists, minValues: 0}"),
     "minValues: not an integer from 1 to 50", NULL},
    {POOL, TPL("{key: a, operator: Exists, minValue: 2}"), NULL,
     "spec.template.spec.requirements[0].minValue"},
    {POOL, TPL("{key: a, operator: In, values: [x]}, {key: a, operator: NotIn, values: [x]}"),
     "spec.template.spec.requirements: no value of a meets them all", NULL},
    {POOL, TPL("{key: a, operator: In, values: [x, z]}, {key: a, operator: NotIn, values: [x]}"),
     NULL, NULL},
    {POOL, TPL("{key: a, operator: Gt, values: ['5']}, {key: a, operator: Lt, values: ['6']}"),
     "no value of a meets them all", NULL},
    {POOL, TPL("{key: a, operator: Exists}, {key: a, operator: DoesNotExist}"),
     "no value of a meets them all", NULL},
    {POOL, TPL("{key: a, operator: NotIn, values: [x]}, {key: a, operator: DoesNotExist}"), NULL,
     NULL},
    {POOL,
     "{template: {metadata: {labels: {a: z}}, spec: {" REF
     ", requirements: [{key: a, operator: In, values: [x]}]}}}",
     "no value of a meets them all", NULL},
    {POOL, TPL("{key: karpenter.sh/nodepool, operator: Exists}"),
     "karpenter.sh/nodepool is restricted", NULL},
    {POOL, TPL("{key: kubernetes.io/hostname, operator: Exists}"), "is restricted", NULL},
    {POOL, TPL("{key: karpenter.sh/capacity-type, operator: In, values: [Spot]}"),
     "spot, on-demand or reserved", NULL},
    {POOL, TPL("{key: karpenter.sh/capacity-type, operator: In, values: [spot, other]}"), NULL,
     NULL},
    {POOL, "{template: {metadata: {labels: {karpenter.sh/x: a}}, spec: {" REF "}}}",
     "spec.template.metadata.labels: label karpenter.sh/x is restricted", NULL},
    {POOL, "{template: {metadata: {labels: {a: b}, foo: 1}, spec: {" REF "}}}", NULL,
     "spec.template.metadata.foo"},
    {POOL,
     "{template: {spec: {" REF ", taints: [{key: a, effect: NoSchedule}], startupTaints: [{key: "
     "a, value: x, effect: NoSchedule}]}}}",
     "a:NoSchedule stands there twice", NULL},
    {POOL, "{template: {spec: {" REF ", expireAfter: 3 days}}}",
     "expireAfter: \"3 days\" is not a duration or Never", NULL},
    {POOL, "{template: {spec: {" REF ", terminationGracePeriod: Never}}}",
     "terminationGracePeriod: \"Never\" is not a duration", NULL},
    {POOL, SPEC("limits: {cpu: 4x}"), "spec.limits.cpu: \"4x\" is not a quantity", NULL},
    {POOL, SPEC("limits: []"), "spec.limits: not an object", NULL},
    {POOL, SPEC("limits: {anything.example/x: 1, nodes: 2}"), NULL, NULL},
    {POOL, SPEC("weight: 101"), "spec.weight: not an integer", NULL},
    {POOL, SPEC("weight: '5'"), "spec.weight: not an integer", NULL},
    {POOL, SPEC("disruption: {consolidationPolicy: Sometimes}"),
     "spec.disruption.consolidationPolicy: \"Sometimes\" is unknown", NULL},
    {POOL, SPEC("disruption: {consolidateAfter: soon}"), "spec.disruption.consolidateAfter", NULL},
    {POOL, SPEC("disruption: {budgets: [{nodes: 10%}, {nodes: 101%}]}"),
     "spec.disruption.budgets[1].nodes: \"101%\"", NULL},
    {POOL, SPEC("disruption: {budgets: [{nodes: '1', reasons: [Lost]}]}"), "budgets[0].reasons[0]",
     NULL},
    {POOL, SPEC("disruption: {budgets: [{nodes: '1', schedule: '@daily'}]}"),
     "budgets[0].schedule: goes with duration", NULL},
    {POOL, SPEC("disruption: {budgets: [{nodes: '1', schedule: 'x y', duration: 1h}]}"),
     "budgets[0].schedule: ", NULL},
    {POOL, SPEC("disruption: {budgets: [{nodes: '1', schedule: '0 9 * * 1-5', duration: 8h}]}"),
     NULL, NULL},
    {POOL, SPEC("disruption: {budget: []}"), NULL, "spec.disruption.budget"},
    {POOL, SPEC("disruption: {budgets: [{nodes: '1', timeZone: UTC}]}"), NULL,
     "spec.disruption.budgets[0].timeZone"},
    {POOL, SPEC("kubelet: {}"), NULL, "spec.kubelet"},
    {POOL, SPEC("replicas: 3"), NULL, NULL},
    {CLASS, "{" TERMS "amiSelectorTerms: [{alias: al2023@latest}], role: r}", NULL, NULL},
    {CLASS, RESERVED("{id: cr-1}, {tags: {a: b}, ownerID: '1'}, {instanceMatchCriteria: open}"),
     NULL, NULL},
    {CLASS, RESERVED(""), NULL, NULL},
    {CLASS, RESERVED("{ownerID: '1'}"),
     "spec.capacityReservationSelectorTerms[0]: needs an id, which stands alone, or tags", NULL},
    {CLASS, RESERVED("{id: cr-1}, {id: cr-2, tags: {a: b}}"),
     "spec.capacityReservationSelectorTerms[1]: needs an id", NULL},
    {CLASS, RESERVED("{instanceMatchCriteria: any}"),
     "spec.capacityReservationSelectorTerms[0].instanceMatchCriteria: neither", NULL},
    {CLASS, "{amiSelectorTerms: [{alias: al2023@latest}], role: r}",
     "spec.subnetSelectorTerms: must have 1 to 30 terms", NULL},
    {CLASS, "{" TERMS "amiSelectorTerms: [], role: r}", "spec.amiSelectorTerms: must have", NULL},
    {CLASS, "{" TERMS "amiSelectorTerms: [{alias: al2023}], role: r}",
     "amiSelectorTerms[0].alias: \"al2023\" is not family@version", NULL},
    {CLASS, "{" TERMS "amiSelectorTerms: [{alias: debian@12}], role: r}", "is not family@version",
     NULL},
    {CLASS, "{" TERMS "amiSelectorTerms: [{alias: al2023@latest}, {id: ami-1}], role: r}",
     "must stand alone", NULL},
    {CLASS, "{" TERMS "amiSelectorTerms: [{}], role: r}",
     "spec.amiSelectorTerms[0]: selects nothing", NULL},
    {CLASS, "{" TERMS "amiSelectorTerms: [{id: 5}], role: r}",
     "spec.amiSelectorTerms[0].id: not a string", NULL},
    {CLASS, "{" TERMS "amiSelectorTerms: [x], role: r}", "spec.amiSelectorTerms[0]: not an object",
     NULL},
    {CLASS, "{" TERMS "amiSelectorTerms: [{id: ami-1}]}", "exactly one of role and instanceProfile",
     NULL},
    {CLASS, "{" TERMS "amiSelectorTerms: [{id: ami-1}], role: r, instanceProfile: p}",
     "exactly one of", NULL},
    {CLASS, "{" TERMS "amiSelectorTerms: [{id: ami-1}], role: r, amiFamily: Debian}",
     "spec.amiFamily: \"Debian\" is unknown", NULL},
    {CLASS, "{" TERMS "amiSelectorTerms: [{id: ami-1}], role: r, kubelet: 5}",
     "spec.kubelet: not an object", NULL},
    {CLASS, "{" TERMS "amiSelectorTerms: [{id: ami-1}], role: r, kubelet: {any: {thing: 1}}}", NULL,
     NULL},
    {CLASS, "{" TERMS "amiSelectorTerms: [{id: ami-1, kind: x}], role: r}", NULL,
     "spec.amiSelectorTerms[0].kind"},
    {CLASS,
     "{" TERMS "amiSelectorTerms: [{id: ami-1}], role: r, blockDeviceMappings: [{}, {ebs: "
     "{size: 1}}]}",
     NULL, "spec.blockDeviceMappings[1].ebs.size"},
    {CLASS, "{" TERMS "amiSelectorTerms: [{id: ami-1}], role: r, metadataOption: {}}", NULL,
     "spec.metadataOption"},
};

static void check_problem(const struct problem_row *r, const char *problem, const char *unknown)
{
    if (r->problem) {
        ck_assert_msg(problem && str_contains(problem, r->problem), "%s: %s", r->spec,
                      problem ? problem : "(no problem)");
    } else {
        ck_assert_msg(!problem, "%s: %s", r->spec, problem);
    }
    ck_assert_msg(str_eq(unknown, r->unknown), "%s: unknown %s", r->spec, unknown);
}

START_TEST(problem_row)
{
    const struct problem_row *r = &problem_rows[_i];
    begin();
    AUTO_FREE char *text = xasprintf("{metadata: {name: x}, spec: %s}", r->spec);
    AUTO_JSON json_t *o = parse(text);
    if (r->what == POOL) {
        struct nodepool *p = decode_nodepool(decoder, o, NULL);
        ck_assert_ptr_nonnull(p);
        check_problem(r, p->problem, p->unknown_field);
        ck_assert_uint_eq(strlen(p->hash), 16);
        decode_nodepool_free(p);
    } else {
        struct nodeclass *c = decode_nodeclass(decoder, o, NULL);
        ck_assert_ptr_nonnull(c);
        check_problem(r, c->problem, c->unknown_field);
        decode_nodeclass_free(c);
    }
    end();
}
END_TEST

START_TEST(claim_problem)
{
    begin();
    AUTO_JSON json_t *o = parse("{metadata: {name: c}, spec: {" REF ", requirements: [{key: a, "
                                "operator: x}], taints: [{key: t, effect: NoSchedule}]}, status: {"
                                "providerID: p}}");
    struct nodeclaim *c = decode_nodeclaim(decoder, o, NULL);
    ck_assert_ptr_nonnull(c);
    ck_assert(str_contains(c->problem, "spec.requirements[0].operator"));
    ck_assert_uint_eq(c->taints.n, 1); /* what could be read is there */
    ck_assert_str_eq(c->provider_id, "p");
    decode_nodeclaim_free(c);
    end();
}
END_TEST

START_TEST(pool_fields)
{
    begin();
    AUTO_JSON json_t *o = parse(
        "{metadata: {name: default}, spec: {weight: 10, limits: {cpu: 100, nodes: 5, a/b: 3}, "
        "disruption: {consolidateAfter: Never, consolidationPolicy: WhenEmpty, budgets: [{nodes: "
        "20%, reasons: [Empty, Drifted]}, {nodes: '0', schedule: '@daily', duration: 10m}]}, "
        "template: {metadata: {labels: {team: x, beta.kubernetes.io/arch: arm64}, annotations: "
        "{note: "
        "o}}, spec: {" REF
        ", requirements: [{key: kubernetes.io/arch, operator: In, values: [arm64, "
        "amd64]}, {key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: ['3']}, {key: "
        "karpenter.k8s.aws/instance-cpu, operator: Lt, values: ['17']}], taints: [{key: t, effect: "
        "NoSchedule}], startupTaints: [{key: s, effect: NoExecute}], terminationGracePeriod: "
        "48h}}}, status: {nodes: 3, conditions: [{type: Ready, status: 'True'}]}}");
    struct nodepool *p = decode_nodepool(decoder, o, NULL);
    ck_assert_ptr_nonnull(p);
    ck_assert_msg(!p->problem, "%s", p->problem);
    ck_assert_int_eq(p->weight, 10);
    ck_assert(p->has_limits && !p->is_static);
    ck_assert_int_eq(p->limits.v[RES_CPU], 100000);
    ck_assert_int_eq(p->limits.v[RES_MEMORY], -1);
    ck_assert_int_eq(p->limit_nodes, 5);
    ck_assert_int_eq(resources_get_ext(&p->limits, sym_find(symtab, "a/b")), 3);
    ck_assert_int_eq(p->consolidate_after_ns, DURATION_NEVER);
    ck_assert_int_eq(p->policy, POLICY_EMPTY);
    ck_assert_uint_eq(p->n_budgets, 2);
    ck_assert_uint_eq(p->budgets[0].reasons, DISRUPT_EMPTY | DISRUPT_DRIFTED);
    ck_assert_ptr_null(p->budgets[0].schedule);
    ck_assert_int_eq(p->budgets[1].duration_ns, 10 * NS_PER_MIN);
    ck_assert_uint_eq(req_single(reqset_get(&p->reqs, L_ARCH)), V_ARM64); /* ∩ labels */
    const struct req *cpu = reqset_get(&p->reqs, L_CPU);
    ck_assert(cpu->has_gte && cpu->gte == 4 && cpu->has_lte && cpu->lte == 16);
    ck_assert_uint_eq(p->template_labels.n, 2);
    ck_assert_str_eq(kvs_get(&p->template_annotations, "note"), "o");
    ck_assert_uint_eq(p->taints.n, 1);
    ck_assert_uint_eq(p->startup_taints.n, 1);
    ck_assert_int_eq(p->expire_after_ns, 720 * NS_PER_H);
    ck_assert_int_eq(p->termination_grace_ns, 48 * NS_PER_H);
    ck_assert_int_eq(p->status_nodes, 3);
    ck_assert(condition_true(&p->conditions, "Ready"));
    ck_assert(str_contains(p->spec_template, "\"team\":\"x\""));
    decode_nodepool_free(p);
    end();
}
END_TEST

/* Its own zone, else the decoder's. */
static const struct zone_row {
    const char *by_default, *own, *problem;
    int64_t hours; /* ahead of UTC in January */
} zone_rows[] = {
    {NULL, NULL, NULL, 0},
    {NULL, "America/New_York", NULL, -5},
    {"Europe/Berlin", NULL, NULL, 1},
    {"Europe/Berlin", "America/New_York", NULL, -5},
    {"Europe/Berlin", "UTC", NULL, 0},
    {NULL, "Mars/Base", "time zone Mars/Base is not known here: budgets with a schedule", 0},
    {"Europe/Berlin", "", "is not the name of a time zone", 0},
    {"Mars/Base", NULL, "Mars/Base is not known here", 0},
    {"Mars/Base", "UTC", NULL, 0},
};

static void check_zone(const struct zone_row *r, const struct nodepool *p)
{
    ck_assert_int_eq(tzone_offset_ns(p->budget_tz, INT64_C(1704067200) * NS_PER_S),
                     r->hours * NS_PER_H);
    ck_assert_msg(r->problem ? str_contains(p->budget_tz_problem, r->problem)
                             : !p->budget_tz_problem,
                  "%s", p->budget_tz_problem);
    ck_assert_msg(!p->problem, "%s", p->problem);
}

START_TEST(budget_zone)
{
    const struct zone_row *r = &zone_rows[_i];
    begin();
    AUTO_JSON json_t *o = parse("{metadata: {name: d}, spec: " TPL("") "}");
    if (r->own) {
        json_object_set_new(json_object_get(o, "metadata"), "annotations",
                            json_pack("{s:s}", ANN_BUDGET_TIMEZONE, r->own));
    }
    struct nodepool *before = decode_nodepool(decoder, o, NULL);
    struct err err = ERR_INIT;
    if (r->by_default) {
        int rc = decoder_budget_timezone(decoder, r->by_default, &err);
        ck_assert_int_eq(rc == 0, str_eq(r->by_default, "Europe/Berlin"));
    }
    struct nodepool *after = decode_nodepool(decoder, o, NULL);
    decode_budget_timezone(decoder, before);
    check_zone(r, before);
    check_zone(r, after);
    decode_nodepool_free(before);
    decode_nodepool_free(after);
    end();
}
END_TEST

START_TEST(pool_defaults)
{
    begin();
    AUTO_JSON json_t *o = parse("{metadata: {name: d}, spec: " TPL("") "}");
    struct nodepool *p = decode_nodepool(decoder, o, NULL);
    ck_assert_ptr_null(p->problem);
    ck_assert_int_eq(p->consolidate_after_ns, 0);
    ck_assert_int_eq(p->policy, POLICY_EMPTY_OR_UNDERUTILIZED);
    ck_assert_uint_eq(p->n_budgets, 1);
    ck_assert_str_eq(p->budgets[0].nodes, "10%");
    ck_assert_int_eq(p->termination_grace_ns, DURATION_ABSENT);
    ck_assert_int_eq(p->limit_nodes, -1);
    ck_assert(!p->has_limits);
    decode_nodepool_free(p);
    AUTO_JSON json_t *none = parse("{metadata: {name: d}, spec: " SPEC("disruption: {budgets: []}, "
                                                                       "replicas: 0") "}");
    p = decode_nodepool(decoder, none, NULL);
    ck_assert_uint_eq(p->n_budgets, 0);
    ck_assert(p->is_static);
    decode_nodepool_free(p);
    end();
}
END_TEST

START_TEST(class_fields)
{
    begin();
    AUTO_JSON json_t *o = parse(
        "{metadata: {name: c}, spec: {" TERMS
        "amiSelectorTerms: [{alias: al2023@latest}], role: r}, "
        "status: {subnets: [{id: s1, zone: us-east-1a, zoneID: use1-az1}, {id: s2, zone: "
        "us-east-1b}], amis: [{id: ami-1, name: n, requirements: [{key: kubernetes.io/arch, "
        "operator: In, values: [arm64]}]}, {id: ami-2, deprecated: true}], securityGroups: [{id: "
        "sg-1, name: g}], instanceProfile: prof, conditions: [{type: AMIsReady, status: "
        "Unknown}]}}");
    struct nodeclass *c = decode_nodeclass(decoder, o, NULL);
    ck_assert_msg(!c->problem, "%s", c->problem);
    ck_assert_uint_eq(c->n_subnets, 2);
    ck_assert_str_eq(sym_str(symtab, c->subnets[0].zone), "us-east-1a");
    ck_assert_str_eq(sym_str(symtab, c->subnets[0].zone_id), "use1-az1");
    ck_assert_uint_eq(c->subnets[1].zone_id, SYM_NONE);
    ck_assert_uint_eq(c->n_amis, 2);
    ck_assert_uint_eq(req_single(reqset_get(&c->amis[0].reqs, L_ARCH)), V_ARM64);
    ck_assert(c->amis[1].deprecated);
    ck_assert_uint_eq(c->n_sgs, 1);
    ck_assert_str_eq(c->instance_profile, "prof");
    ck_assert_int_eq(condition_status(&c->conditions, "AMIsReady"), STATUS_UNKNOWN);
    ck_assert(str_contains(c->spec, "\"role\":\"r\""));
    decode_nodeclass_free(c);
    end();
}
END_TEST

/* ---- hashes ---------------------------------------------------------------------------------- */

struct hash_row {
    enum what what;
    const char *name, *a, *b;
    bool same;
};

#define T(x) "{template: {spec: {" x "}}}"

static const struct hash_row hash_rows[] = {
    {POOL, "requirements are not hashed", T("requirements: [{key: a, operator: Exists}]"), T(""),
     true},
    {POOL, "weight, limits, disruption are not", "{weight: 5, limits: {cpu: 1}, disruption: {}}",
     "{}", true},
    {POOL, "labels are", "{template: {metadata: {labels: {a: b}}}}",
     "{template: {metadata: {labels: {a: c}}}}", false},
    {POOL, "annotations are", "{template: {metadata: {annotations: {a: b}}}}", "{}", false},
    {POOL, "labels are not annotations", "{template: {metadata: {annotations: {a: b}}}}",
     "{template: {metadata: {labels: {a: b}}}}", false},
    {POOL, "taints are", T("taints: [{key: a, effect: NoSchedule}]"), T(""), false},
    {POOL, "startup taints are others", T("taints: [{key: a, effect: NoSchedule}]"),
     T("startupTaints: [{key: a, effect: NoSchedule}]"), false},
    {POOL, "order of taints", T("taints: [{key: a}, {key: b}]"), T("taints: [{key: b}, {key: a}]"),
     true},
    {POOL, "order of keys", T("taints: [{key: a, value: v}]"), T("taints: [{value: v, key: a}]"),
     true},
    {POOL, "empty is absent", T("taints: [], startupTaints: null"), T(""), true},
    {POOL, "an empty value is absent", T("taints: [{key: a, value: ''}]"), T("taints: [{key: a}]"),
     true},
    {POOL, "durations by length", T("expireAfter: 60m"), T("expireAfter: 1h"), true},
    {POOL, "durations", T("expireAfter: 60m"), T("expireAfter: 61m"), false},
    {POOL, "the default is what it says", T("expireAfter: 720h"), T(""), true},
    {POOL, "never", T("expireAfter: Never"), T(""), false},
    {POOL, "grace", T("terminationGracePeriod: 1h"), T(""), false},
    {POOL, "class", T("nodeClassRef: {name: a}"), T("nodeClassRef: {name: b}"), false},
    {CLASS, "selectors are not hashed", "{subnetSelectorTerms: [{id: a}]}",
     "{subnetSelectorTerms: [{id: b}], securityGroupSelectorTerms: [{id: c}]}", true},
    {CLASS, "prefixes are not", "{ipPrefixCount: 1}", "{}", true},
    {CLASS, "family of the alias", "{amiSelectorTerms: [{alias: al2023@latest}]}",
     "{amiFamily: AL2023, amiSelectorTerms: [{alias: al2023@latest}]}", true},
    {CLASS, "version of the alias", "{amiSelectorTerms: [{alias: al2023@v1}]}",
     "{amiSelectorTerms: [{alias: al2023@v2}]}", true},
    {CLASS, "another family", "{amiSelectorTerms: [{alias: al2@v1}]}",
     "{amiSelectorTerms: [{alias: al2023@v1}]}", false},
    {CLASS, "ids are Custom", "{amiSelectorTerms: [{id: ami-1}]}", "{amiFamily: Custom}", true},
    {CLASS, "user data", "{userData: a}", "{userData: b}", false},
    {CLASS, "role", "{role: a}", "{role: b}", false},
    {CLASS, "tags", "{tags: {a: b}}", "{tags: {}}", false},
    {CLASS, "false is absent", "{detailedMonitoring: false}", "{}", true},
    {CLASS, "true is not", "{detailedMonitoring: true}", "{}", false},
    {CLASS, "public ip: false is a choice", "{associatePublicIPAddress: false}", "{}", false},
    {CLASS, "public ip", "{associatePublicIPAddress: true}", "{associatePublicIPAddress: false}",
     false},
    {CLASS, "kubelet", "{kubelet: {maxPods: 0}}", "{kubelet: {maxPods: 1}}", false},
    {CLASS, "kubelet key order", "{kubelet: {a: 1, b: 2}}", "{kubelet: {b: 2, a: 1}}", true},
    {CLASS, "block devices as a set", "{blockDeviceMappings: [{deviceName: a}, {deviceName: b}]}",
     "{blockDeviceMappings: [{deviceName: b}, {deviceName: a}]}", true},
    {CLASS, "metadata options", "{metadataOptions: {httpTokens: required}}",
     "{metadataOptions: {httpTokens: optional}}", false},
};

START_TEST(hash_row)
{
    const struct hash_row *r = &hash_rows[_i];
    AUTO_JSON json_t *a = parse(r->a);
    AUTO_JSON json_t *b = parse(r->b);
    char x[DECODE_HASH_TEXT], y[DECODE_HASH_TEXT];
    void (*hash)(const json_t *, char *) =
        r->what == POOL ? decode_nodepool_hash : decode_nodeclass_hash;
    hash(a, x);
    hash(b, y);
    ck_assert_msg(str_eq(x, y) == r->same, "%s: %s %s", r->name, x, y);
}
END_TEST

/* A hash stands in annotations for years: these two must never change under HASH_VERSION. */
START_TEST(hash_stays)
{
    char got[DECODE_HASH_TEXT];
    AUTO_JSON json_t *pool = parse(T(REF ", taints: [{key: a, effect: NoSchedule}]"));
    decode_nodepool_hash(pool, got);
    ck_assert_str_eq(got, "e9cab65fd49f4cd2");
    AUTO_JSON json_t *class = parse("{amiSelectorTerms: [{alias: al2023@latest}], role: r}");
    decode_nodeclass_hash(class, got);
    ck_assert_str_eq(got, "204239a24f49d691");
}
END_TEST

UNIT_MAIN("decode_pool", UNIT_CASES(problem_row, problem_rows), UNIT_TEST(claim_problem),
          UNIT_TEST(pool_fields), UNIT_TEST(pool_defaults), UNIT_CASES(budget_zone, zone_rows),
          UNIT_TEST(class_fields), UNIT_CASES(hash_row, hash_rows), UNIT_TEST(hash_stays))
