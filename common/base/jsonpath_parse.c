#include "jsonpath_parse.h"

#include "jsonpath.h"
#include "str.h"

#include <ctype.h>

#define NUMBER_TEXT 64

struct parser {
    const char *start, *p;
    struct arena *a;
    struct err *err;
    bool in_filter; /* names end at operators, too */
    int nesting;    /* of filters and ranges */
};

static int parse_path(struct parser *ps, struct jsonpath_step **ret);

static int fail(struct parser *ps, const char *msg)
{
    return err_set(ps->err, ERR_INVALID, "jsonpath \"%.100s\": at byte %zu: %s", ps->start,
                   (size_t)(ps->p - ps->start) + 1, msg);
}

static void skip_blanks(struct parser *ps)
{
    while (isspace((unsigned char)*ps->p)) {
        ps->p++;
    }
}

static bool take(struct parser *ps, const char *s)
{
    size_t n = strlen(s);
    if (strncmp(ps->p, s, n) != 0) {
        return false;
    }
    ps->p += n;
    return true;
}

static int need(struct parser *ps, const char *s, const char *msg)
{
    skip_blanks(ps);
    return take(ps, s) ? 0 : fail(ps, msg);
}

static int nest(struct parser *ps)
{
    return ++ps->nesting > JSONPATH_MAX_NESTING ? fail(ps, "nested too deeply") : 0;
}

/* ---- names, strings, numbers ----------------------------------------------------------------- */

static bool name_char(const struct parser *ps)
{
    unsigned char c = (unsigned char)*ps->p;
    if (c == '\0' || isspace(c) || strchr(".,[](){}$@\"'*", c)) {
        return false;
    }
    return !ps->in_filter || !strchr("=!<>&|", c);
}

/* A key as it stands behind a dot; a backslash takes the next byte as it is. */
static const char *parse_name(struct parser *ps)
{
    const char *start = ps->p;
    for (; name_char(ps); ps->p++) {
        ps->p += *ps->p == '\\' && ps->p[1];
    }
    char *name = arena_strndup(ps->a, start, (size_t)(ps->p - start));
    size_t n = 0;
    for (const char *c = name; *c; c++) {
        c += *c == '\\' && c[1];
        name[n++] = *c;
    }
    name[n] = '\0';
    return name;
}

static int unescape(struct parser *ps, char *ret)
{
    static const char from[] = "ntr\\\"'/.", to[] = "\n\t\r\\\"'/.";
    const char *hit = *ps->p ? strchr(from, *ps->p) : NULL;
    if (!hit) {
        return fail(ps, "unknown escape in quotes");
    }
    *ret = to[hit - from];
    ps->p++;
    return 0;
}

static int parse_quoted(struct parser *ps, const char **ret)
{
    const char quote[] = {*ps->p++, '\0'};
    size_t max = 0;
    while (ps->p[max] && ps->p[max] != quote[0]) {
        max += ps->p[max] == '\\' && ps->p[max + 1] ? 2 : 1;
    }
    char *text = arena_alloc(ps->a, max + 1);
    size_t n = 0;
    while (*ps->p && *ps->p != quote[0]) {
        char c = *ps->p++;
        if (c == '\\' && unescape(ps, &c) < 0) {
            return -1;
        }
        text[n++] = c;
    }
    *ret = text;
    return take(ps, quote) ? 0 : fail(ps, "quotes are not closed");
}

/* The text of a number at the parser's place; false if there is none. */
static bool number_text(struct parser *ps, const char *chars, char dst[NUMBER_TEXT])
{
    size_t n = strspn(ps->p, chars);
    if (n == 0 || n >= NUMBER_TEXT) {
        return false;
    }
    memcpy(dst, ps->p, n);
    dst[n] = '\0';
    ps->p += n;
    return true;
}

/* ---- brackets -------------------------------------------------------------------------------- */

static int parse_bound(struct parser *ps, bool *ret_has, int64_t *ret)
{
    char text[NUMBER_TEXT];
    skip_blanks(ps);
    *ret_has = *ps->p == '-' || isdigit((unsigned char)*ps->p);
    if (*ret_has && (!number_text(ps, "-0123456789", text) || !str_parse_i64(text, ret))) {
        return fail(ps, "index is not a number");
    }
    skip_blanks(ps);
    return 0;
}

/* "3", "1:3", ":3", "-2:", "::2" */
static int parse_slice(struct parser *ps, struct jsonpath_pick *pick)
{
    bool has_step = false;
    pick->step = 1;
    if (parse_bound(ps, &pick->has_lo, &pick->lo) < 0) {
        return -1;
    }
    if (!take(ps, ":")) {
        pick->single = true;
        return pick->has_lo ? 0 : fail(ps, "index or quoted key expected");
    }
    if (parse_bound(ps, &pick->has_hi, &pick->hi) < 0 ||
        (take(ps, ":") && parse_bound(ps, &has_step, &pick->step) < 0)) {
        return -1;
    }
    return pick->step > 0 ? 0 : fail(ps, "step must be positive");
}

