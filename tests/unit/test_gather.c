/* test_gather.c - worlds from files and from a server that answers by script (cmd/read/gather.h,
 * cmd/read/input.h, cmd/world.h, cmd/read/facts.h). */
#include "cmd/read/facts.h"
#include "cmd/read/gather.h"
#include "cmd/read/input.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "unit.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* ---- a folder of its own --------------------------------------------------------------------- */

static char folder[64];

static void make_folder(void)
{
    unit_path(folder, sizeof(folder), "gather");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void drop_folder(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

/* Names ending in .gz are packed; cut drops bytes from the end of the file. */
static void write_file(const char *name, const char *text, size_t cut)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (str_ends(name, ".gz")) {
        gzFile f = gzopen(path, "wb");
        ck_assert_int_eq(gzwrite(f, text, (unsigned)strlen(text)), (int)strlen(text));
        gzclose(f);
    } else {
        FILE *f = fopen(path, "w");
        fputs(text, f);
        fclose(f);
    }
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(truncate(path, st.st_size - (off_t)cut), 0);
}

/* ---- snapshots ------------------------------------------------------------------------------- */

#define NODE(name)                                                                                 \
    "{\"apiVersion\": \"v1\", \"kind\": \"Node\", \"metadata\": {\"name\": \"" name "\"}}"
#define POD(name)                                                                                  \
    "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"" name                 \
    "\", \"namespace\": \"n\"}, \"spec\": {\"containers\": [{\"name\": \"c\"}]}}"

/* One file (and a second one, b.yaml, if text2 is there); what the world has then. */
static const struct {
    const char *name, *text, *text2;
    size_t cut;
    size_t nodes, pods, pools;
    const char *error; /* part of the message, NULL = none */
} snapshots[] = {
    {"a.json", NODE("x"), NULL, 0, 1, 0, 0, NULL},
    {"a.json.gz", NODE("x"), NULL, 0, 1, 0, 0, NULL},
    {"a.yaml", "kind: Node\napiVersion: v1\nmetadata: {name: x}\n---\n" POD("p"), NULL, 0, 1, 1, 0,
     NULL},
    {"a.yml", "---\n---\nkind: Node\napiVersion: v1\nmetadata: {name: x}\n---\n", NULL, 0, 1, 0, 0,
     NULL},
    {"a.json",
     "{\"kind\": \"List\", \"apiVersion\": \"v1\", \"items\": [" NODE("x") "," POD("p") "]}", NULL,
     0, 1, 1, 0, NULL},
    /* items of a typed list need not say what they are */
    {"a.json",
     "{\"kind\": \"NodeList\", \"apiVersion\": \"v1\", \"items\": [{\"metadata\": {\"name\": "
     "\"x\"}}]}",
     NULL, 0, 1, 0, 0, NULL},
    /* of two equal ones the later counts */
    {"a.json", NODE("x"), NODE("x"), 0, 1, 0, 0, NULL},
    {"a.json", NODE("x"), NODE("y"), 0, 2, 0, 0, NULL},
    /* other kinds, and other versions of our kinds, are ignored */
    {"a.json", NODE("x"), "kind: Widget\napiVersion: example.com/v1\nmetadata: {name: w}\n", 0, 1,
     0, 0, NULL},
    {"a.json", NODE("x"), "kind: NodePool\napiVersion: karpenter.sh/v1beta1\nmetadata: {name: w}\n",
     0, 1, 0, 0, NULL},
    {"a.json", NODE("x"), "kind: NodePool\napiVersion: karpenter.sh/v1\nmetadata: {name: w}\n", 0,
     1, 0, 1, NULL},
    {"notes.txt", "no object", NODE("x"), 0, 1, 0, 0, NULL},
    /* wrong input */
    {"a.yaml", "kind: Node\nmetadata:\n  name: x\n name: y\n", NULL, 0, 0, 0, 0, "a.yaml: line 4"},
    {"a.yaml", "kind: Node\napiVersion: v1\nmetadata: {name: x}\n---\njust text\n", NULL, 0, 1, 0,
     0, "a.yaml: line 5: not an object"},
    {"a.json", "{\"kind\": \"Node\",,}", NULL, 0, 0, 0, 0, "a.json: line 1"},
    {"a.json.gz", NODE("a-rather-long-name-that-makes-the-file-long-enough"), NULL, 12, 0, 0, 0,
     "a.json.gz: the gzip data ends too early"},
    {"a.json", "", NULL, 0, 0, 0, 0, "no Kubernetes object that karp knows"},
    {"a.json", "[]", NULL, 0, 0, 0, 0, "a.json: line 1: not an object"},
    {"a.yaml", "kind: Widget\napiVersion: example.com/v1\n", NULL, 0, 0, 0, 0,
     "no Kubernetes object that karp knows"},
    {"notes.txt", "no object", NULL, 0, 0, 0, 0, "no .json or .yaml file in this folder"},
};

static void check_world(struct world *w, size_t i)
{
    world_finish(w);
    ck_assert_uint_eq(world_n(w, KIND_NODE), snapshots[i].nodes);
    ck_assert_uint_eq(world_n(w, KIND_POD), snapshots[i].pods);
    ck_assert_uint_eq(world_n(w, KIND_NODE_POOL), snapshots[i].pools);
}

START_TEST(reads_snapshots)
{
    struct world w;
    struct err err = ERR_INIT;
    make_folder();
    write_file(snapshots[_i].name, snapshots[_i].text, snapshots[_i].cut);
    if (snapshots[_i].text2) {
        write_file("b.yaml", snapshots[_i].text2, 0);
    }
    world_init(&w, "karp");
    int rc = gather_snapshot(&w, folder, &err);
    if (snapshots[_i].error) {
        ck_assert_int_eq(rc, -1);
        ck_assert_msg(str_contains(err.msg, snapshots[_i].error), "%s", err.msg);
        ck_assert_msg(str_contains(err.msg, folder), "%s", err.msg);
    } else {
        ck_assert_msg(rc == 0, "%s", err.msg);
    }
    check_world(&w, (size_t)_i);
    world_done(&w);
    drop_folder();
}
END_TEST

START_TEST(no_such_file)
{
    struct world w;
    struct err err = ERR_INIT;
    world_init(&w, "karp");
    ck_assert_int_eq(gather_snapshot(&w, "/nonexistent/x.yaml", &err), -1);
    ck_assert_str_eq(err.msg, "/nonexistent/x.yaml: No such file or directory");
    world_done(&w);
}
END_TEST

/* Folders are walked in string order, hidden files and other endings left out. */
START_TEST(walks_folders)
{
    struct arena a;
    struct err err = ERR_INIT;
    const char *const *files;
    size_t n;
    char sub[128];
    make_folder();
    snprintf(sub, sizeof(sub), "%s/sub", folder);
    ck_assert_int_eq(mkdir(sub, 0700), 0);
    write_file("z.yaml", "", 0);
    write_file("sub/a.json.gz", "", 0);
    write_file(".hidden.yaml", "", 0);
    write_file("b.txt", "", 0);
    write_file("a.yml", "", 0);
    arena_init(&a, 0, SIZE_MAX);
    ck_assert_int_eq(input_files(&a, folder, &files, &n, &err), 0);
    ck_assert_uint_eq(n, 3);
    ck_assert(str_ends(files[0], "/a.yml"));
    ck_assert(str_ends(files[1], "/sub/a.json.gz"));
    ck_assert(str_ends(files[2], "/z.yaml"));
    arena_done(&a);
    drop_folder();
}
END_TEST

/* What cannot be decoded is set aside with its name, and the rest is there. */
START_TEST(sets_malformed_aside)
{
    struct world w;
    struct err err = ERR_INIT;
    make_folder();
    write_file(
        "a.yaml",
        "kind: Pod\napiVersion: v1\nmetadata: {name: bad, namespace: shop}\n"
        "spec: {containers: [{name: c, resources: {requests: {cpu: lots}}}]}\n---\n" POD("p"),
        0);
    world_init(&w, "karp");
    ck_assert_int_eq(gather_snapshot(&w, folder, &err), 0);
    ck_assert_uint_eq(world_n(&w, KIND_POD), 1);
    ck_assert_uint_eq(w.n_malformed, 1);
    ck_assert_str_eq(w.malformed[0].kind, "pod");
    ck_assert_str_eq(w.malformed[0].name, "shop/bad");
    ck_assert_msg(str_contains(w.malformed[0].message, "lots"), "%s", w.malformed[0].message);
    world_done(&w);
    drop_folder();
}
END_TEST

/* A list that starts over forgets what it brought. */
START_TEST(forgets_a_kind)
{
    struct world w;
    world_init(&w, "karp");
    for (int i = 0; i < 3; i++) {
        json_t *o =
            json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "Node", "metadata", "name",
                      i == 0   ? "a"
                      : i == 1 ? "b"
                               : "c");
        ck_assert_uint_eq(world_add(&w, o, NULL, NULL), 1);
        json_decref(o);
        if (i == 1) {
            world_forget(&w, KIND_NODE);
        }
    }
    world_finish(&w);
    ck_assert_uint_eq(world_n(&w, KIND_NODE), 1);
    ck_assert_str_eq(((const struct node *)world_at(&w, KIND_NODE, 0))->m.name, "c");
    ck_assert_uint_eq(w.n_objects, 1);
    world_done(&w);
}
END_TEST

