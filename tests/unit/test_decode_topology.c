/* Spread constraints, pod affinity, volumes and what belongs to them, as decoded. */
#include "decodetest.h"

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

static struct pod *pod_of(const char *spec)
{
    struct err err = ERR_INIT;
    AUTO_FREE char *text =
        xasprintf("{metadata: {name: p, namespace: ns, uid: u}, spec: %s, status: {}}", spec);
    AUTO_JSON json_t *o = parse(text);
    struct pod *p = decode_pod(decoder, o, &err);
    ck_assert_msg(p != NULL, "%s: %s", spec, err.msg);
    return p;
}

static const char *text_of(const struct selector *s)
{
    static char text[512];
    AUTO_BUF struct buf b;
    buf_init(&b, sizeof(text) - 1);
    selector_fmt(s, &b);
    str_copy(text, sizeof(text), b.p);
    return text;
}

/* ---- selectors ------------------------------------------------------------------------------- */

static const struct selector_row {
    const char *json, *text;
    bool web, db, none; /* selects {app: web}, {app: db, tier: back}, {} */
} selector_rows[] = {
    {"null", "nothing", false, false, false},
    {"{}", "everything", true, true, true},
    {"{matchLabels: {app: web}}", "app In [web]", true, false, false},
    {"{matchLabels: {tier: back, app: db}}", "app In [db],tier In [back]", false, true, false},
    {"{matchExpressions: [{key: app, operator: In, values: [web, db, db]}]}", "app In [db web]",
     true, true, false},
    {"{matchExpressions: [{key: app, operator: NotIn, values: [web]}]}", "app NotIn [web]", false,
     true, true},
    {"{matchExpressions: [{key: tier, operator: Exists}]}", "tier Exists", false, true, false},
    {"{matchExpressions: [{key: tier, operator: DoesNotExist}]}", "tier DoesNotExist", true, false,
     true},
    {"{matchExpressions: [{key: app, operator: Gt, values: ['1']}]}", "nothing", false, false,
     false},
    {"{matchExpressions: [{key: app, operator: In, values: []}]}", "nothing", false, false, false},
    {"{matchExpressions: [{operator: Exists}]}", "nothing", false, false, false},
};

START_TEST(selectors)
{
    const struct selector_row *r = &selector_rows[_i];
    static const struct kv web[] = {{"app", "web"}}, db[] = {{"app", "db"}, {"tier", "back"}};
    begin();
    AUTO_FREE char *spec =
        xasprintf("{topologySpreadConstraints: [{topologyKey: zone, labelSelector: %s}]}", r->json);
    struct pod *p = pod_of(spec);
    const struct selector *s = &p->cls->spreads[0].sel;
    ck_assert_str_eq(text_of(s), r->text);
    ck_assert_msg(selector_matches(s, &(struct kvs){web, 1}) == r->web, "%s: web", r->json);
    ck_assert_msg(selector_matches(s, &(struct kvs){db, 2}) == r->db, "%s: db", r->json);
    ck_assert_msg(selector_matches(s, &(struct kvs){NULL, 0}) == r->none, "%s: none", r->json);
    decode_pod_free(decoder, p);
    end();
}
END_TEST

/* ---- spread ---------------------------------------------------------------------------------- */

static const struct spread_row {
    const char *json;
    int max_skew, min_domains;
    bool soft, affinity, taints;
} spread_rows[] = {
    {"{topologyKey: zone}", 1, 0, false, true, false},
    {"{topologyKey: zone, maxSkew: 3, minDomains: 2, whenUnsatisfiable: DoNotSchedule}", 3, 2,
     false, true, false},
    {"{topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}", 1, 0, true, true, false},
    {"{topologyKey: zone, nodeAffinityPolicy: Ignore, nodeTaintsPolicy: Honor}", 1, 0, false, false,
     true},
    {"{topologyKey: zone, nodeAffinityPolicy: Honor, nodeTaintsPolicy: Ignore}", 1, 0, false, true,
     false},
    {"{topologyKey: zone, maxSkew: -1, minDomains: 99999999999}", 1, INT32_MAX, false, true, false},
};

