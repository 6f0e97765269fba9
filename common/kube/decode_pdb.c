/* decode_pdb.c - PodDisruptionBudgets. */
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "decode_priv.h"

#define CHUNK 512u
#define COUNT_MAX 10000000 /* pods */

static bool count_ok(int64_t n)
{
    return n >= 0 && n <= COUNT_MAX;
}

/* "25%" */
static bool read_percent(const char *text, struct pdb_amount *ret)
{
    char digits[16];
    int64_t n;
    size_t len = strlen(text);
    if (len < 2 || len > sizeof(digits) || text[len - 1] != '%') {
        return false;
    }
    memcpy(digits, text, len - 1);
    digits[len - 1] = '\0';
    if (!str_parse_i64(digits, &n) || !count_ok(n)) {
        return false;
    }
    *ret = (struct pdb_amount){.set = true, .percent = true, .value = (int32_t)n};
    return true;
}

/* An IntOrString. */
static void read_amount(struct pdb *p, const json_t *spec, const char *key, struct pdb_amount *ret)
{
    const json_t *v = json_object_get(spec, key);
    if (v == NULL || json_is_null(v)) {
        return;
    }
    if (json_is_integer(v) && count_ok(json_integer_value(v))) {
        *ret = (struct pdb_amount){.set = true, .value = (int32_t)json_integer_value(v)};
    } else if (!json_is_string(v) || !read_percent(json_string_value(v), ret)) {
        p->problem = arena_printf(&p->mem, "spec.%s: neither a count nor a percentage", key);
    }
}

static int32_t read_count(const json_t *status, const char *key)
{
    int64_t n = jsonx_int(status, key, 0);
    return count_ok(n) ? (int32_t)n : 0;
}

/* Without a selector a budget selects nothing, with an empty one everything. */
static void read_sel(struct pdb *p, const json_t *spec)
{
    const json_t *o = json_object_get(spec, "selector");
    p->sel = decode_selector(&p->mem, o);
    if (json_is_object(o) && p->sel.nothing) {
        p->problem = "spec.selector cannot be read";
    }
}

static int read_pdb(struct decoder *d, struct pdb *p, const json_t *o, struct err *reterr)
{
    const json_t *spec = json_object_get(o, "spec"), *status = json_object_get(o, "status");
    if (decode_meta(d, &p->mem, o, META_POD_ANNOTATIONS, &p->m, reterr)) {
        return -1;
    }
    read_sel(p, spec);
    read_amount(p, spec, "minAvailable", &p->min_available);
    read_amount(p, spec, "maxUnavailable", &p->max_unavailable);
    p->always_allow = str_eq(jsonx_str(spec, "unhealthyPodEvictionPolicy"), "AlwaysAllow");
    p->has_status = json_is_integer(json_object_get(status, "observedGeneration"));
    p->observed_generation = jsonx_int(status, "observedGeneration", 0);
    p->allowed = read_count(status, "disruptionsAllowed");
    p->healthy = read_count(status, "currentHealthy");
    p->desired = read_count(status, "desiredHealthy");
    p->expected = read_count(status, "expectedPods");
    return 0;
}

struct pdb *decode_pdb(struct decoder *d, const json_t *o, struct err *reterr)
{
    struct pdb *p = NEW(struct pdb);
    arena_init(&p->mem, CHUNK, DECODE_OBJECT_MAX);
    if (read_pdb(d, p, o, reterr) || decode_check_size(&p->mem, reterr)) {
        decode_pdb_free(p);
        return NULL;
    }
    return p;
}

void decode_pdb_free(struct pdb *p)
{
    if (p) {
        arena_done(&p->mem);
        free(p);
    }
}