/* ---- time ------------------------------------------------------------------------------------ */

static const struct {
    const char *at, *want; /* now is 2026-01-05T14:00:00Z; want NULL = refused */
    bool full;
} times[] = {
    {"2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z", true},
    {"2026-03-01T01:00:00+01:00", "2026-03-01T00:00:00Z", true},
    {"22:00", "2026-01-05T22:00:00Z", false},
    {"14:00", "2026-01-06T14:00:00Z", false},
    {"14:01", "2026-01-05T14:01:00Z", false},
    {"00:00", "2026-01-06T00:00:00Z", false},
    {"24:00", NULL, false},
    {"12:60", NULL, false},
    {"1:00", NULL, false},
    {"12-00", NULL, false},
    {"1:1:1", NULL, false},
    {"noon", NULL, false},
    {"", NULL, false},
};

START_TEST(at_times)
{
    int64_t now, got;
    bool full = false;
    char text[TIMEFMT_TEXT];
    struct err err = ERR_INIT;
    ck_assert(timefmt_parse_rfc3339("2026-01-05T14:00:00Z", &now));
    int rc = gather_time("at", times[_i].at, now, &got, &full, &err);
    ck_assert_int_eq(rc, times[_i].want ? 0 : -1);
    if (times[_i].want) {
        ck_assert_str_eq(timefmt_rfc3339(got, text), times[_i].want);
        ck_assert_int_eq(full, times[_i].full);
    } else {
        ck_assert(str_contains(err.msg, "--at"));
    }
}
END_TEST

