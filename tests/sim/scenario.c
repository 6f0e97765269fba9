#include "scenario.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/base/yamlx.h"
#include "expect.h"
#include "kube/api.h"

#include <errno.h>

static const char *const verb_names[STEP_VERBS] = {"apply", "delete", "scale", "patch", "ec2",
                                                   "sqs",   "api",    "agent", "world", "expect"};

const char *step_verb_name(enum step_verb v)
{
    return verb_names[v];
}

int scenario_keys(const json_t *o, const char *where, const char *const *allowed,
                  struct err *reterr)
{
    const char *key;
    json_t *v;
    if (!json_is_object(o)) {
        return err_set(reterr, ERR_INVALID, "%s: must be a map", where);
    }
    json_object_foreach ((json_t *)(uintptr_t)o, key, v) {
        size_t i = 0;
        while (allowed[i] && !str_eq(allowed[i], key)) {
            i++;
        }
        if (!allowed[i]) {
            return err_set(reterr, ERR_INVALID, "%s.%s: no such field", where, key);
        }
    }
    return 0;
}

int scenario_duration(const json_t *o, const char *key, const char *where, int64_t *ret,
                      struct err *reterr)
{
    const json_t *v = json_object_get(o, key);
    if (!v) {
        return 0;
    }
    if (!json_is_string(v) || !timefmt_parse_duration_days(json_string_value(v), ret) || *ret < 0) {
        return err_set(reterr, ERR_INVALID, "%s.%s: not a duration such as 90s or 5m", where, key);
    }
    return 0;
}

/* ---- one step
 * ------------------------------------------------------------------------------------ */

static int check_kind(const json_t *o, const char *where, struct err *reterr)
{
    const char *kind = jsonx_str(o, "kind");
    if (!kind || !sim_kind_find(kind)) {
        return err_set(reterr, ERR_INVALID, "%s.kind: %s%s%s", where, kind ? "\"" : "is missing",
                       kind ? kind : "", kind ? "\" is not served here" : "");
    }
    return 0;
}

static int check_objects(const json_t *list, const char *where, struct err *reterr)
{
    size_t i;
    json_t *o;
    if (!json_is_array(list)) {
        return err_set(reterr, ERR_INVALID, "%s: must be a list of objects", where);
    }
    json_array_foreach ((json_t *)(uintptr_t)list, i, o) {
        char place[160];
        snprintf(place, sizeof(place), "%.120s[%zu]", where, i);
        if (check_kind(o, place, reterr) < 0) {
            return -1;
        }
    }
    return 0;
}

static int check_expectations(const json_t *list, const char *where, struct err *reterr)
{
    size_t i;
    json_t *o;
    if (!json_is_array(list)) {
        return err_set(reterr, ERR_INVALID, "%s: must be a list of expectations", where);
    }
    json_array_foreach ((json_t *)(uintptr_t)list, i, o) {
        char place[160];
        snprintf(place, sizeof(place), "%.120s[%zu]", where, i);
        if (expect_check(o, place, reterr) < 0) {
            return -1;
        }
    }
    return 0;
}

static const char *const scale_keys[] = {"kind", "namespace", "name", "replicas", NULL};
static const char *const patch_keys[] = {"kind", "namespace", "name", "merge", NULL};
static const char *const sqs_keys[] = {"send", NULL};
static const char *const api_keys[] = {"fail", "latency", "breakWatches", NULL};
static const char *const agent_keys[] = {"crash", "restartAfter", "stop", "start", NULL};
static const char *const world_keys[] = {"stop",    "start",       "clockJump",
                                         "kubelet", "holdVolumes", NULL};

static int check_scale(const json_t *arg, const char *where, struct err *reterr)
{
    if (scenario_keys(arg, where, scale_keys, reterr) < 0 || check_kind(arg, where, reterr) < 0) {
        return -1;
    }
    if (!jsonx_str(arg, "name")) {
        return err_set(reterr, ERR_INVALID, "%s.name: is missing", where);
    }
    if (jsonx_int(arg, "replicas", -1) < 0) {
        return err_set(reterr, ERR_INVALID, "%s.replicas: must be a number of at least 0", where);
    }
    return 0;
}