START_TEST(spreads)
{
    const struct spread_row *r = &spread_rows[_i];
    begin();
    AUTO_FREE char *spec = xasprintf("{topologySpreadConstraints: [%s]}", r->json);
    struct pod *p = pod_of(spec);
    ck_assert_uint_eq(p->cls->n_spreads, 1);
    const struct spread *s = &p->cls->spreads[0];
    ck_assert_str_eq(sym_str(symtab, s->key), "zone");
    ck_assert_int_eq(s->max_skew, r->max_skew);
    ck_assert_int_eq(s->min_domains, r->min_domains);
    ck_assert_msg(s->soft == r->soft && s->honor_affinity == r->affinity &&
                      s->honor_taints == r->taints,
                  "%s", r->json);
    decode_pod_free(decoder, p);
    end();
}
END_TEST

/* ---- affinity -------------------------------------------------------------------------------- */

START_TEST(terms)
{
    begin();
    struct pod *p = pod_of(
        "{affinity: {podAffinity: {" REQUIRED
        ": [{topologyKey: failure-domain.beta.kubernetes.io/zone, labelSelector: {}, namespaces: "
        "[b, a, b]}], " PREFERRED ": [{weight: 0, podAffinityTerm: {topologyKey: x}}, {weight: 5, "
        "podAffinityTerm: {topologyKey: y1}}, {weight: 9, podAffinityTerm: {topologyKey: z1}}]}, "
        "podAntiAffinity: {" REQUIRED ": [{topologyKey: h, matchLabelKeys: [r], "
        "mismatchLabelKeys: [t], namespaceSelector: {matchLabels: {k: v}}}]}}}");
    const struct pod_class *c = p->cls;
    ck_assert_uint_eq(c->affinity.n, 1);
    ck_assert_uint_eq(c->affinity.v[0].key, L_ZONE);
    ck_assert_uint_eq(c->affinity.v[0].n_namespaces, 2);
    ck_assert_str_eq(c->affinity.v[0].namespaces[0], "a");
    ck_assert(!c->affinity.v[0].has_ns_sel);
    ck_assert_uint_eq(c->prefer_affinity.n, 2);
    ck_assert_int_eq(c->prefer_affinity.v[0].weight, 9);
    ck_assert_int_eq(c->prefer_affinity.v[1].weight, 5);
    ck_assert_uint_eq(c->anti_affinity.n, 1);
    ck_assert(c->anti_affinity.v[0].has_ns_sel);
    ck_assert_str_eq(text_of(&c->anti_affinity.v[0].ns_sel), "k In [v]");
    ck_assert_str_eq(c->anti_affinity.v[0].match_keys[0], "r");
    ck_assert_str_eq(c->anti_affinity.v[0].mismatch_keys[0], "t");
    ck_assert_uint_eq(c->avoid_affinity.n, 0);
    decode_pod_free(decoder, p);
    end();
}
END_TEST

/* Two specs are one class exactly if they ask for the same. */
static const struct same_row {
    const char *x, *y;
    bool same;
} same_rows[] = {
#define TSC(more) "{topologySpreadConstraints: [{topologyKey: zone, maxSkew: 1" more "}]}"
    {TSC(""), TSC(""), true},
    {TSC(""), TSC(", whenUnsatisfiable: ScheduleAnyway"), false},
    {TSC(""), TSC(", minDomains: 2"), false},
    {TSC(""), TSC(", labelSelector: {}"), false},
    {TSC(", labelSelector: {matchLabels: {a: b, c: d}}"),
     TSC(", labelSelector: {matchLabels: {c: d, a: b}}"), true},
    {TSC(", matchLabelKeys: [a]"), TSC(", matchLabelKeys: [b]"), false},
    {TSC(", nodeTaintsPolicy: Honor"), TSC(""), false},
#define PA(kind, strength, term) "{affinity: {" kind ": {" strength ": [" term "]}}}"
    {PA("podAffinity", REQUIRED, "{topologyKey: h}"),
     PA("podAntiAffinity", REQUIRED, "{topologyKey: h}"), false},
    {PA("podAffinity", REQUIRED, "{topologyKey: h}"),
     PA("podAffinity", REQUIRED, "{topologyKey: h, namespaces: [a]}"), false},
    {PA("podAffinity", REQUIRED, "{topologyKey: h, namespaces: [a, b]}"),
     PA("podAffinity", REQUIRED, "{topologyKey: h, namespaces: [b, a]}"), true},
    {PA("podAffinity", REQUIRED, "{topologyKey: h}"),
     PA("podAffinity", REQUIRED, "{topologyKey: h, namespaceSelector: {}}"), false},
};

