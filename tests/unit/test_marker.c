/* test_marker.c - what the process was working on when it ended: counted, set aside, tried again;
 * kept by identity alone; in a file that outlives real ends. */
#include "unit.h"

#include "agent/store/bare.h"
#include "agent/work/marker.h"
#include "agent/work/queue.h"
#include "common/base/jsonx.h"
#include "common/base/keepfile.h"
#include "fakeagent.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- counting ---------------------------------------------------------------------------------
 */

/* Processes, separated by blanks. Each meets objects: WHAT NAME VERSION HOW, where
 *   WHAT  the verdict: W whole, B bare, L left out
 *   NAME  a, b: NodePools; n: a Node; p, q: Pods of one controller, s: of none
 *   HOW   . done, x the process ends over it, k a controller's look ends it, h an hour passes
 * An upper-case NAME is another object of that name. */
static const struct {
    const char *what, *script;
} rows[] = {
    {"nothing has happened", "Wa1. Wa1."},
    {"once is nothing", "Wa1x Wa1. Wa1."},
    {"twice", "Wa1x Wa1x Ba1. Ba1."},
    {"a controller's looks count too", "Wa1x Wa1k Ba1."},
    {"others are served", "Wa1x Wa1x Ba1.Wb1.Wn1."},
    {"each by itself", "Wa1x Wb1x Wa1.Wb1."},
    {"not a Pod for a pool", "Wa1x Wa1x Ba1.Ws1."},
    {"bare, and again", "Wa1x Wa1x Ba1x La1. La1.Wb1."},
    {"changed: tried once", "Wa1x Wa1x Ba1.Wa2. Wa2."},
    {"changed, and no better", "Wa1x Wa1x Wa2x Ba2. Wa3x Ba3."},
    {"changed from being left out", "Wa1x Wa1x Ba1x Wa2x Ba2."},
    {"another of that name", "Wa1x Wa1x WA1. WA1x WA1."},
    {"by resourceVersion", "Wn1x Wn1x Bn1.Wn2. Wn2x Bn2."},
    {"but not for ever", "Wn1x Wn1x Wn2x Wn3x Wn4x Bn5. Bn6."},
    {"Pods of one controller", "Wp1x Wq1x Bp1.Bq1.Ws1."},
    {"Pods of none", "Ws1x Wp1x Ws1.Wp1."},
    {"an hour without", "Wa1x Wa1h Wa1x Wa1."},
    {"less", "Wa1x Wa1. Wa1x Ba1."},
    {"what is set aside stays so", "Wa1x Wa1x Ba1h Ba1h Ba1."},
};

static json_t *object_of(char name, char version)
{
    bool pool = name == 'a' || name == 'b' || name == 'A', node = name == 'n';
    json_t *o = json_pack("{s:s, s:{s:s%, s:s%, s:s%}}", "kind",
                          pool   ? "NodePool"
                          : node ? "Node"
                                 : "Pod",
                          "metadata", "name", name == 'A' ? "a" : &name, (size_t)1, "uid", &name,
                          (size_t)1, "resourceVersion", &version, (size_t)1);
    if (!pool && !node) {
        jsonx_set_new(o, "metadata.namespace", json_string("default"));
    }
    if (name == 'p' || name == 'q') {
        jsonx_set_new(o, "metadata.ownerReferences",
                      json_pack("[{s:s, s:s, s:s, s:b}]", "kind", "ReplicaSet", "name", "rs", "uid",
                                "rs", "controller", 1));
    }
    if (!node) {
        jsonx_set_new(o, "metadata.generation", json_integer(version - '0'));
    }
    return o;
}

static enum store_kind kind_of(char name)
{
    return strchr("abA", name) ? STORE_POOL : name == 'n' ? STORE_NODE : STORE_POD;
}

static void key_of(char name, char ret[16])
{
    snprintf(ret, 16, "%s%c", kind_of(name) == STORE_POD ? "default/" : "",
             name == 'A' ? 'a' : name);
}

static enum queue_verdict no_look(void *ctx, const char *key)
{
    (void)ctx;
    ck_abort_msg("%s was looked at", key);
}