static int check_patch(const json_t *arg, const char *where, struct err *reterr)
{
    if (scenario_keys(arg, where, patch_keys, reterr) < 0 || check_kind(arg, where, reterr) < 0) {
        return -1;
    }
    if (!jsonx_str(arg, "name") || !jsonx_obj(arg, "merge")) {
        return err_set(reterr, ERR_INVALID, "%s: needs name and merge", where);
    }
    return 0;
}

static int check_agent(const json_t *arg, const char *where, struct err *reterr)
{
    static const char *const crash_keys[] = {"after", "nth", "restartAfter", NULL};
    const json_t *crash = json_object_get(arg, "crash");
    char place[160];
    int64_t ns = 0;
    if (scenario_keys(arg, where, agent_keys, reterr) < 0 ||
        scenario_duration(arg, "restartAfter", where, &ns, reterr) < 0) {
        return -1;
    }
    if (!crash || json_is_true(crash)) {
        return 0;
    }
    snprintf(place, sizeof(place), "%.120s.crash", where);
    if (scenario_keys(crash, place, crash_keys, reterr) < 0 ||
        scenario_duration(crash, "restartAfter", place, &ns, reterr) < 0) {
        return -1;
    }
    const char *after = jsonx_str(crash, "after");
    if (!after || !strchr(after, ':')) {
        return err_set(reterr, ERR_INVALID, "%s.after: must be SERVICE:ACTION", place);
    }
    return 0;
}

static int check_step_arg(enum step_verb verb, const json_t *arg, const char *where,
                          struct err *reterr)
{
    switch (verb) {
    case STEP_APPLY:
    case STEP_DELETE:
        return check_objects(arg, where, reterr);
    case STEP_SCALE:
        return check_scale(arg, where, reterr);
    case STEP_PATCH:
        return check_patch(arg, where, reterr);
    case STEP_SQS:
        return scenario_keys(arg, where, sqs_keys, reterr);
    case STEP_API:
        return scenario_keys(arg, where, api_keys, reterr);
    case STEP_AGENT:
        return check_agent(arg, where, reterr);
    case STEP_WORLD:
        return scenario_keys(arg, where, world_keys, reterr);
    case STEP_EXPECT:
        return check_expectations(arg, where, reterr);
    case STEP_EC2: /* the cloud checks its own fields when the step runs */
    case STEP_VERBS:
        break;
    }
    return json_is_object(arg) ? 0 : err_set(reterr, ERR_INVALID, "%s: must be a map", where);
}

static int read_step(const json_t *o, const char *where, int64_t not_before_ns,
                     struct scenario_step *ret, struct err *reterr)
{
    const char *key;
    json_t *v;
    bool verb_seen = false;
    ret->at_ns = -1;
    if (scenario_duration(o, "at", where, &ret->at_ns, reterr) < 0) {
        return -1;
    }
    if (ret->at_ns < 0) {
        return err_set(reterr, ERR_INVALID, "%s.at: is missing", where);
    }
    if (ret->at_ns < not_before_ns) {
        return err_set(reterr, ERR_INVALID, "%s.at: goes back", where);
    }
    json_object_foreach ((json_t *)(uintptr_t)o, key, v) {
        if (str_eq(key, "at")) {
            continue;
        }
        int verb = 0;
        while (verb < STEP_VERBS && !str_eq(verb_names[verb], key)) {
            verb++;
        }
        if (verb == STEP_VERBS) {
            return err_set(reterr, ERR_INVALID, "%s.%s: no such step", where, key);
        }
        if (verb_seen) {
            return err_set(reterr, ERR_INVALID, "%s: has two verbs, %s is one too many", where,
                           key);
        }
        char place[160];
        snprintf(place, sizeof(place), "%.60s.%.60s", where, key);
        if (check_step_arg((enum step_verb)verb, v, place, reterr) < 0) {
            return -1;
        }
        verb_seen = true;
        ret->verb = (enum step_verb)verb;
        ret->arg = v;
    }
    return verb_seen ? 0 : err_set(reterr, ERR_INVALID, "%s: has no verb", where);
}