/* ---- who is in charge ------------------------------------------------------------------------ */

#define LEASE_TIME "2026-01-05T14:00:00.000000Z"
#define LEASE_OLD "2026-01-05T13:00:00.000000Z"

/* Up to two Leases, holders and renew times; now is ten seconds after LEASE_TIME. */
static const struct {
    const char *holder[2], *renewed[2];
    enum charge charge;
    const char *leader;
} charges[] = {
    {{NULL, NULL}, {NULL, NULL}, CHARGE_NONE, NULL},
    {{"karp-agent-x-1", NULL}, {LEASE_TIME, NULL}, CHARGE_KARP, "karp-agent-x-1"},
    {{"karpenter-5f_uuid", NULL}, {LEASE_TIME, NULL}, CHARGE_KARPENTER, "karpenter-5f_uuid"},
    {{"karp-agent-x-1", "karpenter-5f_uuid"},
     {LEASE_TIME, LEASE_TIME},
     CHARGE_KARPENTER,
     "karpenter-5f_uuid"},
    {{"karpenter-5f_uuid", "karp-agent-x-1"},
     {LEASE_OLD, LEASE_TIME},
     CHARGE_KARP,
     "karp-agent-x-1"},
    {{"karpenter-5f_uuid", NULL}, {LEASE_OLD, NULL}, CHARGE_NONE, NULL},
    {{"", NULL}, {LEASE_TIME, NULL}, CHARGE_NONE, NULL},
    {{"karp-agent-x-1", NULL}, {"not a time", NULL}, CHARGE_NONE, NULL},
    {{"karp-agent-x-1", "karp-agent-y-2"},
     {"2026-01-05T13:59:58Z", LEASE_TIME},
     CHARGE_KARP,
     "karp-agent-y-2"},
};