/* One process; the script's next one. */
static const char *live(struct marker_page *page, const char *c, const char *what)
{
    static const char *const letters = "WBL";
    struct fake *f = fake_new();
    struct marker_port port = {.page = page, .where = "the file"};
    struct marker *m = f->rt.marker = marker_new(&f->rt, &port);
    f->rt.store = store_new(&f->rt);
    marker_start(m);
    for (bool alive = true; alive && *c && *c != ' '; c += 4) {
        char key[16];
        key_of(c[1], key);
        AUTO_JSON json_t *o = object_of(c[1], c[2]);
        enum marker_how how = marker_object(m, kind_of(c[1]), key, o);
        ck_assert_msg(how == (enum marker_how)(strchr(letters, c[0]) - letters), "%s: %.4s", what,
                      c);
        if (c[3] == 'x') {
            alive = false;
            continue;
        }
        marker_done(m);
        store_observe(f->rt.store, o);
        if (c[3] == 'k') {
            alive = false;
            ck_assert_msg(marker_look(m, kind_of(c[1]), key), "%s: %.4s", what, c);
        } else if (how != MARKER_WHOLE) {
            struct queue *q = queue_new(&f->rt, "q", kind_of(c[1]), 1, 1, no_look, NULL);
            queue_add(q, key);
            fake_run(f, NS_PER_S);
            ck_assert(!queue_has(q, key));
            queue_free(q);
        }
        if (c[3] == 'h') {
            fake_run(f, MARKER_LIVED_NS + MARKER_TELL_NS);
        }
    }
    store_free(f->rt.store);
    marker_free(m);
    fake_free(f);
    return *c == ' ' ? c + 1 : c;
}

START_TEST(verdicts)
{
    struct marker_page page = {.n = 0};
    for (const char *c = rows[_i].script; *c;) {
        c = live(&page, c, rows[_i].what);
    }
}
END_TEST

/* Whatever stands in the file, nothing happens but that it is used or dropped. */
START_TEST(other_content)
{
    struct marker_page page;
    memset(&page, 0xff, sizeof(page));
    live(&page, "Wa1x", "noise");
    ck_assert_uint_eq(page.n, 0);
    live(&page, "Wa1x", "once");
    live(&page, "Ba1.", "twice");
    str_copy(page.program, sizeof(page.program), "another version");
    live(&page, "Wa1.", "another version");
    ck_assert_uint_eq(page.n, 0);
}
END_TEST

/* More objects than there is room for: what ended the process twice stays longest. */
START_TEST(bounded)
{
    struct marker_page page = {.n = 0};
    live(&page, "Wa1x", "");
    live(&page, "Wa1x", "");
    for (unsigned i = 0; i < 3 * MARKER_ROWS_MAX; i++) {
        struct fake *f = fake_new();
        struct marker_port port = {.page = &page, .where = "the file"};
        struct marker *m = marker_new(&f->rt, &port);
        char key[32];
        snprintf(key, sizeof(key), "default/p%u", i);
        AUTO_JSON json_t *o =
            json_pack("{s:{s:s, s:s}}", "metadata", "name", key, "resourceVersion", "1");
        ck_assert_int_eq(marker_object(m, STORE_POD, key, o), MARKER_WHOLE);
        marker_free(m);
        fake_free(f);
    }
    ck_assert_uint_le(page.n, MARKER_ROWS_MAX);
    live(&page, "Ba1.", "still there");
}
END_TEST

/* ---- told -------------------------------------------------------------------------------------
 */

static double attention(struct fake *f)
{
    return metrics_sum(f->rt.metrics, "karp_attention",
                       (const char *const[]){"code", MARKER_ATTENTION, NULL});
}

START_TEST(told)
{
    struct marker_page page = {.n = 0};
    live(&page, "Wa1x", "");
    live(&page, "Wa1x", "");
    struct fake *f = fake_new();
    struct marker_port port = {.page = &page, .where = "/folder/file"};
    f->rt.marker = marker_new(&f->rt, &port);
    struct store *s = f->rt.store = store_new(&f->rt);
    AUTO_BUF struct buf object, text;
    buf_init(&object, 256);
    buf_init(&text, 1024);
    ck_assert(!marker_aside(f->rt.marker, 0, &object, &text));
    AUTO_JSON json_t *o = object_of('a', '1');
    store_observe(s, o);
    ck_assert_str_eq(store_pool(s, "a")->problem, "it is set aside, see karp_attention");
    ck_assert(attention(f) == 1);
    ck_assert(marker_aside(f->rt.marker, 0, &object, &text));
    ck_assert(!marker_aside(f->rt.marker, 1, &object, &text));
    ck_assert_str_eq(object.p, "nodepool/a");
    ck_assert(strstr(text.p, "ended 2 times") && strstr(text.p, "/folder/file"));
    ck_assert(marker_is_aside(f->rt.marker, "NodePool", NULL, "a"));
    ck_assert(!marker_is_aside(f->rt.marker, "NodePool", NULL, "b"));
    jsonx_set_new(o, "metadata.deletionTimestamp", json_string("2026-01-05T09:00:00Z"));
    jsonx_set_new(o, "metadata.resourceVersion", json_string("2"));
    store_observe(s, o);
    ck_assert_ptr_null(store_pool(s, "a"));
    ck_assert(attention(f) == 0);
    store_free(s);
    marker_free(f->rt.marker);
    fake_free(f);
}
END_TEST

