/* api_list.c - GET and paged LIST; see api_store.h */
#include "api_store.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

int sim_op_get(struct sim_op *op)
{
    if (str_eq(op->sub, "scale")) {
        return sim_op_scale(op);
    }
    struct sim_entry *e = sim_store_find(op->a, op->kind->id, op->ns, op->name);
    if (!e) {
        return sim_fail_not_found(op);
    }
    op->out = json_incref(e->obj);
    return op->status = 200;
}

/* ---- pages ------------------------------------------------------------------------------------
 */

static void pages_done(struct sim_pages *p)
{
    json_decref(p->items);
    *p = (struct sim_pages){0};
}

static struct sim_pages *pages_find(struct sim_api *a, uint64_t id)
{
    for (size_t i = 0; i < SIM_API_PAGES_MAX; i++) {
        struct sim_pages *p = &a->pages[i];
        if (p->items && p->until_ns < vclock_now(a->clock)) {
            pages_done(p);
        }
        if (p->items && p->id == id) {
            return p;
        }
    }
    return NULL;
}

/* A free place, or the oldest one's. */
static struct sim_pages *pages_place(struct sim_api *a)
{
    struct sim_pages *oldest = &a->pages[0];
    for (size_t i = 0; i < SIM_API_PAGES_MAX; i++) {
        struct sim_pages *p = &a->pages[i];
        if (!p->items) {
            return p;
        }
        oldest = p->id < oldest->id ? p : oldest;
    }
    pages_done(oldest);
    return oldest;
}

static uint64_t pages_keep(struct sim_api *a, json_t *items)
{
    struct sim_pages *p = pages_place(a);
    p->id = ++a->next_pages;
    p->items = json_incref(items);
    p->version = a->version;
    p->until_ns = vclock_now(a->clock) + SIM_API_PAGES_NS;
    return p->id;
}

/* ---- LIST -------------------------------------------------------------------------------------
 */

static json_t *collect(const struct sim_op *op, const struct jsonsel *labels,
                       const struct jsonsel *fields)
{
    const struct sim_table *t = &op->a->tables[op->kind->id];
    json_t *items = json_array();
    for (size_t i = 0; i < t->n; i++) {
        json_t *o = t->items[i]->obj;
        bool in_ns = op->ns[0] == '\0' || str_eq(sim_meta(o, "namespace"), op->ns);
        if (in_ns && jsonsel_match_labels(labels, jsonx_at(o, "metadata.labels")) &&
            jsonsel_match_fields(fields, o)) {
            json_array_append(items, o);
        }
    }
    return items;
}

int sim_path_selectors(const struct sim_path *p, struct jsonsel *ret_labels,
                       struct jsonsel *ret_fields, struct err *reterr)
{
    *ret_fields = (struct jsonsel){0};
    if (jsonsel_parse_labels(p->label_selector, ret_labels, reterr)) {
        return -1;
    }
    int got = jsonsel_parse_fields(p->field_selector, ret_fields, reterr);
    for (size_t i = 0; got == 0 && i < ret_fields->n; i++) {
        if (!sim_kind_selectable(p->kind, ret_fields->terms[i].key)) {
            got = err_set(reterr, ERR_INVALID, "field label not supported: %s",
                          ret_fields->terms[i].key);
        }
    }
    if (got) {
        jsonsel_done(ret_labels);
        jsonsel_done(ret_fields);
    }
    return got;
}

static json_t *select_items(struct sim_op *op)
{
    struct jsonsel labels = {0}, fields = {0};
    struct err e = ERR_INIT;
    if (op->path && sim_path_selectors(op->path, &labels, &fields, &e)) {
        sim_fail(op, 400, "BadRequest", "%s", e.msg);
        return NULL;
    }
    json_t *items = collect(op, &labels, &fields);
    jsonsel_done(&labels);
    jsonsel_done(&fields);
    return items;
}

static json_t *list_new(const struct sim_op *op, json_t *items, int64_t version)
{
    char text[24], kind[80];
    snprintf(text, sizeof(text), "%lld", (long long)version);
    snprintf(kind, sizeof(kind), "%sList", op->kind->kind);
    return json_pack("{s:s, s:s, s:{s:s}, s:o}", "kind", kind, "apiVersion", op->kind->api_version,
                     "metadata", "resourceVersion", text, "items", items);
}

/* items[from, from + limit) as one page; id names the snapshot if there is more. */
static int answer_page(struct sim_op *op, json_t *items, size_t from, uint64_t id, int64_t version)
{
    size_t n = json_array_size(items);
    size_t limit = op->path && op->path->limit > 0 ? (size_t)op->path->limit : n;
    size_t to = from + limit < n ? from + limit : n;
    json_t *page = json_array();
    for (size_t i = from; i < to; i++) {
        json_array_append(page, json_array_get(items, i));
    }
    op->out = list_new(op, page, version);
    if (to < n) {
        char token[64];
        snprintf(token, sizeof(token), "%llu.%zu", (unsigned long long)id, to);
        json_t *meta = json_object_get(op->out, "metadata");
        json_object_set_new(meta, "continue", json_string(token));
        json_object_set_new(meta, "remainingItemCount", json_integer((json_int_t)(n - to)));
    }
    return op->status = 200;
}

static int next_page(struct sim_op *op, const char *token)
{
    unsigned long long id;
    size_t from;
    if (sscanf(token, "%llu.%zu", &id, &from) != 2) {
        return sim_fail(op, 400, "BadRequest", "continue key is not valid: %s", token);
    }
    struct sim_pages *p = pages_find(op->a, id);
    if (!p || from > json_array_size(p->items)) {
        return sim_fail(op, 410, "Expired",
                        "The provided continue parameter is too old to display a consistent list "
                        "result. You can start a new list without the continue parameter.");
    }
    return answer_page(op, p->items, from, id, p->version);
}

int sim_op_list(struct sim_op *op)
{
    if (op->path && op->path->continue_token && op->path->continue_token[0]) {
        return next_page(op, op->path->continue_token);
    }
    json_t *items = select_items(op);
    if (!items) {
        return op->status;
    }
    bool more = op->path && op->path->limit > 0 && (size_t)op->path->limit < json_array_size(items);
    uint64_t id = more ? pages_keep(op->a, items) : 0;
    int code = answer_page(op, items, 0, id, op->a->version);
    json_decref(items);
    return code;
}
