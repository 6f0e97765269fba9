/* bench_table.c - see bench.h. */
#include "bench.h"

#include "cmd/table.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

#include <math.h>

/* ---- cells ----------------------------------------------------------------------------------- */

double bench_number(const json_t *o, const char *path)
{
    const json_t *v = jsonx_at(o, path);
    double d;
    if (json_is_string(v)) {
        return str_parse_f64(json_string_value(v), &d) ? d : NAN;
    }
    return json_is_number(v) ? json_number_value(v) : NAN;
}

void bench_put(char *dst, size_t size, const char *fmt, double v)
{
    if (!isnan(v)) {
        (void)snprintf(dst, size, fmt, v);
    }
}

void bench_cell_name(const json_t *report, char *dst, size_t size)
{
    bool failed = json_object_get(report, "error") != NULL;
    (void)snprintf(dst, size, "%s%s", jsonx_str_or(report, "input", ""), failed ? " (failed)" : "");
}

void bench_cell_faster(const json_t *report, char *dst, size_t size)
{
    bench_put(dst, size, "%.0fx",
              bench_number(report, "upstream.milliseconds") / bench_number(report, "milliseconds"));
}

void bench_cell_by_cpu(const json_t *report, char *dst, size_t size)
{
    bench_put(dst, size, "%.0fx",
              bench_number(report, "upstream.cpuMilliseconds") /
                  bench_number(report, "cpuMilliseconds"));
}

void bench_cell_mib(const json_t *report, char *dst, size_t size)
{
    bench_put(dst, size, "%.1f", bench_number(report, "peakRssBytes") / (1 << 20));
}

void bench_cell_their_mib(const json_t *report, char *dst, size_t size)
{
    bench_put(dst, size, "%.0f", bench_number(report, "upstream.peakRssBytes") / (1 << 20));
}

static void write_cell(const struct bench_column *c, const json_t *report, char *dst, size_t size)
{
    if (c->cell) {
        c->cell(report, dst, size);
    } else {
        bench_put(dst, size, c->fmt, bench_number(report, c->path));
    }
}

/* ---- table ----------------------------------------------------------------------------------- */

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
            write_cell(&s->columns[c], o, cell, sizeof(cell));
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
