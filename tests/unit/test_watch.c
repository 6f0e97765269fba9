#include "unit.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/kube/list.h"
#include "common/kube/watch.h"

/*
 * A kube_port that answers when the script says so, a clock that stands still, and an owner who
 * writes down what it hears. One row is one script.
 */
struct open_req {
    uint64_t handle; /* 0 = none */
    char path[512];
    kube_done_fn done;
    kube_event_fn event;
    kube_end_fn end;
    void *arg;
};

static struct {
    struct kube_port port;
    struct kube_client client;
    struct clock clock;
    struct timers timers;
    struct entropy entropy;
    uint64_t seed, last_handle;
    int64_t now_ns;
    struct open_req list, watch;
    unsigned cancelled;
    struct buf heard;
    struct watch *w;
    const char *free_on; /* the owner frees the watch when it hears this */
} f;

static uint64_t fake_open(struct open_req *r, const char *path, void *arg)
{
    ck_assert_msg(r->handle == 0, "a second request while %s is open: %s", r->path, path);
    str_copy(r->path, sizeof(r->path), path);
    r->arg = arg;
    r->handle = ++f.last_handle;
    return r->handle;
}

static uint64_t fake_request(void *ctx UNUSED, const struct kube_req *req, kube_done_fn done,
                             void *arg)
{
    ck_assert_str_eq(req->method, "GET");
    f.list.done = done;
    return fake_open(&f.list, req->path, arg);
}

static uint64_t fake_watch(void *ctx UNUSED, const char *path, kube_event_fn event, kube_end_fn end,
                           void *arg)
{
    f.watch.event = event;
    f.watch.end = end;
    return fake_open(&f.watch, path, arg);
}

static void fake_cancel(void *ctx UNUSED, uint64_t handle)
{
    f.cancelled += f.list.handle == handle || f.watch.handle == handle;
    f.list.handle = f.list.handle == handle ? 0 : f.list.handle;
    f.watch.handle = f.watch.handle == handle ? 0 : f.watch.handle;
}

static int64_t fake_now(void *ctx UNUSED)
{
    return f.now_ns;
}

/* ---- the owner ------------------------------------------------------------------------------- */

static void hear(const char *fmt, const char *name)
{
    buf_puts(&f.heard, f.heard.n ? " " : "");
    size_t at = f.heard.n;
    buf_printf(&f.heard, fmt, name);
    if (f.free_on && str_eq(f.heard.p + at, f.free_on)) {
        watch_free(f.w);
        f.w = NULL;
    }
}

static void on_begin(void *arg UNUSED)
{
    hear("%s", "begin");
}

static void on_object(void *arg UNUSED, json_t *o)
{
    ck_assert_str_eq(jsonx_str_or(o, "kind", ""), "Pod");
    hear("%s", jsonx_str_or(o, "metadata.name", "?"));
}

static void on_removed(void *arg UNUSED, json_t *o)
{
    hear("-%s", jsonx_str_or(o, "metadata.name", "?"));
}

static void on_list_end(void *arg UNUSED)
{
    hear("%s", "end");
}

static void on_failed(void *arg UNUSED, const struct err *why)
{
    ck_assert_uint_gt(strlen(why->msg), 0);
    hear("!%s", err_kind_name(why->kind));
}

/* ---- what the script does -------------------------------------------------------------------- */

/* "10 next a b": resourceVersion 10, continue token "next" ("." = none), objects a and b. */
static void answer_page(const char *text)
{
    AUTO_FREE char *copy = xstrdup(text);
    char *save = NULL;
    const char *rv = strtok_r(copy, " ", &save);
    const char *next = strtok_r(NULL, " ", &save);
    AUTO_JSON json_t *page =
        json_pack("{s:{s:s}, s:[]}", "metadata", "resourceVersion", rv, "items");
    if (!str_eq(next, ".")) {
        jsonx_set_new(page, "metadata.continue", json_string(next));
    }
    for (char *name; (name = strtok_r(NULL, " ", &save)) != NULL;) {
        json_array_append_new(
            json_object_get(page, "items"),
            json_pack("{s:{s:s, s:s}}", "metadata", "name", name, "resourceVersion", "1"));
    }
    struct kube_resp resp = {.status = 200, .body = page};
    ck_assert_msg(f.list.handle != 0, "no list is open");
    f.list.handle = 0;
    f.list.done(f.list.arg, &resp);
}