START_TEST(in_charge)
{
    struct world w;
    struct facts f;
    struct arena a;
    arena_init(&a, 0, SIZE_MAX);
    world_init(&w, "karp");
    for (int i = 0; i < 2 && charges[_i].holder[i]; i++) {
        json_t *o =
            json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:i, s:s}}", "apiVersion",
                      "coordination.k8s.io/v1", "kind", "Lease", "metadata", "name", WORLD_LEASE,
                      "namespace", i ? "b" : "a", "spec", "holderIdentity", charges[_i].holder[i],
                      "leaseDurationSeconds", 15, "renewTime", charges[_i].renewed[i]);
        world_add(&w, o, NULL, NULL);
        json_decref(o);
    }
    world_finish(&w);
    ck_assert(timefmt_parse_rfc3339("2026-01-05T14:00:10Z", &w.lease_now_ns));
    facts_read(&w, &a, &f);
    ck_assert_int_eq(f.charge, charges[_i].charge);
    ck_assert(str_eq(f.leader, charges[_i].leader));
    world_done(&w);
    arena_done(&a);
}
END_TEST

/* Whatever stands in facts.json, reading it is safe. */
static const struct {
    const char *facts;
    size_t notes, stockouts, attention;
    const char *version;
} published[] = {
    {"{}", 0, 0, 0, NULL},
    {"{\"version\": \"1.2\", \"unavailableOfferings\": [{\"instanceType\": \"m5.large\"}, {}, 7], "
     "\"attention\": [{\"code\": \"X\"}, \"y\"]}",
     0, 1, 1, "1.2"},
    {"{\"version\": 3, \"unavailableOfferings\": {}, \"attention\": \"no\"}", 0, 0, 0, NULL},
    {"[1]", 1, 0, 0, NULL},
    {"{broken", 1, 0, 0, NULL},
};

START_TEST(reads_facts)
{
    struct world w;
    struct facts f;
    struct arena a;
    arena_init(&a, 0, SIZE_MAX);
    world_init(&w, "karp");
    json_t *o = json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s}}", "apiVersion", "v1", "kind",
                          "ConfigMap", "metadata", "name", WORLD_FACTS, "namespace", "karp", "data",
                          "facts.json", published[_i].facts);
    world_add(&w, o, NULL, NULL);
    json_decref(o);
    world_finish(&w);
    facts_read(&w, &a, &f);
    ck_assert_uint_eq(w.n_notes, published[_i].notes);
    ck_assert_uint_eq(f.n_stockouts, published[_i].stockouts);
    ck_assert_uint_eq(f.n_attention, published[_i].attention);
    ck_assert(str_eq(f.version, published[_i].version));
    world_done(&w);
    arena_done(&a);
}
END_TEST

/* ---- a server -------------------------------------------------------------------------------- */

struct answer {
    const char *path; /* a prefix */
    int status;
    const char *body;
};

#define STATUS(code, reason, message)                                                              \
    "{\"kind\": \"Status\", \"apiVersion\": \"v1\", \"status\": \"Failure\", \"code\": " #code     \
    ", \"reason\": \"" reason "\", \"message\": \"" message "\"}"
#define LIST(items)                                                                                \
    "{\"kind\": \"List\", \"apiVersion\": \"v1\", \"metadata\": {\"resourceVersion\": \"5\"}, "    \
    "\"items\": [" items "]}"