/* ---- the Scenario document
 * ----------------------------------------------------------------------- */

static int read_steps(const json_t *spec, struct scenario *s, struct err *reterr)
{
    const json_t *steps = json_object_get(spec, "steps");
    size_t i;
    json_t *o;
    int64_t last_ns = 0;
    if (!json_is_array(steps)) {
        return err_set(reterr, ERR_INVALID, "spec.steps: must be a list");
    }
    if (json_array_size(steps) > SCENARIO_STEPS_MAX) {
        return err_set(reterr, ERR_LIMIT, "spec.steps: more than %u steps", SCENARIO_STEPS_MAX);
    }
    s->steps = NEW_N(struct scenario_step, json_array_size(steps) + 1);
    json_array_foreach ((json_t *)(uintptr_t)steps, i, o) {
        char where[64];
        snprintf(where, sizeof(where), "spec.steps[%zu]", i);
        if (!json_is_object(o)) {
            return err_set(reterr, ERR_INVALID, "%s: must be a map", where);
        }
        if (read_step(o, where, last_ns, &s->steps[i], reterr) < 0) {
            return -1;
        }
        last_ns = s->steps[i].at_ns;
        s->n_steps++;
    }
    return 0;
}

static int read_agent(const json_t *spec, struct scenario *s, struct err *reterr)
{
    static const char *const keys[] = {"replicas", "flags", NULL};
    const json_t *agent = json_object_get(spec, "agent");
    size_t i;
    json_t *flag;
    s->replicas = 1;
    if (!agent) {
        return 0;
    }
    if (scenario_keys(agent, "spec.agent", keys, reterr) < 0) {
        return -1;
    }
    s->replicas = (int)jsonx_int(agent, "replicas", 1);
    if (s->replicas < 0 || s->replicas > SCENARIO_REPLICAS_MAX) {
        return err_set(reterr, ERR_INVALID, "spec.agent.replicas: must be 0 to %d",
                       SCENARIO_REPLICAS_MAX);
    }
    json_array_foreach (json_object_get(agent, "flags"), i, flag) {
        if (!json_is_string(flag) || i >= SCENARIO_FLAGS_MAX) {
            return err_set(reterr, ERR_INVALID, "spec.agent.flags[%zu]: must be a string", i);
        }
        s->flags[i] = json_string_value(flag);
    }
    return 0;
}

static int read_ec2(const json_t *spec, struct scenario *s, struct err *reterr)
{
    static const char *const keys[] = {"types", "boot",          "ready", "onDemand",
                                       "spot",  "outOfCapacity", NULL};
    s->ec2 = json_object_get(spec, "ec2");
    s->ready_ns = 8 * NS_PER_S;
    if (!s->ec2) {
        return 0;
    }
    if (scenario_keys(s->ec2, "spec.ec2", keys, reterr) < 0) {
        return -1;
    }
    return scenario_duration(s->ec2, "ready", "spec.ec2", &s->ready_ns, reterr);
}