static enum err_kind kind_named(const char *name)
{
    for (int k = 0; k <= ERR_BUG; k++) {
        if (str_eq(err_kind_name((enum err_kind)k), name)) {
            return (enum err_kind)k;
        }
    }
    ck_abort_msg("no error kind %s", name);
    return ERR_NONE;
}

/* "Gone" or "Throttled 5s": the open list or watch ends with that. */
static void answer_error(const char *text)
{
    struct err err = ERR_INIT;
    char kind[32];
    size_t n = strcspn(text, " ");
    (void)snprintf(kind, sizeof(kind), "%.*s", (int)n, text);
    err_set(&err, kind_named(kind), "scripted");
    if (text[n]) {
        ck_assert(timefmt_parse_duration(text + n + 1, &err.retry_after_ns));
    }
    if (f.list.handle) {
        struct kube_resp resp = {.err = err};
        f.list.handle = 0;
        f.list.done(f.list.arg, &resp);
        return;
    }
    ck_assert_msg(f.watch.handle != 0, "nothing is open");
    f.watch.handle = 0;
    f.watch.end(f.watch.arg, &err);
}

/* "+a 11", "~a 12", "-a 13", "B 14": added, modified, deleted, bookmark, with resourceVersion. */
static void send_event(const char *text)
{
    char name[16];
    size_t n = strcspn(text, " ");
    (void)snprintf(name, sizeof(name), "%.*s", (int)n - 1, text + 1);
    AUTO_JSON json_t *o = json_pack("{s:s, s:{s:s, s:s}}", "kind", "Pod", "metadata", "name", name,
                                    "resourceVersion", text + n + 1);
    enum kube_event_type type = text[0] == '+'   ? KUBE_ADDED
                                : text[0] == '~' ? KUBE_MODIFIED
                                : text[0] == '-' ? KUBE_DELETED
                                                 : KUBE_BOOKMARK;
    ck_assert_msg(f.watch.handle != 0, "no watch is open");
    f.watch.event(f.watch.arg, type, o);
}

static void end_watch(void)
{
    struct err none = ERR_INIT;
    ck_assert_msg(f.watch.handle != 0, "no watch is open");
    f.watch.handle = 0;
    f.watch.end(f.watch.arg, &none);
}

static void advance(const char *text)
{
    int64_t ns;
    ck_assert(timefmt_parse_duration(text, &ns));
    int64_t until_ns = f.now_ns + ns;
    while (timers_next_ns(&f.timers) <= until_ns) {
        f.now_ns = timers_next_ns(&f.timers) > f.now_ns ? timers_next_ns(&f.timers) : f.now_ns;
        ck_assert(timers_run_one(&f.timers, f.now_ns));
    }
    f.now_ns = until_ns;
}

static void check_open(const char *what, const struct open_req *r, const char *text)
{
    if (str_eq(text, "none")) {
        ck_assert_msg(r->handle == 0, "%s is open: %s", what, r->path);
        return;
    }
    ck_assert_msg(r->handle != 0, "no %s is open (%s)", what, text);
    ck_assert_msg(str_contains(r->path, text), "%s %s lacks %s", what, r->path, text);
}

static void check_heard(const char *text)
{
    ck_assert_msg(str_eq(f.heard.p, text), "heard \"%s\", not \"%s\"", f.heard.p, text);
    buf_reset(&f.heard);
}

/* "synced", "unsynced", "fine", or the kind of the error that lasts. */
static void check_state(const char *text)
{
    if (str_eq(text, "synced") || str_eq(text, "unsynced")) {
        ck_assert_int_eq(watch_synced(f.w), str_eq(text, "synced"));
        return;
    }
    const struct err *e = watch_error(f.w);
    ck_assert_str_eq(e ? err_kind_name(e->kind) : "fine", text);
}

/*
 * L/W  a list or watch is open whose path has this ("none": none is)     P  answer with a page
 * E    an event                   X  the open one ends with an error     O  the watch ends in order
 * T    time passes                =  what the owner heard since          S  state
 * F    the owner will free when it hears this
 */
