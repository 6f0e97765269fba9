/* gather.c - see gather.h; snapshots and time. */
#include "gather.h"

#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/base/yamlx.h"
#include "input.h"

#define DAY_NS (24 * NS_PER_H)

/* ---- snapshots ------------------------------------------------------------------------------- */

static int add_documents(struct world *w, const json_t *docs, const json_t *lines, const char *path,
                         size_t *ret_n, struct err *reterr)
{
    size_t i;
    json_t *o;
    json_array_foreach ((json_t *)(uintptr_t)docs, i, o) {
        if (!json_is_object(o)) {
            return err_set(reterr, ERR_INVALID, "%s: line %lld: not an object", path,
                           (long long)json_integer_value(json_array_get(lines, i)));
        }
        *ret_n += world_add(w, o, NULL, NULL);
    }
    return 0;
}

static int add_file(struct world *w, const char *path, size_t *ret_n, struct err *reterr)
{
    AUTO_BUF struct buf text;
    AUTO_JSON json_t *lines = NULL;
    buf_init(&text, INPUT_FILE_MAX);
    if (input_read(path, &text, reterr) != 0) {
        return -1;
    }
    AUTO_JSON json_t *docs = yamlx_parse_all(text.p, text.n, path, &lines, reterr);
    return docs ? add_documents(w, docs, lines, path, ret_n, reterr) : -1;
}

int gather_snapshot(struct world *w, const char *path, struct err *reterr)
{
    const char *const *files;
    size_t n_files, n = 0;
    if (input_files(&w->mem, path, &files, &n_files, reterr) != 0) {
        return -1;
    }
    if (n_files == 0) {
        return err_set(reterr, ERR_INVALID, "%s: no .json or .yaml file in this folder", path);
    }
    for (size_t i = 0; i < n_files; i++) {
        if (add_file(w, files[i], &n, reterr) != 0) {
            return -1;
        }
    }
    return n ? 0 : err_set(reterr, ERR_INVALID, "%s: no Kubernetes object that karp knows", path);
}

static int gather_files(const struct cmd *c, struct world *w, struct err *reterr)
{
    const struct opt_texts *paths = &c->o->snapshots;
    for (size_t i = 0; i < paths->n; i++) {
        if (gather_snapshot(w, paths->v[i], reterr) != 0) {
            return -1;
        }
    }
    const char *slash = strrchr(paths->v[0], '/');
    w->name = slash && slash[1] ? slash + 1 : paths->v[0];
    return 0;
}

/* ---- time ------------------------------------------------------------------------------------ */

static bool parse_clock(const char *s, int64_t *ret_ns)
{
    if (strlen(s) != 5 || s[2] != ':' || strspn(s, "0123456789:") != 5 || s[0] == ':' ||
        s[1] == ':' || s[3] == ':' || s[4] == ':') {
        return false;
    }
    int hour = (s[0] - '0') * 10 + s[1] - '0', minute = (s[3] - '0') * 10 + s[4] - '0';
    *ret_ns = hour * NS_PER_H + minute * NS_PER_MIN;
    return hour < 24 && minute < 60;
}

int gather_time(const char *flag, const char *at, int64_t now_ns, int64_t *ret_ns, bool *ret_full,
                struct err *reterr)
{
    int64_t of_day;
    *ret_full = false;
    if (timefmt_parse_rfc3339(at, ret_ns)) {
        *ret_full = true;
        return 0;
    }
    if (!parse_clock(at, &of_day)) {
        return err_set(reterr, ERR_INVALID,
                       "invalid argument \"%s\" for \"--%s\" flag: must be an RFC 3339 time or "
                       "HH:MM",
                       at, flag);
    }
    int64_t next = now_ns / DAY_NS * DAY_NS + of_day;
    *ret_ns = next > now_ns ? next : next + DAY_NS;
    return 0;
}

/* ---- both ------------------------------------------------------------------------------------ */

int gather(struct cmd *c, uint64_t kinds, struct world *w, struct err *reterr)
{
    bool full = false;
    int64_t wall_ns = clock_wall(c->clock);
    w->now_ns = wall_ns;
    if (c->o->at && gather_time("at", c->o->at, wall_ns, &w->now_ns, &full, reterr) != 0) {
        return -1;
    }
    w->live = c->o->snapshots.n == 0;
    int rc = w->live ? gather_live(c, kinds, w, reterr) : gather_files(c, w, reterr);
    if (rc != 0) {
        return -1;
    }
    w->lease_now_ns = w->live ? wall_ns + w->skew_ns : full ? w->now_ns : w->latest_ns;
    world_finish(w);
    for (size_t i = 0; i < w->n_notes; i++) {
        cmd_warn(c, "%s", w->notes[i]);
    }
    return 0;
}