struct server {
    int fd;
    const struct answer *answers; /* the first whose path fits; else 404 */
    size_t n;
    pthread_t thread;
};

static void reply(const struct server *s, int fd, const char *request)
{
    int status = 404;
    const char *body = STATUS(404, "NotFound", "no such thing");
    const char *path = strchr(request, ' ') + 1;
    char head[200];
    for (size_t i = 0; i < s->n; i++) {
        if (str_starts(path, s->answers[i].path)) {
            status = s->answers[i].status;
            body = s->answers[i].body;
            break;
        }
    }
    int n = snprintf(head, sizeof(head),
                     "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nConnection: close\r\n"
                     "Content-Length: %zu\r\n\r\n",
                     status, strlen(body));
    /* A client that has heard enough may be gone. */
    (void)(send(fd, head, (size_t)n, MSG_NOSIGNAL) == n &&
           send(fd, body, strlen(body), MSG_NOSIGNAL) > 0);
}

static void *serve(void *arg)
{
    struct server *s = arg;
    for (;;) {
        char request[8192];
        size_t n = 0;
        int fd = accept(s->fd, NULL, NULL);
        if (fd < 0) {
            return NULL;
        }
        for (ssize_t got; n < sizeof(request) - 1 &&
                          (got = read(fd, request + n, sizeof(request) - 1 - n)) > 0;) {
            n += (size_t)got;
            request[n] = '\0';
            if (strstr(request, "\r\n\r\n")) {
                reply(s, fd, request);
                break;
            }
        }
        close(fd);
    }
}

static int server_start(struct server *s)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    s->fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(s->fd, (struct sockaddr *)&at, len), 0);
    ck_assert_int_eq(listen(s->fd, 64), 0);
    ck_assert_int_eq(getsockname(s->fd, (struct sockaddr *)&at, &len), 0);
    ck_assert_int_eq(pthread_create(&s->thread, NULL, serve, s), 0);
    return ntohs(at.sin_port);
}

static void server_stop(struct server *s)
{
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
}

#define VERSION                                                                                    \
    {                                                                                              \
        "/version", 200, "{\"gitVersion\": \"v1.34.4\"}"                                           \
    }
#define FORBIDDEN STATUS(403, "Forbidden", "nodes is forbidden: User u cannot list resource")

static const struct {
    struct answer answers[8];
    size_t nodes, notes;
    bool hidden, absent; /* nodes; nodepools */
    const char *version;
    const char *error;
} lives[] = {
    {{VERSION,
      {"/api/v1/nodes", 200, LIST(NODE("x") "," NODE("y"))},
      {"/apis/karpenter.sh/v1/nodepools", 200, LIST("")}},
     2,
     0,
     false,
     false,
     "v1.34.4",
     NULL},
    /* the server may keep its version to itself */
    {{{"/version", 403, FORBIDDEN},
      {"/api/v1/nodes", 200, LIST("")},
      {"/apis/karpenter.sh/v1/nodepools", 200, LIST("")}},
     0,
     0,
     false,
     false,
     NULL,
     NULL},
    {{VERSION,
      {"/api/v1/nodes", 403, FORBIDDEN},
      {"/apis/karpenter.sh/v1/nodepools", 200, LIST("")}},
     0,
     1,
     true,
     false,
     "v1.34.4",
     NULL},
    {{VERSION, {"/api/v1/nodes", 200, LIST(NODE("x"))}}, 1, 0, false, true, "v1.34.4", NULL},
    {{{"/", 401, STATUS(401, "Unauthorized", "Unauthorized")}},
     0,
     0,
     false,
     false,
     NULL,
     "does not accept the credentials"},
    {{VERSION,
      {"/api/v1/nodes", 500, STATUS(500, "InternalError", "etcd is gone")},
      {"/apis/karpenter.sh/v1/nodepools", 200, LIST("")}},
     0,
     0,
     false,
     false,
     NULL,
     "etcd is gone"},
    {{VERSION,
      {"/api/v1/nodes", 200, "<html>a proxy</html>"},
      {"/apis/karpenter.sh/v1/nodepools", 200, LIST("")}},
     0,
     0,
     false,
     false,
     NULL,
     "nodes"},
};

