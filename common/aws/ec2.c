/* ec2.c - lists on the wire that all calls share (ec2.h, ec2_wire.h) */
#include "ec2.h"

#include "common/base/str.h"
#include "ec2_wire.h"

const char *ec2_tag(const struct ec2_tags *tags, const char *key)
{
    for (size_t i = 0; i < tags->n; i++) {
        if (str_eq(tags->v[i].key, key)) {
            return tags->v[i].value;
        }
    }
    return NULL;
}

void ec2_put_strings(struct form *f, const char *name, const struct ec2_strings *s)
{
    for (size_t i = 0; i < s->n; i++) {
        form_item(f, name, i + 1, s->v[i]);
    }
}

void ec2_put_filters(struct form *f, const struct ec2_filters *filters)
{
    for (size_t i = 0; filters && i < filters->n; i++) {
        form_begin_item(f, "Filter", i + 1);
        form_str(f, "Name", filters->v[i].name);
        ec2_put_strings(f, "Value", &filters->v[i].values);
        form_end(f);
    }
}

void ec2_put_tags(struct form *f, const struct ec2_tags *tags)
{
    for (size_t i = 0; i < tags->n; i++) {
        form_begin_item(f, "Tag", i + 1);
        form_str(f, "Key", tags->v[i].key);
        form_str(f, "Value", tags->v[i].value ? tags->v[i].value : "");
        form_end(f);
    }
}

void ec2_put_tag_specs(struct form *f, const struct ec2_tag_specs *specs)
{
    size_t index = 0;
    for (size_t i = 0; i < specs->n; i++) {
        if (specs->v[i].tags.n > 0) {
            form_begin_item(f, "TagSpecification", ++index);
            form_str(f, "ResourceType", specs->v[i].resource_type);
            ec2_put_tags(f, &specs->v[i].tags);
            form_end(f);
        }
    }
}

void ec2_put_i64(struct form *f, const char *name, int64_t value, int64_t absent)
{
    if (value != absent) {
        form_i64(f, name, value);
    }
}

void ec2_put_tristate(struct form *f, const char *name, int8_t value)
{
    if (value >= 0) {
        form_bool(f, name, value != 0);
    }
}

void ec2_put_page(struct form *f, int64_t max_results, const char *next_token)
{
    ec2_put_i64(f, "MaxResults", max_results, 0);
    form_str(f, "NextToken", next_token);
}

const struct xml *ec2_root(struct arena *a, const char *body, size_t n, const char *name,
                           const char *list, struct err *reterr)
{
    const struct xml *root = xml_parse(a, body, n, reterr);
    if (!root) {
        err_wrap(reterr, "%s", name);
        return NULL;
    }
    if (!str_eq(root->name, name)) {
        err_set(reterr, ERR_INVALID, "%s: the answer is a %s", name, root->name);
        return NULL;
    }
    if (list && !xml_child(root, list)) {
        err_set(reterr, ERR_INVALID, "%s: the answer has no %s", name, list);
        return NULL;
    }
    return root;
}

const char *ec2_text(const struct xml *x, const char *path)
{
    const char *s = xml_text(x, path);
    return s && *s ? s : NULL;
}

struct ec2_strings ec2_get_strings(struct arena *a, const struct xml *x, const char *path,
                                   const char *sub)
{
    const char **v = ARENA_NEW_N(a, const char *, xml_count(x, path, "item"));
    size_t n = 0;
    for (XML_EACH(xml_at(x, path), "item", it)) {
        const char *s = ec2_text(it, sub);
        if (s) {
            v[n++] = s;
        }
    }
    return (struct ec2_strings){v, n};
}

struct ec2_tags ec2_get_tags(struct arena *a, const struct xml *x)
{
    struct ec2_tag *v = ARENA_NEW_N(a, struct ec2_tag, xml_count(x, "tagSet", "item"));
    size_t n = 0;
    for (XML_EACH(xml_at(x, "tagSet"), "item", it)) {
        const char *key = ec2_text(it, "key");
        if (key) {
            v[n++] = (struct ec2_tag){key, xml_text_or(it, "value", "")};
        }
    }
    return (struct ec2_tags){v, n};
}
