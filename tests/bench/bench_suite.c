/* bench_suite.c - see bench.h. */
#include "bench.h"

#include "cmd/read/input.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

/* ---- inputs.json ----------------------------------------------------------------------------- */

static const char *in_folder(struct arena *a, const char *folder, const char *file)
{
    return file ? arena_printf(a, "%s/%s", folder, file) : NULL;
}

static size_t files_of(struct arena *a, const char *folder, const json_t *list, const char **ret)
{
    size_t i, n = 0;
    json_t *v;
    json_array_foreach ((json_t *)(uintptr_t)list, i, v) {
        if (json_is_string(v) && n < BENCH_FILES_MAX) {
            ret[n++] = in_folder(a, folder, json_string_value(v));
        }
    }
    return n;
}

static int read_entry(const struct bench_suite *s, struct arena *a, const json_t *o,
                      struct bench_input *ret, struct err *reterr)
{
    *ret = s->how;
    ret->name = jsonx_str(o, "name");
    ret->types = s->how.types ? s->how.types : in_folder(a, s->folder, jsonx_str(o, "types"));
    ret->cluster = in_folder(a, s->folder, jsonx_str(o, "cluster"));
    ret->policy = jsonx_str_or(o, "preferencePolicy", "Respect");
    ret->rest = s->record && jsonx_bool(o, "rest", false);
    ret->n_pools = files_of(a, s->folder, jsonx_arr(o, "nodePools"), ret->pools);
    ret->n_pods = files_of(a, s->folder, jsonx_arr(o, "pods"), ret->pods);
    return ret->name && ret->types ? 0 : err_set(reterr, ERR_INVALID, "name or types: missing");
}

/* ---- one input ------------------------------------------------------------------------------- */

static json_t *ask_peer(const struct bench_suite *s, const struct bench_input *in,
                        struct err *reterr)
{
    const char *argv[BENCH_PEER_ARGS + 2] = {s->peer};
    s->peer_args(in, argv + 1);
    fprintf(stderr, "karp-bench: %s\n", in->name);
    return bench_program(argv, reterr);
}

/* What the peer says of an input of the list, or has said. A new reference, or NULL. */
static json_t *upstream_of(const struct bench_suite *s, json_t *entry, const struct bench_input *in)
{
    struct err err = ERR_INIT;
    json_t *recorded = json_object_get(entry, "upstream"), *theirs;
    if (!s->peer) {
        return s->how.types ? NULL : json_incref(recorded);
    }
    theirs = ask_peer(s, in, &err);
    if (!theirs) {
        fprintf(stderr, "karp-bench: %s: upstream: %s\n", in->name, err.msg);
        return NULL;
    }
    (void)json_object_del(theirs, "input");
    json_t *rest = json_object_get(recorded, "rest");
    if (rest && !json_object_get(theirs, "rest")) {
        json_object_set(theirs, "rest", rest);
    }
    if (s->record) {
        json_object_set(entry, "upstream", theirs);
    }
    return theirs;
}

/* Upstream first, then ours; a row that failed has "error". */
static json_t *measure(const struct bench_suite *s, json_t *entry, const struct bench_input *in)
{
    struct err err = ERR_INIT;
    json_t *theirs = upstream_of(s, entry, in), *report = bench_apart(s->fn, in, &err);
    if (!report) {
        fprintf(stderr, "karp-bench: %s: %s\n", in->name, err.msg);
        report = json_pack("{s:s,s:s}", "kind", "BenchReport", "error", err.msg);
    }
    json_object_set_new(report, "input", json_string(in->name));
    if (theirs) {
        json_object_set_new(report, "upstream", theirs);
    }
    json_t *most = json_object_get(entry, "mostSavingsPerHour");
    if (most && !s->how.types) {
        json_object_set(report, "mostSavingsPerHour", most);
    }
    return report;
}