static int parse_picks(struct parser *ps, struct jsonpath_step *step)
{
    struct jsonpath_pick **tail = &step->picks;
    do {
        struct jsonpath_pick *pick = ARENA_NEW(ps->a, struct jsonpath_pick);
        *tail = pick;
        tail = &pick->next;
        skip_blanks(ps);
        int rc =
            *ps->p == '\'' || *ps->p == '"' ? parse_quoted(ps, &pick->key) : parse_slice(ps, pick);
        if (rc < 0) {
            return -1;
        }
        skip_blanks(ps);
    } while (take(ps, ","));
    return 0;
}

static int parse_number(struct parser *ps, struct jsonpath_value *v)
{
    char text[NUMBER_TEXT];
    if (number_text(ps, "+-.0123456789eE", text)) {
        if (str_parse_i64(text, &v->i)) {
            v->kind = VALUE_INT;
            return 0;
        }
        if (str_parse_f64(text, &v->r)) {
            v->kind = VALUE_REAL;
            return 0;
        }
    }
    return fail(ps, "not a number");
}

static bool take_word(struct parser *ps, const char *word)
{
    const char *before = ps->p;
    if (take(ps, word) && !name_char(ps)) {
        return true;
    }
    ps->p = before;
    return false;
}

static int parse_operand(struct parser *ps, struct jsonpath_operand *op)
{
    struct jsonpath_value *v = &op->literal;
    skip_blanks(ps);
    if (*ps->p == '"' || *ps->p == '\'') {
        v->kind = VALUE_TEXT;
        return parse_quoted(ps, &v->s);
    }
    if (*ps->p == '-' || *ps->p == '+' || isdigit((unsigned char)*ps->p)) {
        return parse_number(ps, v);
    }
    if (take_word(ps, "true") || take_word(ps, "false")) {
        v->kind = VALUE_BOOL;
        v->i = ps->p[-2] == 'u';
        return 0;
    }
    if (take_word(ps, "null")) {
        v->kind = VALUE_NULL;
        return 0;
    }
    if (!*ps->p || !strchr("@$.[", *ps->p)) {
        return fail(ps, "filter needs @.path, a number or quoted text");
    }
    op->is_path = true;
    return parse_path(ps, &op->path);
}

static enum jsonpath_op take_op(struct parser *ps)
{
    static const struct {
        const char *text;
        enum jsonpath_op op;
    } ops[] = {{"==", OP_EQ}, {"!=", OP_NE}, {"<=", OP_LE},
               {">=", OP_GE}, {"<", OP_LT},  {">", OP_GT}};
    skip_blanks(ps);
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        if (take(ps, ops[i].text)) {
            return ops[i].op;
        }
    }
    return OP_EXISTS;
}

/* Behind "[?", up to the closing parenthesis. */
static int parse_filter(struct parser *ps, struct jsonpath_step *step)
{
    bool outer = ps->in_filter;
    step->kind = STEP_FILTER;
    if (need(ps, "(", "filter needs (") < 0 || nest(ps) < 0) {
        return -1;
    }
    ps->in_filter = true;
    if (parse_operand(ps, &step->left) < 0) {
        return -1;
    }
    step->op = take_op(ps);
    if (step->op != OP_EXISTS && parse_operand(ps, &step->right) < 0) {
        return -1;
    }
    if (need(ps, ")", "filter is not closed with )") < 0) {
        return -1;
    }
    ps->in_filter = outer;
    ps->nesting--;
    return 0;
}

static int parse_brackets(struct parser *ps, struct jsonpath_step *step)
{
    int rc = 0;
    skip_blanks(ps);
    if (take(ps, "?")) {
        rc = parse_filter(ps, step);
    } else if (take(ps, "*")) {
        step->kind = STEP_ALL;
    } else {
        step->kind = STEP_PICK;
        rc = parse_picks(ps, step);
    }
    return rc < 0 ? -1 : need(ps, "]", "bracket is not closed with ]");
}

/* ---- paths ----------------------------------------------------------------------------------- */

static struct jsonpath_step *append_step(struct parser *ps, struct jsonpath_step ***tail,
                                         enum jsonpath_step_kind kind)
{
    struct jsonpath_step *step = ARENA_NEW(ps->a, struct jsonpath_step);
    step->kind = kind;
    **tail = step;
    *tail = &step->next;
    return step;
}

/* A name or star behind a dot; nothing there is no step. */
static bool parse_field(struct parser *ps, struct jsonpath_step ***tail)
{
    if (take(ps, "*")) {
        append_step(ps, tail, STEP_ALL);
        return true;
    }
    if (!name_char(ps)) {
        return false;
    }
    struct jsonpath_step *step = append_step(ps, tail, STEP_PICK);
    step->picks = ARENA_NEW(ps->a, struct jsonpath_pick);
    step->picks->key = parse_name(ps);
    return true;
}

