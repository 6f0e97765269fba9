/*
 * The simulated API server answers as the real one: tests/e2e/conformance/requests.yaml, the table
 * that the end-to-end tests play against kube-apiserver (see there for its format).
 */
#include "common/base/buf.h"
#include "common/base/yamlx.h"
#include "simrig.h"

#include <ctype.h>

#define TABLE "tests/e2e/conformance/requests.yaml"
#define TABLE_BYTES (1u << 20)
#define COMPLAINTS_MAX 65536

struct play {
    struct sim_world *w;
    const json_t *table;
    const char *name;
    size_t step, n, bad;
    json_t *saved;
    struct buf complaints;
};

/* ---- the table --------------------------------------------------------------------------------
 */

static json_t *load_table(void)
{
    struct err e = ERR_INIT;
    FILE *f = fopen(TABLE, "rb");
    ck_assert_msg(f != NULL, "%s cannot be read", TABLE);
    AUTO_FREE char *text = xmalloc(TABLE_BYTES);
    size_t n = fread(text, 1, TABLE_BYTES, f);
    fclose(f);
    AUTO_JSON json_t *docs = yamlx_parse_all(text, n, TABLE, NULL, &e);
    ck_assert_msg(json_array_size(docs) == 1, "%s", e.msg);
    return json_incref(json_array_get(docs, 0));
}

/* The text with $name replaced by what was saved under it. */
static json_t *fill_text(const struct play *p, const char *text)
{
    AUTO_BUF struct buf b = {0};
    buf_init(&b, 1 << 16);
    while (*text) {
        size_t n = 1;
        while (*text == '$' && (isalnum((unsigned char)text[n]) || text[n] == '_')) {
            n++;
        }
        AUTO_FREE char *key = xstrndup(text + 1, n - 1);
        const json_t *v = *text == '$' ? json_object_get(p->saved, key) : NULL;
        if (v) {
            buf_puts(&b, json_string_value(v));
        } else {
            buf_put(&b, text, n);
        }
        text += n;
    }
    AUTO_FREE char *out = buf_take(&b);
    return json_string(out ? out : "");
}

static json_t *fill(const struct play *p, const json_t *v)
{
    const char *key;
    json_t *one, *out;
    size_t i;
    if (json_is_string(v)) {
        return fill_text(p, json_string_value(v));
    }
    if (json_is_array(v)) {
        out = json_array();
        json_array_foreach ((json_t *)v, i, one) {
            json_array_append_new(out, fill(p, one));
        }
        return out;
    }
    if (!json_is_object(v)) {
        return json_deep_copy(v);
    }
    out = json_object();
    json_object_foreach ((json_t *)v, key, one) {
        json_object_set_new(out, key, fill(p, one));
    }
    return out;
}