struct step {
    char op;
    const char *text;
};

static void run_step(const struct step *s)
{
    switch (s->op) {
    case 'L':
        check_open("list", &f.list, s->text);
        break;
    case 'W':
        check_open("watch", &f.watch, s->text);
        break;
    case 'P':
        answer_page(s->text);
        break;
    case 'E':
        send_event(s->text);
        break;
    case 'X':
        answer_error(s->text);
        break;
    case 'O':
        end_watch();
        break;
    case 'T':
        advance(s->text);
        break;
    case '=':
        check_heard(s->text);
        break;
    case 'S':
        check_state(s->text);
        break;
    case 'F':
        f.free_on = s->text;
        break;
    default:
        ck_abort_msg("no step %c", s->op);
    }
}

struct script {
    const char *name;
    struct step steps[40];
};

#define SYNC                                                                                       \
    {'P', "10 . a"}, {'=', "begin a end"},                                                         \
    {                                                                                              \
        'W', "resourceVersion=10"                                                                  \
    }

static const struct script scripts[] = {
    {"pages",
     {{'L', "/api/v1/pods?limit=250"},
      {'S', "unsynced"},
      {'P', "10 t1 a b"},
      {'=', "begin a b"},
      {'L', "continue=t1"},
      {'W', "none"},
      {'S', "unsynced"},
      {'P', "10 t%2 c"},
      {'=', "c"},
      {'L', "continue=t%252"},
      {'P', "10 ."},
      {'=', "end"},
      {'L', "none"},
      {'S', "synced"},
      {'W', "allowWatchBookmarks=true"},
      {'W', "resourceVersion=10"},
      {'W', "timeoutSeconds="},
      {'W', "watch=true"}}},
    {"an empty list", {{'P', "5 ."}, {'=', "begin end"}, {'W', "resourceVersion=5"}}},
    {"events in order",
     {SYNC, {'E', "+b 11"}, {'E', "~a 12"}, {'E', "-b 13"}, {'=', "b a -b"}, {'S', "fine"}}},
    {"an orderly end goes on from the last event",
     {SYNC, {'E', "+b 11"}, {'O', ""}, {'W', "resourceVersion=11"}, {'L', "none"}, {'=', "b"}}},
    {"a bookmark moves on without a word",
     {SYNC, {'E', "B 99"}, {'O', ""}, {'W', "resourceVersion=99"}, {'=', ""}}},
    {"an orderly end after a while without events",
     {SYNC, {'T', "5s"}, {'O', ""}, {'W', "resourceVersion=10"}, {'S', "fine"}}},
    {"closed at once is a failure",
     {SYNC,
      {'O', ""},
      {'W', "none"},
      {'=', "!Unavailable"},
      {'T', "1600ms"},
      {'W', "resourceVersion=10"}}},
    {"a break backs off and goes on from the last event",
     {SYNC,
      {'E', "+b 11"},
      {'X', "Unavailable"},
      {'=', "b !Unavailable"},
      {'S', "Unavailable"},
      {'S', "synced"},
      {'W', "none"},
      {'T', "799ms"},
      {'W', "none"},
      {'T', "801ms"},
      {'W', "resourceVersion=11"},
      {'L', "none"},
      {'S', "Unavailable"},
      {'E', "B 12"},
      {'S', "fine"}}},
    {"410 as an answer lists again at once",
     {SYNC,
      {'X', "Gone"},
      {'=', "!Gone"},
      {'T', "0s"},
      {'L', "limit=250"},
      {'P', "20 . c"},
      {'=', "begin c end"},
      {'W', "resourceVersion=20"}}},
    {"410 again and again backs off",
     {SYNC,
      {'X', "Gone"},
      {'T', "0s"},
      {'P', "20 ."},
      {'X', "Gone"},
      {'T', "799ms"},
      {'L', "none"},
      {'T', "5s"},
      {'L', "limit=250"}}},
    {"410 after two minutes of health is answered at once again",
     {SYNC,
      {'X', "Gone"},
      {'T', "0s"},
      {'P', "20 ."},
      {'T', "121s"},
      {'E', "B 21"},
      {'X', "Gone"},
      {'T', "0s"},
      {'L', "limit=250"}}},
    {"an expired page starts the list over",
     {{'P', "10 t1 a"},
      {'=', "begin a"},
      {'L', "continue=t1"},
      {'X', "Gone"},
      {'L', "/api/v1/pods?limit=250"},
      {'=', ""},
      {'P', "12 . b"},
      {'=', "begin b end"},
      {'W', "resourceVersion=12"}}},
    {"a list that expires for ever gives up and backs off",
     {{'P', "1 t"},
      {'X', "Gone"},
      {'P', "2 t"},
      {'X', "Gone"},
      {'P', "3 t"},
      {'X', "Gone"},
      {'P', "4 t"},
      {'X', "Gone"},
      {'P', "5 t"},
      {'X', "Gone"},
      {'P', "6 t"},
      {'X', "Gone"},
      {'=', "begin begin begin begin begin begin !Gone"},
      {'L', "none"},
      {'T', "2s"},
      {'L', "limit=250"}}},
    {"a list that fails backs off longer and longer",
     {{'X', "Forbidden"}, {'=', "!Forbidden"}, {'S', "Forbidden"}, {'S', "unsynced"},
      {'T', "1600ms"},    {'L', "pods"},       {'X', "Forbidden"}, {'T', "1500ms"},
      {'L', "none"},      {'T', "1700ms"},     {'L', "pods"},      {'X', "Forbidden"},
      {'T', "3100ms"},    {'L', "none"},       {'T', "3300ms"},    {'L', "pods"},
      {'X', "Forbidden"}, {'T', "13s"},        {'X', "Forbidden"}, {'T', "26s"},
      {'X', "Forbidden"}, {'T', "30s"},        {'X', "Forbidden"}, {'T', "14s"},
      {'L', "none"},      {'T', "16s"},        {'P', "9 ."},       {'S', "synced"},
      {'S', "fine"}}},
    {"the server's wish counts",
     {{'X', "Throttled 45s"}, {'T', "44s"}, {'L', "none"}, {'T', "1s"}, {'L', "pods"}}},
    {"a page that fails starts over",
     {{'P', "10 t1 a"},
      {'X', "Timeout"},
      {'T', "2s"},
      {'L', "/api/v1/pods?limit=250"},
      {'P', "11 . a"},
      {'=', "begin a !Timeout begin a end"}}},
    {"a stall is a failure",
     {SYNC,
      {'T', "149s"},
      {'E', "B 11"},
      {'T', "149s"},
      {'W', "resourceVersion=10"},
      {'=', ""},
      {'T', "1s"},
      {'=', "!Timeout"},
      {'W', "none"},
      {'T', "2s"},
      {'W', "resourceVersion=11"}}},
    {"five tries without a word list again",
     {SYNC,
      {'X', "Unavailable"},
      {'T', "30s"},
      {'X', "Unavailable"},
      {'T', "30s"},
      {'X', "Unavailable"},
      {'T', "30s"},
      {'X', "Unavailable"},
      {'T', "30s"},
      {'W', "resourceVersion=10"},
      {'X', "Unavailable"},
      {'T', "30s"},
      {'L', "limit=250"},
      {'W', "none"}}},
    {"freed in list_begin", {{'F', "begin"}, {'P', "1 t a b"}, {'=', "begin"}, {'L', "none"}}},
    {"freed in an object", {{'F', "a"}, {'P', "1 t a b"}, {'=', "begin a"}, {'L', "none"}}},
    {"freed in list_end", {{'F', "end"}, {'P', "1 . a"}, {'=', "begin a end"}, {'W', "none"}}},
    {"freed in an event",
     {SYNC, {'F', "b"}, {'E', "+b 11"}, {'=', "b"}, {'W', "none"}, {'T', "1h"}, {'W', "none"}}},
    {"freed in a failure", {SYNC, {'F', "!Gone"}, {'X', "Gone"}, {'T', "1h"}, {'L', "none"}}},
    {"freed in a failed list",
     {{'F', "!Forbidden"}, {'X', "Forbidden"}, {'T', "1h"}, {'L', "none"}}},
};