static int parse_path(struct parser *ps, struct jsonpath_step **ret)
{
    struct jsonpath_step **tail = ret;
    *ret = NULL;
    /* kubectl takes both marks for the value at hand, also within a range. */
    bool mark = take(ps, "$") || take(ps, "@");
    if (!mark) {
        (void)parse_field(ps, &tail);
    }
    for (;;) {
        if (take(ps, "..")) {
            append_step(ps, &tail, STEP_DEEP);
            if (!parse_field(ps, &tail) && *ps->p == '.') {
                return fail(ps, "name expected behind the dots");
            }
        } else if (take(ps, ".")) {
            /* A dot alone is the value itself; "a.[0]" is common. */
            if (!parse_field(ps, &tail) && *ps->p != '[' && *ret) {
                return fail(ps, "name expected behind the dot");
            }
        } else if (take(ps, "[")) {
            if (parse_brackets(ps, append_step(ps, &tail, STEP_PICK)) < 0) {
                return -1;
            }
        } else {
            return 0;
        }
    }
}

/* ---- whole texts ----------------------------------------------------------------------------- */

static int check_length(struct parser *ps)
{
    if (strlen(ps->start) > JSONPATH_MAX_TEXT) {
        return err_set(ps->err, ERR_LIMIT, "jsonpath is longer than %d bytes", JSONPATH_MAX_TEXT);
    }
    skip_blanks(ps);
    return *ps->p ? 0 : fail(ps, "empty");
}

static int parse_bare(struct parser *ps, struct jsonpath_step **ret)
{
    bool brace = take(ps, "{");
    skip_blanks(ps);
    if (parse_path(ps, ret) < 0 || (brace && need(ps, "}", "} expected") < 0)) {
        return -1;
    }
    skip_blanks(ps);
    return *ps->p ? fail(ps, "unexpected character") : 0;
}

int jsonpath_parse_path(const char *s, struct arena *a, struct jsonpath_step **ret,
                        struct err *reterr)
{
    struct parser ps = {.start = s, .p = s, .a = a, .err = reterr};
    return check_length(&ps) < 0 ? -1 : parse_bare(&ps, ret);
}

static struct jsonpath_node *append_node(struct parser *ps, struct jsonpath_node ***tail,
                                         enum jsonpath_node_kind kind)
{
    struct jsonpath_node *node = ARENA_NEW(ps->a, struct jsonpath_node);
    node->kind = kind;
    **tail = node;
    *tail = &node->next;
    return node;
}

static int parse_nodes(struct parser *ps, bool in_range, struct jsonpath_node **ret);

/* Behind "{range": the path, then all up to {end}. */
static int parse_range(struct parser *ps, struct jsonpath_node *node)
{
    skip_blanks(ps);
    if (nest(ps) < 0 || parse_path(ps, &node->path) < 0 || need(ps, "}", "} expected") < 0 ||
        parse_nodes(ps, true, &node->body) < 0) {
        return -1;
    }
    ps->nesting--;
    return 0;
}

/* Behind "{"; *ret_end for {end}. */
static int parse_action(struct parser *ps, struct jsonpath_node ***tail, bool *ret_end)
{
    skip_blanks(ps);
    if (*ps->p == '"' || *ps->p == '\'') {
        struct jsonpath_node *text = append_node(ps, tail, NODE_TEXT);
        return parse_quoted(ps, &text->text) < 0 ? -1 : need(ps, "}", "} expected");
    }
    if (take_word(ps, "end")) {
        *ret_end = true;
        return need(ps, "}", "} expected");
    }
    if (take_word(ps, "range")) {
        return parse_range(ps, append_node(ps, tail, NODE_RANGE));
    }
    struct jsonpath_node *node = append_node(ps, tail, NODE_PATH);
    return parse_path(ps, &node->path) < 0 ? -1 : need(ps, "}", "} expected");
}

static int parse_nodes(struct parser *ps, bool in_range, struct jsonpath_node **ret)
{
    struct jsonpath_node **tail = ret;
    while (*ps->p) {
        size_t n = strcspn(ps->p, "{");
        if (n > 0) {
            append_node(ps, &tail, NODE_TEXT)->text = arena_strndup(ps->a, ps->p, n);
            ps->p += n;
            continue;
        }
        bool end = false;
        ps->p++;
        if (parse_action(ps, &tail, &end) < 0) {
            return -1;
        }
        if (end) {
            return in_range ? 0 : fail(ps, "end without range");
        }
    }
    return in_range ? fail(ps, "range without end") : 0;
}

int jsonpath_parse_template(const char *s, struct arena *a, struct jsonpath_node **ret,
                            struct err *reterr)
{
    struct parser ps = {.start = s, .p = s, .a = a, .err = reterr};
    *ret = NULL;
    if (check_length(&ps) < 0) {
        return -1;
    }
    if (!strchr(s, '{')) {
        struct jsonpath_node **tail = ret;
        return parse_bare(&ps, &append_node(&ps, &tail, NODE_PATH)->path);
    }
    ps.p = s;
    return parse_nodes(&ps, false, ret);
}