/* A process that ends in a decision, about all there is or about the workload of pod p. */
static void end_in(struct marker_page *page, const char *pod)
{
    struct fake *f = fake_new();
    struct marker_port port = {.page = page, .where = "the file"};
    struct marker *m = f->rt.marker = marker_new(&f->rt, &port);
    f->rt.store = store_new(&f->rt);
    AUTO_JSON json_t *o = object_of('p', '1');
    store_observe(f->rt.store, o);
    marker_start(m);
    ck_assert(!marker_rests(m, MARKER_CONSOLIDATE));
    ck_assert(marker_decide(m, MARKER_CONSOLIDATE, NULL));
    marker_done(m);
    ck_assert(marker_decide(m, MARKER_CONSOLIDATE, pod));
    ck_assert(page->open && !page->alone == !pod);
    store_free(f->rt.store);
    marker_free(m);
    fake_free(f);
}

/* It rests after two ends, is told, and is made again after an hour. */
START_TEST(decision_rests)
{
    struct marker_page page = {.n = 0};
    AUTO_BUF struct buf object, text;
    buf_init(&object, 256);
    buf_init(&text, 1024);
    end_in(&page, NULL);
    end_in(&page, NULL);
    struct fake *f = fake_new();
    struct marker_port port = {.page = &page, .where = "the file"};
    struct marker *m = f->rt.marker = marker_new(&f->rt, &port);
    marker_start(m);
    ck_assert(marker_rests(m, MARKER_CONSOLIDATE) && !marker_rests(m, MARKER_REPLACE));
    ck_assert(attention(f) == 1);
    ck_assert(marker_aside(m, 0, &object, &text));
    ck_assert_str_eq(object.p, "decision/consolidation");
    ck_assert(strstr(text.p, "ended 2 times"));
    fake_run(f, MARKER_LIVED_NS + MARKER_TELL_NS);
    ck_assert(!marker_rests(m, MARKER_CONSOLIDATE));
    ck_assert(attention(f) == 0 && page.n == 0);
    marker_free(m);
    fake_free(f);
}
END_TEST

START_TEST(decision_about_one)
{
    struct marker_page page = {.n = 0};
    end_in(&page, "default/p");
    end_in(&page, "default/p");
    live(&page, "Bp1.Ws1.", "of its controller");
}
END_TEST

/* ---- identity alone ---------------------------------------------------------------------------
 */

/* Every kind can be decoded so, and nothing of what it says is left. */
static const struct {
    const char *kind, *spec;
} kinds[] = {
    {"Pod", "{\"nodeName\":\"n\",\"containers\":[{\"name\":\"c\"}],\"tolerations\":[{}]}"},
    {"Node",
     "{\"providerID\":\"aws:///a/i-1\",\"taints\":[{\"key\":\"k\",\"effect\":\"NoSchedule\"}]}"},
    {"NodeClaim", "{\"nodeClassRef\":{\"group\":\"karpenter.k8s.aws\",\"kind\":\"EC2NodeClass\","
                  "\"name\":\"d\"},\"requirements\":[{}]}"},
    {"NodePool", "{\"template\":{\"spec\":{}}}"},
    {"EC2NodeClass", "{\"role\":\"r\"}"},
    {"DaemonSet", "{\"template\":{}}"},
    {"Namespace", "{}"},
    {"PersistentVolumeClaim", "{\"volumeName\":\"v\"}"},
    {"PersistentVolume", "{\"nodeAffinity\":{}}"},
    {"StorageClass", "{}"},
    {"CSINode", "{\"drivers\":[]}"},
    {"LimitRange", "{\"limits\":[]}"},
    {"RuntimeClass", "{}"},
    {"PodDisruptionBudget", "{\"minAvailable\":1}"},
};

static json_t *full_object(const char *kind, const char *spec)
{
    return json_pack("{s:s, s:{s:s, s:s, s:s, s:s, s:{s:s, s:s}, s:{s:s}}, s:o}", "kind", kind,
                     "metadata", "name", "x", "namespace", "default", "uid", "u", "resourceVersion",
                     "7", "labels", "karpenter.sh/nodepool", "pool", "other", "label",
                     "annotations", "some", "thing", "spec", fake_json(spec));
}