static int measure_all(const struct bench_suite *s, struct arena *a, json_t *list, json_t *reports,
                       struct err *reterr)
{
    size_t i;
    json_t *entry;
    json_array_foreach (list, i, entry) {
        struct bench_input in;
        if (read_entry(s, a, entry, &in, reterr)) {
            return err_wrap(reterr, "%s[%zu]", s->list, i);
        }
        if (!s->only || str_glob(s->only, in.name)) {
            json_array_append_new(reports, measure(s, entry, &in));
        }
    }
    return json_array_size(reports) > 0 ? 0 : err_set(reterr, ERR_INVALID, "no such input");
}

int bench_suite(const struct bench_suite *s)
{
    struct arena a;
    struct err err = ERR_INIT;
    arena_init(&a, 0, SIZE_MAX);
    const char *path = in_folder(&a, s->folder, "inputs.json");
    AUTO_JSON json_t *inputs = input_json(path, &err), *reports = json_array();
    json_t *list = jsonx_arr(inputs, s->list);
    int rc = 1;
    if (inputs && !list) {
        err_set(&err, ERR_INVALID, "%s: no list \"%s\"", path, s->list);
    }
    if (!list || measure_all(s, &a, list, reports, &err)) {
        fprintf(stderr, "karp-bench: %s\n", err.msg);
    } else {
        rc = bench_print(s, reports);
        if (s->record && json_dump_file(inputs, path, JSON_INDENT(1) | JSON_REAL_PRECISION(9))) {
            fprintf(stderr, "karp-bench: %s: cannot be written\n", path);
            rc = 1;
        }
    }
    arena_done(&a);
    return rc;
}

/* ---- an input of one's own ------------------------------------------------------------------- */

int bench_alone(struct bench_suite *s, const char *name)
{
    AUTO_JSON json_t *reports = json_array(), *entry = json_object();
    s->how.name = name;
    json_array_append_new(reports, measure(s, entry, &s->how));
    return bench_print(s, reports);
}

/* ---- options --------------------------------------------------------------------------------- */

static int refuse(const char *why)
{
    fprintf(stderr, "karp-bench: %s (karp-bench --help)\n", why);
    return 2;
}

int bench_options(struct bench_suite *s, int argc, char **argv, const struct bench_arg *more,
                  size_t n_more)
{
    int64_t repeat = 3;
    struct bench_input *in = &s->how;
    struct bench_arg args[32] = {
        {.name = "--types", .kind = ARG_TEXT, .to = &in->types},
        {.name = "--region", .kind = ARG_TEXT, .to = &in->region},
        {.name = "--repeat",
         .kind = ARG_COUNT,
         .to = &repeat,
         .least = 1,
         .most = BENCH_REPEAT_MAX},
        {.name = "--plan", .kind = ARG_TEXT, .to = &in->plan},
        {.name = "--data", .kind = ARG_TEXT, .to = &s->folder},
        {.name = "--only", .kind = ARG_TEXT, .to = &s->only},
        {.name = "--peer", .kind = ARG_TEXT, .to = &s->peer},
        {.name = "--record", .kind = ARG_FLAG, .to = &s->record},
        {.name = "-o", .kind = ARG_TEXT, .to = &s->output},
    };
    size_t n = 0;
    while (args[n].name) {
        n++;
    }
    memcpy(args + n, more, n_more * sizeof(*more));
    s->folder = BENCH_DATA;
    s->output = "table";
    in->region = BENCH_REGION;
    in->policy = "Respect";
    if (!bench_args(argc, argv, args, n + n_more)) {
        return 2;
    }
    in->repeat = (uint32_t)repeat;
    bool alone = in->n_pods > 0 || in->cluster;
    if (!str_eq(s->output, "json") && !str_eq(s->output, "table")) {
        return refuse("-o json or table");
    }
    if (s->peer && str_eq(in->types, "builtin")) {
        return refuse("--peer wants types of a file (karp-bench types writes one)");
    }
    if (alone ? !in->types : in->plan || in->n_pools > 0) {
        return refuse("an input of one's own is --types with --nodepool and --pods, or --input");
    }
    if (s->record && (!s->peer || alone || in->types)) {
        return refuse("--record writes what --peer says about the inputs of --data");
    }
    return 0;
}
