/* bench_suite.c - see bench.h. */
#include "bench.h"

#include "cmd/input.h"
#include "cmd/table.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

#define PEER_ARGS_MAX 32

/* ---- inputs.json ------------------------------------------------------------------------------
 */

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
    ret->n_pools = files_of(a, s->folder, jsonx_arr(o, "nodePools"), ret->pools);
    ret->n_pods = files_of(a, s->folder, jsonx_arr(o, "pods"), ret->pods);
    return ret->name && ret->types ? 0 : err_set(reterr, ERR_INVALID, "name or types: missing");
}

/* ---- one input --------------------------------------------------------------------------------
 */

static json_t *ask_peer(const struct bench_suite *s, const struct bench_input *in,
                        struct err *reterr)
{
    const char *argv[PEER_ARGS_MAX] = {s->peer};
    s->peer_args(in, argv + 1);
    fprintf(stderr, "karp-bench: %s\n", in->name);
    return bench_program(argv, reterr);
}

/* Upstream first, then ours; a row that failed has "error". */
static json_t *measure(const struct bench_suite *s, json_t *entry, const struct bench_input *in)
{
    struct err err = ERR_INIT;
    json_t *theirs = NULL;
    if (s->peer && s->peer_args) {
        theirs = ask_peer(s, in, &err);
        if (!theirs) {
            fprintf(stderr, "karp-bench: %s: upstream: %s\n", in->name, err.msg);
        }
        if (theirs && s->record) {
            (void)json_object_del(theirs, "input");
            (void)json_object_set(entry, "upstream", theirs);
        }
    } else if (!s->how.types) {
        theirs = json_incref(json_object_get(entry, "upstream"));
    }
    json_t *report = bench_apart(s->fn, in, &err);
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

/* ---- table ------------------------------------------------------------------------------------
 */

static void write_table(const struct bench_suite *s, const json_t *reports)
{
    struct arena a;
    struct table t;
    struct table_column heads[TABLE_COLUMNS_MAX];
    const struct term plain = {.width = 0};
    AUTO_BUF struct buf out;
    size_t i;
    json_t *o;
    arena_init(&a, 0, SIZE_MAX);
    buf_init(&out, 1 << 20);
    for (size_t c = 0; c < s->n_columns; c++) {
        heads[c] = (struct table_column){.head = s->columns[c].head, .right = !s->columns[c].left};
    }
    table_init(&t, &a, heads, s->n_columns);
    json_array_foreach ((json_t *)(uintptr_t)reports, i, o) {
        for (size_t c = 0; c < s->n_columns; c++) {
            char cell[160] = "";
            s->columns[c].cell(o, cell, sizeof(cell));
            table_cellf(&t, "%s", *cell ? cell : "-");
        }
    }
    table_write(&t, &plain, true, false, &out);
    (void)fputs(out.p, stdout);
    arena_done(&a);
}

int bench_print(const struct bench_suite *s, json_t *reports)
{
    size_t i;
    int rc = 0;
    json_t *o;
    json_array_foreach (reports, i, o) {
        rc |= json_object_get(o, "error") != NULL;
    }
    if (!str_eq(s->output, "json")) {
        write_table(s, reports);
        return rc;
    }
    AUTO_JSON json_t *all =
        json_array_size(reports) == 1
            ? json_incref(json_array_get(reports, 0))
            : json_pack("{s:s,s:O}", "kind", "BenchReportList", "items", reports);
    (void)json_dumpf(all, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    (void)putchar('\n');
    return rc;
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
        err_set(&err, ERR_INVALID, "no list \"%s\"", s->list);
    }
    if (!list || measure_all(s, &a, list, reports, &err)) {
        fprintf(stderr, "karp-bench: %s: %s\n", path, err.msg);
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