START_TEST(bare)
{
    AUTO_JSON json_t *o = full_object(kinds[_i].kind, kinds[_i].spec);
    AUTO_JSON json_t *b = bare_object(o);
    ck_assert_str_eq(jsonx_str(b, "metadata.uid"), "u");
    ck_assert_uint_eq(json_object_size(jsonx_obj(b, "metadata.labels")), 1);
    ck_assert_uint_eq(json_object_size(jsonx_obj(b, "metadata.annotations")), 1);
    struct marker_page page = {.n = 0};
    struct marker_port port = {.page = &page, .where = "the file"};
    for (int process = 0; process < 3; process++) {
        struct fake *f = fake_new();
        f->rt.marker = marker_new(&f->rt, &port);
        struct store *s = f->rt.store = store_new(&f->rt);
        int kind = 0;
        while (!str_eq(store_kind_name((enum store_kind)kind), kinds[_i].kind)) {
            kind++;
        }
        store_observe(s, o);
        ck_assert_uint_eq(map_count(store_all(s, (enum store_kind)kind)), 1);
        if (process < 2) {
            page.open = 1; /* it ended after all */
        } else {
            const struct map_entry *e = map_first(store_all(s, (enum store_kind)kind));
            ck_assert(marker_is_aside(f->rt.marker, kinds[_i].kind,
                                      strchr(map_key(e), '/') ? "default" : NULL, "x"));
            if (kind == STORE_POD || kind == STORE_NODE) {
                const struct meta *meta = store_meta(s, (enum store_kind)kind, map_key(e));
                ck_assert_str_eq(kvs_get(&meta->annotations, ANN_DO_NOT_DISRUPT), "true");
            }
            bool claimed = kind == STORE_CLAIM;
            ck_assert(!claimed || (store_claim(s, "x")->problem &&
                                   store_ours(&store_claim(s, "x")->class_ref)));
            ck_assert((marker_pool_closed(f->rt.marker, "pool") != NULL) ==
                      (claimed || kind == STORE_NODE));
        }
        store_free(s);
        marker_free(f->rt.marker);
        fake_free(f);
    }
}
END_TEST

/* ---- the file ---------------------------------------------------------------------------------
 */

static void die_in(const char *folder, int signal_no)
{
    struct keepfile k;
    struct err err = ERR_INIT;
    signal(signal_no, SIG_DFL); /* a sanitizer would speak first */
    if (keepfile_open(&k, folder, MARKER_FILE, sizeof(struct marker_page), &err) == 0) {
        struct fake *f = fake_new();
        struct marker_port port = {.page = k.mem, .where = k.path};
        struct marker *m = marker_new(&f->rt, &port);
        AUTO_JSON json_t *o = object_of('a', '1');
        marker_object(m, STORE_POOL, "a", o);
        raise(signal_no);
    }
    _exit(1);
}

static void process_dies(const char *folder, int signal_no)
{
    int status;
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        die_in(folder, signal_no);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == signal_no);
}

static const int signals[] = {SIGSEGV, SIGABRT, SIGKILL};

START_TEST(outlives)
{
    char folder[64], path[128];
    struct keepfile k, second;
    struct err err = ERR_INIT;
    unit_path(folder, sizeof(folder), "marker");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/%s", folder, MARKER_FILE);
    process_dies(folder, signals[_i]);
    process_dies(folder, signals[_i]);
    int opened = keepfile_open(&k, folder, MARKER_FILE, sizeof(struct marker_page), &err);
    int again = keepfile_open(&second, folder, MARKER_FILE, 4096, &err);
    struct marker_page page = opened == 0 ? *(struct marker_page *)k.mem : (struct marker_page){0};
    keepfile_close(&k);
    int resized = keepfile_open(&k, folder, MARKER_FILE, 4096, &err);
    bool empty = resized == 0 && ((char *)k.mem)[0] == '\0';
    keepfile_close(&k);
    unlink(path);
    rmdir(folder);
    ck_assert_int_eq(opened, 0);
    ck_assert_int_eq(again, -1);
    ck_assert_int_eq(err.kind, ERR_CONFLICT);
    ck_assert(empty);
    live(&page, "Ba1.Wb1.", "after two ends");
    ck_assert_int_eq(keepfile_open(&k, folder, MARKER_FILE, 4096, &err), -1);
    ck_assert_int_eq(err.kind, ERR_NOT_FOUND);
}
END_TEST

UNIT_MAIN("marker", UNIT_CASES(verdicts, rows), UNIT_TEST(other_content), UNIT_TEST(bounded),
          UNIT_TEST(told), UNIT_TEST(decision_rests), UNIT_TEST(decision_about_one),
          UNIT_CASES(bare, kinds), UNIT_CASES(outlives, signals))