static void fake_begin(void)
{
    memset(&f, 0, sizeof(f));
    f.port = (struct kube_port){fake_request, fake_watch, fake_cancel, NULL, NULL};
    f.client = (struct kube_client){.port = &f.port};
    f.clock = (struct clock){fake_now, fake_now, NULL};
    f.now_ns = 1000 * NS_PER_S;
    f.seed = 7;
    f.entropy = entropy_seeded(&f.seed);
    timers_init(&f.timers);
    buf_init(&f.heard, 4096);
}

static void fake_end(void)
{
    ck_assert_int_eq(timers_next_ns(&f.timers), NS_NEVER);
    timers_done(&f.timers);
    buf_done(&f.heard);
}

START_TEST(watch_script)
{
    const struct script *s = &scripts[_i];
    static const struct watch_cb cb = {on_begin, on_object, on_removed, on_list_end, on_failed};
    fake_begin();
    struct watch_env env = {&f.client, &f.timers, &f.clock, &f.entropy};
    f.w = watch_new(&env, KIND_POD, NULL, &cb, NULL);
    for (const struct step *step = s->steps; step->op; step++) {
        run_step(step);
    }
    watch_free(f.w);
    ck_assert_msg(f.list.handle == 0 && f.watch.handle == 0, "%s: left open", s->name);
    fake_end();
}
END_TEST