static void complain(struct play *p, const char *fmt, ...) PRINTF(2, 3);
static void complain(struct play *p, const char *fmt, ...)
{
    char text[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    p->bad++;
    buf_printf(&p->complaints, "\n%s, step %zu: %s", p->name, p->step, text);
}

/* "POST cm/a" -> method and path; heap. */
static char *path_of(const struct play *p, const char *action, char method[16])
{
    size_t n = strcspn(action, " ");
    snprintf(method, 16, "%.*s", (int)n, action);
    const char *rest = action + n + 1;
    size_t len = 0;
    while (isalnum((unsigned char)rest[len])) {
        len++;
    }
    AUTO_FREE char *key = xstrndup(rest, len);
    const char *base = jsonx_str(json_object_get(p->table, "paths"), key);
    ck_assert_msg(base != NULL, "no path %s", key);
    return xasprintf("%s%s", base, rest + len);
}

/* ---- judging ----------------------------------------------------------------------------------
 */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted, with blanks between; heap. */
static char *sorted(const json_t *list, const char *field)
{
    AUTO_BUF struct buf b = {0};
    size_t n = json_array_size(list);
    AUTO_FREE const char **all = NEW_N(const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(list, i);
        const char *s = field ? jsonx_str(v, field) : json_string_value(v);
        all[i] = s ? s : "";
    }
    qsort(all, n, sizeof(*all), by_text);
    buf_init(&b, 1 << 16);
    for (size_t i = 0; i < n; i++) {
        buf_printf(&b, "%s ", all[i]);
    }
    return buf_take(&b);
}

static void judge_values(struct play *p, const json_t *step, const json_t *body)
{
    const char *path;
    json_t *want, *one;
    size_t i;
    json_object_foreach (json_object_get(step, "has"), path, want) {
        const json_t *seen = jsonx_at(body, path);
        if (!seen || !json_equal(seen, want)) {
            AUTO_FREE char *text = seen ? json_dumps(seen, JSON_ENCODE_ANY) : xstrdup("absent");
            complain(p, "%s is %s", path, text);
        }
    }
    json_array_foreach (json_object_get(step, "lacks"), i, one) {
        if (jsonx_at(body, json_string_value(one))) {
            complain(p, "%s is there", json_string_value(one));
        }
    }
}

static void judge(struct play *p, const json_t *step, const struct kube_resp *r)
{
    const char *message = jsonx_str_or(r->body, "message", "");
    const char *part = jsonx_str_or(step, "part", "");
    const char *reason = jsonx_str(step, "reason");
    if (r->status != jsonx_int(step, "code", 0)) {
        complain(p, "%s: %d, not %lld: %s", jsonx_str_or(step, "do", ""), r->status,
                 (long long)jsonx_int(step, "code", 0), message);
        return;
    }
    if (!strstr(message, part)) {
        complain(p, "message is \"%s\", without \"%s\"", message, part);
    }
    if (reason && !str_eq(jsonx_str_or(r->body, "reason", ""), reason)) {
        complain(p, "reason is \"%s\", not \"%s\"", jsonx_str_or(r->body, "reason", ""), reason);
    }
    if (json_object_get(step, "fields")) {
        AUTO_FREE char *want = sorted(json_object_get(step, "fields"), NULL);
        AUTO_FREE char *seen = sorted(jsonx_at(r->body, "details.causes"), "field");
        if (!str_eq(want, seen)) {
            complain(p, "fields %s, not %s: %s", seen, want, message);
        }
    }
    const json_t *count = json_object_get(step, "count");
    size_t items = json_array_size(json_object_get(r->body, "items"));
    if (count && (json_int_t)items != json_integer_value(count)) {
        complain(p, "%zu items", items);
    }
    judge_values(p, step, r->body);
}

/* ---- playing ----------------------------------------------------------------------------------
 */

static struct kube_resp call(struct play *p, const json_t *step)
{
    char method[16];
    AUTO_FREE char *path = path_of(p, jsonx_str_or(step, "do", ""), method);
    const char *type = jsonx_str(step, "type");
    struct kube_req req = {.method = method,
                           .path = path,
                           .body = json_object_get(step, "body"),
                           .content_type = type                      ? type
                                           : str_eq(method, "PATCH") ? KUBE_MERGE_PATCH
                                                                     : NULL};
    struct kube_resp r;
    sim_api_call(p->w->api, "conformance", &req, &r);
    return r;
}

/* True if the answer is as the step says; what is wrong is not said. */
static bool holds(struct play *p, const json_t *step, const struct kube_resp *r)
{
    struct play quiet = *p;
    quiet.bad = 0;
    buf_init(&quiet.complaints, COMPLAINTS_MAX);
    judge(&quiet, step, r);
    buf_done(&quiet.complaints);
    return quiet.bad == 0;
}

struct seen {
    struct buf events;
};

static void on_event(void *arg, enum kube_event_type type, json_t *object)
{
    static const char *const names[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"};
    struct seen *s = arg;
    buf_printf(&s->events, "%s %s, ", names[type], jsonx_str_or(object, "metadata.name", ""));
}

static void on_end(void *arg UNUSED, const struct err *why UNUSED)
{
}

static void watch(struct play *p, const json_t *step)
{
    char method[16];
    struct seen seen = {{0}};
    AUTO_FREE char *path = path_of(p, jsonx_str_or(step, "do", ""), method);
    AUTO_FREE char *full = xasprintf("%s%swatch=true", path, strchr(path, '?') ? "&" : "?");
    struct kube_port *port = sim_api_port(p->w->api, "conformance");
    size_t i;
    json_t *one;
    buf_init(&seen.events, COMPLAINTS_MAX);
    port->watch(port->ctx, full, on_event, on_end, &seen);
    rig_run(p->w, NS_PER_S);
    AUTO_BUF struct buf want = {0};
    buf_init(&want, COMPLAINTS_MAX);
    json_array_foreach (json_object_get(step, "events"), i, one) {
        buf_printf(&want, "%s, ", json_string_value(one));
    }
    AUTO_FREE char *got_text = buf_take(&seen.events);
    AUTO_FREE char *want_text = buf_take(&want);
    if (!str_eq(got_text, want_text)) {
        complain(p, "events %snot %s", got_text, want_text);
    }
    sim_api_port_free(p->w->api, port);
}

static void play_step(struct play *p, const json_t *raw)
{
    AUTO_JSON json_t *step = fill(p, raw);
    p->n++;
    if (str_starts(jsonx_str_or(step, "do", ""), "WATCH ")) {
        watch(p, step);
        return;
    }
    struct kube_resp r = call(p, step);
    for (int64_t left = jsonx_int(step, "wait", 0); left > 0 && !holds(p, step, &r); left--) {
        sim_api_resp_done(&r);
        rig_run(p->w, NS_PER_S);
        r = call(p, step);
    }
    judge(p, step, &r);
    const char *name;
    json_t *path;
    json_object_foreach (json_object_get(step, "save"), name, path) {
        json_t *v = jsonx_at(r.body, json_string_value(path));
        json_object_set_new(p->saved, name, v ? json_incref(v) : json_string(""));
    }
    sim_api_resp_done(&r);
}

START_TEST(answers_as_the_real_one)
{
    AUTO_JSON json_t *table = load_table();
    struct play p = {.table = table};
    size_t i;
    json_t *one;
    buf_init(&p.complaints, COMPLAINTS_MAX);
    json_array_foreach (json_object_get(table, "cases"), i, one) {
        size_t k;
        json_t *step;
        p.w = rig_world(1);
        p.saved = json_object();
        p.name = jsonx_str_or(one, "name", "");
        json_array_foreach (json_object_get(one, "steps"), k, step) {
            p.step = k + 1;
            play_step(&p, step);
            rig_run(p.w, 10 * NS_PER_MS);
        }
        json_decref(p.saved);
        sim_world_free(p.w);
    }
    AUTO_FREE char *text = buf_take(&p.complaints);
    ck_assert_msg(p.bad == 0, "%zu of %zu:%s", p.bad, p.n, text);
    ck_assert_uint_gt(p.n, 150);
}
END_TEST

UNIT_MAIN("sim_conformance", UNIT_TEST(answers_as_the_real_one))