static struct cmd command(struct cmd_opts *o, struct kube_env *env, char *url, size_t n, int port)
{
    opts_init(o);
    memset(env, 0, sizeof(*env));
    snprintf(url, n, "http://127.0.0.1:%d", port);
    o->kube.server = url;
    o->kube.token = "secret";
    return (struct cmd){.prog = "kubectl karp",
                        .o = o,
                        .env = env,
                        .clock = &clock_real,
                        .out = stdout,
                        .err = stderr};
}

START_TEST(lists_from_a_server)
{
    struct server s = {.answers = lives[_i].answers, .n = 0};
    struct cmd_opts o;
    struct kube_env env;
    struct world w;
    struct err err = ERR_INIT;
    char url[64];
    while (s.n < 8 && lives[_i].answers[s.n].path) {
        s.n++;
    }
    int port = server_start(&s);
    struct cmd c = command(&o, &env, url, sizeof(url), port);
    world_init(&w, "karp");
    uint64_t kinds = GATHER(KIND_NODE) | GATHER(KIND_NODE_POOL) | GATHER(KIND_CONFIG_MAP);
    int rc = gather_live(&c, kinds, &w, &err);
    if (lives[_i].error) {
        ck_assert_int_eq(rc, -1);
        ck_assert_msg(str_contains(err.msg, lives[_i].error), "%s", err.msg);
        ck_assert_msg(!strchr(err.msg, '\n'), "%s", err.msg);
    } else {
        ck_assert_msg(rc == 0, "%s", err.msg);
        ck_assert_uint_eq(world_n(&w, KIND_NODE), lives[_i].nodes);
        ck_assert_uint_eq(w.n_notes, lives[_i].notes);
        ck_assert_int_eq(w.hidden[KIND_NODE], lives[_i].hidden);
        ck_assert_int_eq(w.absent[KIND_NODE_POOL], lives[_i].absent);
        ck_assert(str_eq(w.version, lives[_i].version));
        ck_assert_str_eq(w.name, url);
    }
    world_done(&w);
    opts_done(&o);
    server_stop(&s);
}
END_TEST

START_TEST(nobody_listens)
{
    struct server s = {.n = 0};
    struct cmd_opts o;
    struct kube_env env;
    struct world w;
    struct err err = ERR_INIT;
    char url[64];
    int port = server_start(&s);
    server_stop(&s);
    struct cmd c = command(&o, &env, url, sizeof(url), port);
    world_init(&w, "karp");
    ck_assert_int_eq(gather_live(&c, GATHER(KIND_NODE), &w, &err), -1);
    ck_assert_msg(str_contains(err.msg, "cannot reach the API server: http://127.0.0.1:"), "%s",
                  err.msg);
    world_done(&w);
    opts_done(&o);
}
END_TEST

START_TEST(no_kubeconfig)
{
    struct cmd_opts o;
    struct kube_env env = {.home = "/nonexistent"};
    struct world w;
    struct err err = ERR_INIT;
    opts_init(&o);
    struct cmd c = {.o = &o, .env = &env, .clock = &clock_real, .out = stdout, .err = stderr};
    world_init(&w, "karp");
    ck_assert_int_eq(gather_live(&c, GATHER(KIND_NODE), &w, &err), -1);
    ck_assert_msg(str_contains(err.msg, "kubeconfig"), "%s", err.msg);
    world_done(&w);
    opts_done(&o);
}
END_TEST

UNIT_MAIN("gather", UNIT_CASES(reads_snapshots, snapshots), UNIT_TEST(no_such_file),
          UNIT_TEST(walks_folders), UNIT_TEST(sets_malformed_aside), UNIT_TEST(forgets_a_kind),
          UNIT_CASES(at_times, times), UNIT_CASES(in_charge, charges),
          UNIT_CASES(reads_facts, published), UNIT_CASES(lists_from_a_server, lives),
          UNIT_TEST(nobody_listens), UNIT_TEST(no_kubeconfig))