/* Selectors and namespaces stand in LIST and WATCH alike. */
START_TEST(watch_selectors)
{
    static const struct watch_cb cb = {on_begin, on_object, on_removed, on_list_end, NULL};
    fake_begin();
    struct watch_env env = {&f.client, &f.timers, &f.clock, &f.entropy};
    struct kube_list_opts o = {.ns = "kube-system",
                               .label_selector = "a in (b,c)",
                               .field_selector = "spec.nodeName=",
                               .limit = 7};
    f.w = watch_new(&env, KIND_POD, &o, &cb, NULL);
    static const char want[] = "/api/v1/namespaces/kube-system/pods?labelSelector=a%20in%20%28b%2Cc"
                               "%29&fieldSelector=spec.nodeName%3D";
    ck_assert(str_starts(f.list.path, want));
    ck_assert(str_contains(f.list.path, "limit=7"));
    answer_page("1 .");
    ck_assert(str_starts(f.watch.path, want));
    watch_free(f.w);
    fake_end();
}
END_TEST

/* ---- paths ----------------------------------------------------------------------------------- */

struct path_row {
    enum kube_kind kind;
    const char *ns, *name, *sub, *want;
};

static const struct path_row path_rows[] = {
    {KIND_POD, NULL, NULL, NULL, "/api/v1/pods"},
    {KIND_POD, "", NULL, NULL, "/api/v1/pods"},
    {KIND_POD, "n", "p", "eviction", "/api/v1/namespaces/n/pods/p/eviction"},
    {KIND_NODE, "ignored", "x", NULL, "/api/v1/nodes/x"},
    {KIND_NODE_CLAIM, NULL, "c", "status", "/apis/karpenter.sh/v1/nodeclaims/c/status"},
    {KIND_EC2_NODE_CLASS, NULL, "d", NULL, "/apis/karpenter.k8s.aws/v1/ec2nodeclasses/d"},
    {KIND_LEASE, "kube-system", "l", NULL,
     "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/l"},
    {KIND_CONFIG_MAP, "a/b", "../x", NULL, "/api/v1/namespaces/a%2Fb/configmaps/..%2Fx"},
    {KIND_DAEMON_SET, "n", "\xc3\xa9 ?", NULL,
     "/apis/apps/v1/namespaces/n/daemonsets/%C3%A9%20%3F"},
};

START_TEST(path_row)
{
    const struct path_row *r = &path_rows[_i];
    AUTO_BUF struct buf b;
    buf_init(&b, KUBE_PATH_MAX);
    kube_path(&b, r->kind, r->ns, r->name, r->sub);
    ck_assert_str_eq(b.p, r->want);
}
END_TEST

START_TEST(kinds_complete)
{
    for (int k = 0; k < KIND_COUNT; k++) {
        const struct kube_kind_info *info = kube_kind((enum kube_kind)k);
        enum kube_kind found;
        ck_assert_ptr_nonnull(info->plural);
        ck_assert(kube_kind_find(info->kind, info->api_version, &found));
        ck_assert_int_eq(found, k);
    }
    enum kube_kind found;
    ck_assert(!kube_kind_find("Pod", "v2", &found));
    ck_assert(kube_kind_find("NodePool", NULL, &found));
}
END_TEST

