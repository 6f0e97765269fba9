#include "events.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#include <ctype.h>
#include <stdarg.h>

#define NAME_PREFIX_MAX 200u /* an Event's name has at most 253 characters */

/* One thing that was said. */
struct said {
    char key[SHA256_HEX];
    char *ns, *name; /* of the Event object; name NULL until it was written */
    int64_t posted_ns;
    int64_t count;
    struct said *older, *newer;
};

/* One request on its way; it finds its entry again by key, which may have been dropped. */
struct writing {
    struct events *e;
    struct writing *next, **prev;
    uint64_t handle;
    char key[SHA256_HEX];
    char *ns, *name;
    json_t *event; /* the whole Event, to be written anew if a patch finds none */
};

struct events {
    struct events_env env;
    struct map *said; /* key to struct said */
    struct said *oldest, *newest;
    struct writing *writing;
    unsigned n_writing;
    int64_t tokens_milli;
    int64_t filled_ns;
    bool enabled;
    struct events_stats stats;
};

/* ---- what was said --------------------------------------------------------------------------- */

static void unlink_said(struct events *e, struct said *s)
{
    *(s->older ? &s->older->newer : &e->oldest) = s->newer;
    *(s->newer ? &s->newer->older : &e->newest) = s->older;
}

static void append_said(struct events *e, struct said *s)
{
    s->older = e->newest;
    s->newer = NULL;
    *(e->newest ? &e->newest->newer : &e->oldest) = s;
    e->newest = s;
}

static void drop_said(struct events *e, struct said *s)
{
    map_del(e->said, s->key);
    unlink_said(e, s);
    free(s->ns);
    free(s->name);
    free(s);
}

/* The entry of that key, now the newest; made if there is none. */
static struct said *touch_said(struct events *e, const char *key)
{
    struct said *s = map_get(e->said, key);
    if (s) {
        unlink_said(e, s);
    } else {
        if (map_count(e->said) >= EVENTS_KEYS_MAX) {
            drop_said(e, e->oldest);
        }
        s = NEW(struct said);
        str_copy(s->key, sizeof(s->key), key);
        map_put(e->said, key, s, NULL);
    }
    append_said(e, s);
    return s;
}

struct events *events_new(const struct events_env *env)
{
    struct events *e = NEW(struct events);
    e->env = *env;
    e->said = map_new(EVENTS_KEYS_MAX);
    e->tokens_milli = EVENTS_BURST * 1000;
    e->filled_ns = clock_mono(env->clock);
    e->enabled = true;
    return e;
}

static void writing_free(struct writing *w)
{
    *w->prev = w->next;
    if (w->next) {
        w->next->prev = w->prev;
    }
    w->e->n_writing--;
    json_decref(w->event);
    free(w->ns);
    free(w->name);
    free(w);
}

void events_free(struct events *e)
{
    if (!e) {
        return;
    }
    while (e->writing) {
        kube_cancel(e->env.client, e->writing->handle);
        writing_free(e->writing);
    }
    while (e->oldest) {
        drop_said(e, e->oldest);
    }
    map_free(e->said);
    free(e);
}

void events_enable(struct events *e, bool on)
{
    e->enabled = on;
}

struct events_stats events_stats(const struct events *e)
{
    return e->stats;
}

/* ---- the bucket ------------------------------------------------------------------------------ */

