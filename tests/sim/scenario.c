#include "scenario.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/base/yamlx.h"
#include "common/core/labels.h"
#include "common/kube/decode.h"
#include "step_check.h"
#include "tests/sim/kube/api.h"

#include <errno.h>

static const char *const verb_names[STEP_VERBS] = {
    "apply", "delete", "scale", "patch", "decide", "ec2", "sqs", "api", "agent", "world", "expect"};

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
        if (step_check((enum step_verb)verb, v, place, reterr) < 0) {
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
    static const char *const keys[] = {"replicas", "observers", "flags", NULL};
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
    s->observers = (int)jsonx_int(agent, "observers", 0);
    if (s->replicas < 0 || s->observers < 0 || s->replicas + s->observers > SCENARIO_REPLICAS_MAX) {
        return err_set(reterr, ERR_INVALID,
                       "spec.agent.replicas: must be 0 to %d, together with observers",
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

/* Checked as the agent checks the same text. */
static int read_scheduler(const json_t *spec, struct scenario *s, struct err *reterr)
{
    static const char *const keys[] = {"defaultConstraints", NULL};
    const json_t *o = json_object_get(spec, "scheduler");
    if (!o) {
        return 0;
    }
    if (scenario_keys(o, "spec.scheduler", keys, reterr) < 0) {
        return -1;
    }
    s->default_spreads = json_object_get(o, "defaultConstraints");
    AUTO_JSON json_t *config =
        json_pack("{s:{s:O?}}", "podTopologySpread", "defaultConstraints", s->default_spreads);
    AUTO_FREE char *text = jsonx_dump(config);
    struct symtab *t = labels_symtab_new();
    struct decoder *d = decoder_new(t);
    struct arena a;
    const struct spread *v;
    uint32_t n;
    arena_init(&a, 0, SCENARIO_FILE_MAX);
    int rc = decode_scheduler_config(d, &a, text, &v, &n, reterr);
    arena_done(&a);
    decoder_free(d);
    symtab_free(t);
    return rc ? err_wrap(reterr, "spec.scheduler") : 0;
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
    static const char *const keys[] = {"clock", "region", "scheduler", "ec2",
                                       "agent", "steps",  NULL};
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
    if (read_scheduler(spec, s, reterr) < 0 || read_ec2(spec, s, reterr) < 0 ||
        read_agent(spec, s, reterr) < 0) {
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
    ret->line = (int)json_integer_value(json_array_get(lines, 0));
    if (read_spec(json_array_get(ret->docs, 0), ret, reterr) < 0) {
        err_wrap(reterr, "%s: document at line %d", path, ret->line);
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