START_TEST(same)
{
    const struct same_row *r = &same_rows[_i];
    begin();
    struct pod *x = pod_of(r->x), *y = pod_of(r->y);
    ck_assert_msg((x->cls == y->cls) == r->same, "%s and %s", r->x, r->y);
    decode_pod_free(decoder, x);
    decode_pod_free(decoder, y);
    end();
}
END_TEST

/* ---- volumes --------------------------------------------------------------------------------- */

START_TEST(pod_volumes)
{
    begin();
    struct pod *p = pod_of("{volumes: [{name: a, emptyDir: {}}, {name: b, persistentVolumeClaim: "
                           "{claimName: data}}, {name: c, ephemeral: {}}]}");
    ck_assert_uint_eq(p->n_volumes, 2);
    ck_assert_str_eq(p->volumes[0].claim, "data");
    ck_assert(!p->volumes[0].ephemeral);
    ck_assert_str_eq(p->volumes[1].claim, "p-c");
    ck_assert(p->volumes[1].ephemeral);
    decode_pod_free(decoder, p);
    end();
}
END_TEST

START_TEST(volumes)
{
    struct err err = ERR_INIT;
    begin();
    AUTO_JSON json_t *o = parse(
        "{metadata: {name: v}, spec: {awsElasticBlockStore: {volumeID: vol-1}, nodeAffinity: "
        "{required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.ebs.csi.aws.com/zone, "
        "operator: In, values: [a]}]}, {}]}}}}");
    struct pv *v = decode_pv(decoder, o, &err);
    ck_assert_str_eq(v->driver, "ebs.csi.aws.com");
    ck_assert_str_eq(v->handle, "vol-1");
    ck_assert_uint_eq(v->n_terms, 2);
    ck_assert(reqset_get(&v->terms[0].reqs, L_ZONE) != NULL);
    ck_assert(v->terms[1].invalid && !v->local);
    decode_pv_free(v);
    AUTO_JSON json_t *c = parse("{metadata: {name: node1}, spec: {drivers: [{name: d, allocatable: "
                                "{count: 25}}, {name: e}]}}");
    struct csi_node *n = decode_csi_node(decoder, c, &err);
    ck_assert_uint_eq(n->n_drivers, 2);
    ck_assert_int_eq(n->drivers[0].count, 25);
    ck_assert_int_eq(n->drivers[1].count, -1);
    decode_csi_node_free(n);
    AUTO_JSON json_t *s =
        parse("{metadata: {name: s}, provisioner: kubernetes.io/aws-ebs, allowedTopologies: "
              "[{matchLabelExpressions: [{key: topology.kubernetes.io/zone, values: [a, b]}]}]}");
    struct storage_class *sc = decode_storage_class(decoder, s, &err);
    ck_assert_str_eq(sc->provisioner, "ebs.csi.aws.com");
    ck_assert(!sc->wait_for_first && !sc->is_default);
    ck_assert_uint_eq(reqset_get(&sc->allowed[0].reqs, L_ZONE)->n, 2);
    decode_storage_class_free(sc);
    end();
}
END_TEST

/* Whatever stands in them: an error or an object, nothing else. */
static const char *const bad_rows[] = {
    "[]",
    "{}",
    "{metadata: 1}",
    "{metadata: {name: x}, spec: [], status: 1}",
    "{metadata: {name: x}, spec: {drivers: {}, nodeAffinity: [], csi: 1, volumeName: {}}}",
    "{metadata: {name: x}, spec: {drivers: [1, null]}, allowedTopologies: [1, {}, "
    "{matchLabelExpressions: [1]}]}",
    "{metadata: {name: x, labels: []}}",
};

START_TEST(bad)
{
    struct err err = ERR_INIT;
    begin();
    AUTO_JSON json_t *o = parse(bad_rows[_i]);
    decode_pvc_free(decode_pvc(decoder, o, &err));
    decode_pv_free(decode_pv(decoder, o, &err));
    decode_storage_class_free(decode_storage_class(decoder, o, &err));
    decode_csi_node_free(decode_csi_node(decoder, o, &err));
    decode_namespace_free(decode_namespace(decoder, o, &err));
    ck_assert(_i > 2 || err.kind == ERR_INVALID);
    end();
}
END_TEST