static int read_spec(const json_t *doc, struct scenario *s, struct err *reterr)
{
    static const char *const top[] = {"apiVersion", "kind", "metadata", "spec", NULL};
    static const char *const keys[] = {"clock", "region", "ec2", "agent", "steps", NULL};
    const json_t *spec = json_object_get(doc, "spec");
    if (!str_eq(jsonx_str(doc, "apiVersion"), "karp.dev/v1alpha1") ||
        !str_eq(jsonx_str(doc, "kind"), "Scenario")) {
        return err_set(reterr, ERR_INVALID,
                       "the first document must be a Scenario of karp.dev/v1alpha1");
    }
    if (scenario_keys(doc, "Scenario", top, reterr) < 0 ||
        scenario_keys(spec, "spec", keys, reterr) < 0) {
        return -1;
    }
    s->name = jsonx_str(doc, "metadata.name");
    if (!s->name) {
        return err_set(reterr, ERR_INVALID, "metadata.name: is missing");
    }
    const char *clock = jsonx_str_or(spec, "clock", "2026-01-05T09:00:00Z");
    if (!timefmt_parse_rfc3339(clock, &s->start_wall_ns)) {
        return err_set(reterr, ERR_INVALID, "spec.clock: \"%s\" is no RFC 3339 time", clock);
    }
    s->region = jsonx_str_or(spec, "region", "us-west-2");
    if (read_ec2(spec, s, reterr) < 0 || read_agent(spec, s, reterr) < 0) {
        return -1;
    }
    return read_steps(spec, s, reterr);
}

/* ---- the file
 * ------------------------------------------------------------------------------------ */

static int read_file(const char *path, struct buf *out, struct err *reterr)
{
    char chunk[65536];
    size_t n;
    FILE *f = fopen(path, "rb");
    if (!f) {
        return err_set(reterr, ERR_INVALID, "%s: %s", path, strerror(errno));
    }
    while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0) {
        buf_put(out, chunk, n);
    }
    bool broken = ferror(f) != 0;
    fclose(f);
    if (broken || out->over) {
        return err_set(reterr, ERR_INVALID, "%s: %s", path,
                       broken ? "cannot be read" : "is larger than 16 MiB");
    }
    return 0;
}

static int check_object_docs(struct scenario *s, const json_t *lines, struct err *reterr)
{
    for (size_t i = s->first_object; i < json_array_size(s->docs); i++) {
        const json_t *o = json_array_get(s->docs, i);
        struct err why = ERR_INIT;
        if (!json_is_object(o)) {
            err_set(&why, ERR_INVALID, "must be a map");
        } else if (!sim_kind_of(o)) {
            err_set(&why, ERR_INVALID, "%s of %s is not served here",
                    jsonx_str_or(o, "kind", "(no kind)"),
                    jsonx_str_or(o, "apiVersion", "(no apiVersion)"));
        }
        if (why.kind) {
            return err_set(reterr, ERR_INVALID, "%s: document at line %lld: %s", s->path,
                           (long long)json_integer_value(json_array_get(lines, i)), why.msg);
        }
    }
    return 0;
}

int scenario_read(const char *path, struct scenario *ret, struct err *reterr)
{
    AUTO_BUF struct buf text;
    AUTO_JSON json_t *lines = NULL;
    memset(ret, 0, sizeof(*ret));
    buf_init(&text, SCENARIO_FILE_MAX);
    if (read_file(path, &text, reterr) < 0) {
        return -1;
    }
    ret->path = xstrdup(path);
    ret->docs = yamlx_parse_all(text.p, text.n, path, &lines, reterr);
    if (!ret->docs) {
        goto fail;
    }
    ret->first_object = 1;
    if (json_array_size(ret->docs) == 0) {
        err_set(reterr, ERR_INVALID, "%s: is empty", path);
        goto fail;
    }
    if (read_spec(json_array_get(ret->docs, 0), ret, reterr) < 0) {
        err_wrap(reterr, "%s: document at line %lld", path,
                 (long long)json_integer_value(json_array_get(lines, 0)));
        goto fail;
    }
    if (check_object_docs(ret, lines, reterr) < 0) {
        goto fail;
    }
    return 0;
fail:
    scenario_done(ret);
    return -1;
}

void scenario_done(struct scenario *s)
{
    json_decref(s->docs);
    free(s->steps);
    free(s->path);
    memset(s, 0, sizeof(*s));
}