static bool take_token(struct events *e)
{
    int64_t now_ns = clock_mono(e->env.clock);
    int64_t passed_ms = (now_ns - e->filled_ns) / NS_PER_MS;
    int64_t full = EVENTS_BURST * 1000;
    if (passed_ms > full / EVENTS_PER_S) {
        e->tokens_milli = full;
        e->filled_ns = now_ns;
    } else if (passed_ms > 0) {
        int64_t filled = e->tokens_milli + passed_ms * EVENTS_PER_S;
        e->tokens_milli = filled < full ? filled : full;
        e->filled_ns += passed_ms * NS_PER_MS;
    }
    if (e->tokens_milli < 1000) {
        return false;
    }
    e->tokens_milli -= 1000;
    return true;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void on_created(void *arg, const struct kube_resp *resp);

static void write_new(struct writing *w)
{
    w->handle = kube_create(w->e->env.client, KIND_EVENT, w->ns, w->event, on_created, w);
}

static void written(struct writing *w, const struct kube_resp *resp)
{
    struct events *e = w->e;
    struct said *s = map_get(e->said, w->key);
    if (resp->err.kind == ERR_NONE) {
        e->stats.written++;
        if (s && !s->name) {
            s->ns = xstrdup(w->ns);
            s->name = xstrdup(w->name);
        }
    } else {
        e->stats.failed++;
        if (s) {
            s->posted_ns = INT64_MIN; /* nobody has heard it: the next post may say it */
        }
    }
    writing_free(w);
}

static void on_created(void *arg, const struct kube_resp *resp)
{
    written(arg, resp);
}

/* An Event lives an hour at the server: the one to count up may be gone. */
static void on_patched(void *arg, const struct kube_resp *resp)
{
    struct writing *w = arg;
    if (resp->err.kind != ERR_NOT_FOUND) {
        written(w, resp);
        return;
    }
    struct said *s = map_get(w->e->said, w->key);
    if (s) {
        free(s->ns);
        free(s->name);
        s->ns = s->name = NULL;
        s->count = 1;
    }
    write_new(w);
}

static void write_count(struct writing *w, const struct said *s)
{
    AUTO_JSON json_t *patch = json_object();
    json_object_set_new(patch, "count", json_integer(s->count));
    json_object_set(patch, "lastTimestamp", json_object_get(w->event, "lastTimestamp"));
    json_object_set(patch, "message", json_object_get(w->event, "message"));
    w->handle =
        kube_patch(w->e->env.client, KIND_EVENT, s->ns, s->name, NULL, patch, NULL, on_patched, w);
}

static char *event_name(struct events *e, const char *about)
{
    size_t n = strlen(about);
    n = n < NAME_PREFIX_MAX ? n : NAME_PREFIX_MAX;
    while (n > 0 && !isalnum((unsigned char)about[n - 1])) {
        n--;
    }
    uint64_t id = e->env.entropy->next(e->env.entropy->ctx);
    return xasprintf("%.*s.%016llx", (int)n, about, (unsigned long long)id);
}

static json_t *event_object(struct events *e, const struct writing *w,
                            const struct events_subject *about, bool warning, const char *reason,
                            const char *message)
{
    const struct kube_kind_info *info = kube_kind(about->kind);
    char now[TIMEFMT_TEXT];
    timefmt_rfc3339(clock_wall(e->env.clock), now);
    json_t *o =
        json_pack("{s:{s:s, s:s}, s:{s:s, s:s, s:s}, s:s, s:s, s:{s:s}, s:s, s:i, s:s, s:s, s:s, "
                  "s:s}",
                  "metadata", "name", w->name, "namespace", w->ns, /* */
                  "involvedObject", "apiVersion", info->api_version, "kind", info->kind, "name",
                  about->name,                                        /* */
                  "reason", reason, "message", message,               /* */
                  "source", "component", EVENTS_COMPONENT,            /* */
                  "type", warning ? "Warning" : "Normal", "count", 1, /* */
                  "firstTimestamp", now, "lastTimestamp", now,        /* */
                  "reportingComponent", EVENTS_COMPONENT, "reportingInstance",
                  e->env.host ? e->env.host : "");
    json_t *involved = json_object_get(o, "involvedObject");
    if (about->uid && *about->uid) {
        json_object_set_new(involved, "uid", json_string(about->uid));
    }
    if (about->ns && *about->ns) {
        json_object_set_new(involved, "namespace", json_string(about->ns));
    }
    return o;
}

static void write_event(struct events *e, struct said *s, const struct events_subject *about,
                        bool warning, const char *reason, const char *message)
{
    struct writing *w = NEW(struct writing);
    w->e = e;
    w->next = e->writing;
    w->prev = &e->writing;
    if (w->next) {
        w->next->prev = &w->next;
    }
    e->writing = w;
    e->n_writing++;
    memcpy(w->key, s->key, sizeof(w->key));
    w->ns = xstrdup(about->ns && *about->ns ? about->ns : "default");
    w->name = event_name(e, about->name);
    w->event = event_object(e, w, about, warning, reason, message);
    if (s->name) {
        s->count++;
        write_count(w, s);
    } else {
        s->count = 1;
        write_new(w);
    }
}

/* ---- posting --------------------------------------------------------------------------------- */

/* Cuts to size and replaces what is not UTF-8, which JSON could not carry. */
static char *clean_message(char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < n;) {
        size_t len = str_utf8_len(text + i, n - i);
        if (len == 0) {
            text[i] = '?';
            len = 1;
        }
        i += len;
    }
    if (n <= EVENTS_MESSAGE_MAX) {
        return text;
    }
    static const char dots[] = "\xe2\x80\xa6";
    size_t cut = str_cut(text, EVENTS_MESSAGE_MAX - (sizeof(dots) - 1));
    memcpy(text + cut, dots, sizeof(dots));
    return text;
}

static void make_key(const struct events_subject *about, const char *reason, const char *dedupe,
                     char key[SHA256_HEX])
{
    AUTO_FREE char *text =
        xasprintf("%d/%s/%s/%s/%s/%s", (int)about->kind, about->ns ? about->ns : "", about->name,
                  about->uid ? about->uid : "", reason, dedupe);
    hash_sha256_hex(text, strlen(text), key);
}

void events_post(struct events *e, const struct events_subject *about, bool warning,
                 const char *reason, const char *dedupe, int64_t window_ns, const char *fmt, ...)
{
    if (!e->enabled) {
        return;
    }
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0) {
        abort(); /* out of memory, as everywhere */
    }
    AUTO_FREE char *message = clean_message(text);
    char key[SHA256_HEX];
    make_key(about, reason, dedupe ? dedupe : message, key);
    int64_t now_ns = clock_mono(e->env.clock);
    window_ns = window_ns ? window_ns : EVENTS_WINDOW_NS;
    struct said *s = map_get(e->said, key);
    if (s && s->posted_ns != INT64_MIN && now_ns - s->posted_ns < window_ns) {
        e->stats.deduplicated++;
        touch_said(e, key);
    } else if (e->n_writing >= EVENTS_IN_FLIGHT_MAX || !take_token(e)) {
        /* Not remembered: ten thousand that are never told must not push out those that were. */
        e->stats.limited++;
    } else {
        s = touch_said(e, key);
        s->posted_ns = now_ns;
        write_event(e, s, about, warning, reason, message);
    }
}