#define ONE(more) "{podTopologySpread: {defaultConstraints: [{" more "}]}}"
#define GOOD "maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule"

static const struct {
    const char *text;
    uint32_t n;
    const char *error; /* part of it; NULL = none */
} config_rows[] = {
    {NULL, 0, NULL},
    {"", 0, NULL},
    {"{}", 0, NULL},
    {"podTopologySpread: {}", 0, NULL},
    {ONE(GOOD), 1, NULL},
    {"{\"podTopologySpread\": {\"defaultConstraints\": []}}", 0, NULL},
    {ONE(GOOD "}, {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway"), 2, NULL},
    {ONE(GOOD "}, {" GOOD), 0, "[1]: topologyKey and whenUnsatisfiable stand there twice"},
    {ONE(GOOD ", minDomains: 2, nodeTaintsPolicy: Honor, nodeAffinityPolicy: Honor"), 1, NULL},
    {ONE(GOOD ", minDomains: 0"), 0, "[0]: minDomains: not a number above 0"},
    {ONE(GOOD ", minDomains: '2'"), 0, "[0]: minDomains: not a number above 0"},
    {ONE("maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, minDomains: 2"), 0,
     "[0]: minDomains: not a number above 0 beside DoNotSchedule"},
    {ONE(GOOD ", nodeTaintsPolicy: honor"), 0, "[0]: nodeTaintsPolicy: neither Honor nor Ignore"},
    {ONE(GOOD ", nodeAffinityPolicy: 1"), 0, "[0]: nodeAffinityPolicy: neither Honor nor Ignore"},
    {"{}\n---\n" ONE(GOOD), 0, "more than one document"},
    {ONE("topologyKey: zone, whenUnsatisfiable: DoNotSchedule"), 0, "[0]: maxSkew: not a number"},
    {ONE("maxSkew: 1, whenUnsatisfiable: DoNotSchedule"), 0, "[0]: topologyKey: missing"},
    {ONE("maxSkew: 1, topologyKey: zone"), 0, "[0]: whenUnsatisfiable: neither"},
    {ONE(GOOD ", labelSelector: {}"), 0, "derived from the pod's owner"},
    {ONE(GOOD ", matchLabelKeys: [a]"), 0, "derived from the pod's owner"},
    {ONE(GOOD ", maxskew: 1"), 0, "[0]: maxskew: unknown field"},
    {"{podTopologySpread: {defaultConstraints: [5]}}", 0, "[0]: not an object"},
    {"{podTopologySpread: {defaultConstraint: []}}", 0, "defaultConstraint: unknown field"},
    {"{podTopologySpread: 5}", 0, "podTopologySpread: not an object"},
    {"{nodeAffinity: {}}", 0, "nodeAffinity: unknown field"},
    {"5", 0, "not an object"},
    {"{a", 0, "scheduler-config"},
};

START_TEST(scheduler_config)
{
    begin();
    struct arena a;
    struct err err = ERR_INIT;
    const struct spread *v;
    uint32_t n;
    arena_init(&a, 0, SIZE_MAX);
    int rc = decode_scheduler_config(decoder, &a, config_rows[_i].text, &v, &n, &err);
    ck_assert_msg((rc == 0) == (config_rows[_i].error == NULL), "%s: %s", config_rows[_i].text,
                  err.msg);
    if (rc != 0) {
        ck_assert_msg(str_contains(err.msg, config_rows[_i].error), "%s: %s", config_rows[_i].text,
                      err.msg);
    } else {
        ck_assert_uint_eq(n, config_rows[_i].n);
    }
    if (rc == 0 && n > 0) {
        ck_assert_int_eq(v[0].max_skew, 2);
        ck_assert(!v[0].soft && v[0].honor_affinity);
    }
    arena_done(&a);
    end();
}
END_TEST

UNIT_MAIN("decode_topology", UNIT_CASES(scheduler_config, config_rows),
          UNIT_CASES(selectors, selector_rows), UNIT_CASES(spreads, spread_rows), UNIT_TEST(terms),
          UNIT_CASES(same, same_rows), UNIT_TEST(pod_volumes), UNIT_TEST(volumes),
          UNIT_CASES(bad, bad_rows))
