/* bench_args.c - see bench.h. */
#include "bench.h"

#include "common/base/str.h"

static bool refuse(const char *name, const char *why)
{
    fprintf(stderr, "karp-bench: %s: %s\n", name, why);
    return false;
}

static const struct bench_arg *find(const struct bench_arg *v, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(v[i].name, name)) {
            return &v[i];
        }
    }
    return NULL;
}

static bool set(const struct bench_arg *a, const char *value)
{
    if (a->kind == ARG_TEXT) {
        *(const char **)a->to = value;
        return true;
    }
    int64_t n;
    if (!str_parse_i64(value, &n) || n < a->least || n > a->most) {
        char why[80];
        (void)snprintf(why, sizeof(why), "a number from %lld to %lld", (long long)a->least,
                       (long long)a->most);
        return refuse(a->name, why);
    }
    *(int64_t *)a->to = n;
    return true;
}

bool bench_args(int argc, char **argv, const struct bench_arg *v, size_t n)
{
    for (int i = 0; i < argc;) {
        const char *name = argv[i++];
        const struct bench_arg *a = find(v, n, name);
        if (!a) {
            return refuse(name, "no such option");
        }
        if (a->kind == ARG_FLAG) {
            *(bool *)a->to = true;
            continue;
        }
        if (i >= argc) {
            return refuse(name, "a value is missing");
        }
        if (a->kind != ARG_FILES) {
            if (!set(a, argv[i++])) {
                return false;
            }
            continue;
        }
        for (; i < argc && (argv[i][0] != '-' || str_eq(argv[i], "-")); i++) {
            if (*a->n >= BENCH_FILES_MAX) {
                return refuse(name, "too many files");
            }
            ((const char **)a->to)[(*a->n)++] = argv[i];
        }
    }
    return true;
}