/* ---- writes: what goes over the wire --------------------------------------------------------- */

static char wire[2048];

static uint64_t record(void *ctx UNUSED, const struct kube_req *req, kube_done_fn done UNUSED,
                       void *arg UNUSED)
{
    AUTO_FREE char *body = req->body ? jsonx_canonical(req->body) : xstrdup("");
    (void)snprintf(wire, sizeof(wire), "%s %s %s %s", req->method, req->path,
                   req->content_type ? req->content_type : "-", body);
    return 1;
}

START_TEST(writes)
{
    struct kube_port port = {record, NULL, NULL, NULL, NULL};
    struct kube_client c = {.port = &port, .field_manager = "karp-agent"};
    AUTO_JSON json_t *patch = json_pack("{s:{s:{s:s}}}", "metadata", "labels", "a", "b");
    kube_patch(&c, KIND_NODE, NULL, "n", NULL, patch, NULL, NULL, NULL);
    ck_assert_str_eq(wire,
                     "PATCH /api/v1/nodes/n?fieldManager=karp-agent "
                     "application/merge-patch+json {\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
    kube_patch(&c, KIND_NODE_CLAIM, NULL, "n", "status", patch, "77", NULL, NULL);
    ck_assert_str_eq(wire,
                     "PATCH /apis/karpenter.sh/v1/nodeclaims/n/status?fieldManager=karp-agent "
                     "application/merge-patch+json {\"metadata\":{\"labels\":{\"a\":\"b\"},"
                     "\"resourceVersion\":\"77\"}}");
    ck_assert_ptr_null(jsonx_at(patch, "metadata.resourceVersion")); /* the caller's is untouched */
    struct kube_delete_opts o = {
        .uid = "u", .resource_version = "5", .propagation = "Foreground", .grace_s = 0};
    kube_delete(&c, KIND_POD, "n", "p", &o, NULL, NULL);
    ck_assert_str_eq(wire, "DELETE /api/v1/namespaces/n/pods/p - {\"apiVersion\":\"v1\","
                           "\"gracePeriodSeconds\":0,\"kind\":\"DeleteOptions\",\"preconditions\":{"
                           "\"resourceVersion\":\"5\",\"uid\":\"u\"},\"propagationPolicy\":"
                           "\"Foreground\"}");
    kube_delete(&c, KIND_NODE, NULL, "x", NULL, NULL, NULL);
    ck_assert_str_eq(wire,
                     "DELETE /api/v1/nodes/x - {\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\"}");
    kube_evict(&c, "n", "p", "u", -1, NULL, NULL);
    ck_assert_str_eq(wire, "POST /api/v1/namespaces/n/pods/p/eviction - {\"apiVersion\":"
                           "\"policy/v1\",\"deleteOptions\":{\"apiVersion\":\"v1\",\"kind\":"
                           "\"DeleteOptions\",\"preconditions\":{\"uid\":\"u\"}},\"kind\":"
                           "\"Eviction\",\"metadata\":{\"name\":\"p\",\"namespace\":\"n\"}}");
    c.dry_run = true;
    AUTO_JSON json_t *claim = json_pack("{s:{s:s}}", "metadata", "generateName", "default-");
    kube_create(&c, KIND_NODE_CLAIM, NULL, claim, NULL, NULL);
    ck_assert_str_eq(wire,
                     "POST /apis/karpenter.sh/v1/nodeclaims?fieldManager=karp-agent&dryRun=All "
                     "- {\"apiVersion\":\"karpenter.sh/v1\",\"kind\":\"NodeClaim\","
                     "\"metadata\":{\"generateName\":\"default-\"}}");
    kube_update(&c, KIND_LEASE, "k", "l", claim, NULL, NULL);
    ck_assert(str_starts(wire, "PUT /apis/coordination.k8s.io/v1/namespaces/k/leases/l?"));
}
END_TEST

UNIT_MAIN("watch", UNIT_CASES(watch_script, scripts), UNIT_TEST(watch_selectors),
          UNIT_CASES(path_row, path_rows), UNIT_TEST(kinds_complete), UNIT_TEST(writes))
