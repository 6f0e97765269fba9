/* opts.c - see opts.h. */
#include "opts.h"

#include "common/base/clock.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#define HELP_COLUMN 42 /* the longest name with its placeholder ends before it */

struct parser {
    struct cmd_opts *o;
    const struct opt_group *groups;
    size_t n_groups;
    const char *const *argv;
    int argc, at;
    struct err *err;
};

void opts_init(struct cmd_opts *o)
{
    memset(o, 0, sizeof(*o));
    arena_init(&o->mem, 0, SIZE_MAX);
    o->agent_namespace = "karp";
    o->color = "auto";
    o->expiration_max_delay_ns = 72 * NS_PER_H;
    o->registration_timeout_ns = 15 * NS_PER_MIN;
}

void opts_done(struct cmd_opts *o)
{
    arena_done(&o->mem);
}

/* ---- finding rows ---------------------------------------------------------------------------- */

const struct opt *opts_find(const struct opt_group *groups, size_t n_groups, const char *name,
                            size_t name_n)
{
    for (size_t g = 0; g < n_groups; g++) {
        for (size_t i = 0; i < groups[g].n; i++) {
            const struct opt *row = &groups[g].v[i];
            if (strlen(row->name) == name_n && memcmp(row->name, name, name_n) == 0) {
                return row;
            }
        }
    }
    return NULL;
}

static const struct opt *find_letter(const struct parser *p, char letter)
{
    for (size_t g = 0; g < p->n_groups; g++) {
        for (size_t i = 0; i < p->groups[g].n; i++) {
            if (p->groups[g].v[i].letter == letter) {
                return &p->groups[g].v[i];
            }
        }
    }
    return NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void *slot(const struct parser *p, const struct opt *row)
{
    return (char *)p->o + row->at;
}

static void texts_add(struct parser *p, struct opt_texts *list, const char *text)
{
    ARENA_GROW(&p->o->mem, list->v, list->n, list->cap);
    list->v[list->n++] = text;
}

/* strconv.ParseBool */
static bool parse_bool(const char *s, bool *ret)
{
    static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True"};
    static const char *const no[] = {"0", "f", "F", "false", "FALSE", "False"};
    for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
        if (str_eq(s, yes[i]) || str_eq(s, no[i])) {
            *ret = str_eq(s, yes[i]);
            return true;
        }
    }
    return false;
}

static bool parse_duration(const char *s, int64_t *ret_ns)
{
    int64_t n;
    if (str_parse_i64(s, &n)) {
        return n >= 0 && !__builtin_mul_overflow(n, NS_PER_S, ret_ns);
    }
    return timefmt_parse_duration_days(s, ret_ns) && *ret_ns >= 0;
}

/* Is s one of "a|b|c"? */
static bool is_choice(const char *choices, const char *s)
{
    size_t n = strlen(s);
    for (const char *c = choices; n > 0; c++) {
        size_t len = strcspn(c, "|");
        if (len == n && memcmp(c, s, n) == 0) {
            return true;
        }
        c += len;
        if (*c == '\0') {
            return false;
        }
    }
    return false;
}

static int bad_value(struct parser *p, const struct opt *row, const char *value, const char *want)
{
    char letter[8] = "";
    if (row->letter) {
        (void)snprintf(letter, sizeof(letter), "-%c, ", row->letter);
    }
    return err_set(p->err, ERR_INVALID, "invalid argument \"%s\" for \"%s--%s\" flag: must be %s",
                   value, letter, row->name, want);
}

static int put_value(struct parser *p, const struct opt *row, const char *value)
{
    if (row->choices && !is_choice(row->choices, value)) {
        return bad_value(p, row, value, row->choices);
    }
    switch (row->kind) {
    case OPT_FLAG:
        return parse_bool(value, slot(p, row)) ? 0 : bad_value(p, row, value, "true or false");
    case OPT_TEXT:
    case OPT_CHOICE:
        *(const char **)slot(p, row) = value;
        return 0;
    case OPT_TEXTS:
        texts_add(p, slot(p, row), value);
        return 0;
    case OPT_COUNT: {
        int64_t n;
        if (!str_parse_i64(value, &n) || n < 0) {
            return bad_value(p, row, value, "a whole number");
        }
        *(int64_t *)slot(p, row) = n;
        return 0;
    }
    case OPT_DURATION:
        return parse_duration(value, slot(p, row))
                   ? 0
                   : bad_value(p, row, value, "a duration such as 30s or 5m");
    }
    BUG("option %s has no kind", row->name);
}

/* The next argument as a value; NULL if there is none. */
static const char *next_value(struct parser *p)
{
    return p->at < p->argc ? p->argv[p->at++] : NULL;
}

/* What a row without "=" means; NULL if its value follows. */
static const char *implied_value(struct parser *p, const struct opt *row)
{
    if (row->kind == OPT_CHOICE) {
        return arena_strndup(&p->o->mem, row->choices, strcspn(row->choices, "|"));
    }
    return row->kind == OPT_FLAG ? "true" : NULL;
}

/* ---- one argument ---------------------------------------------------------------------------- */

static int read_long(struct parser *p, const char *arg)
{
    const char *name = arg + 2, *equals = strchr(name, '=');
    size_t n = equals ? (size_t)(equals - name) : strlen(name);
    const struct opt *row = opts_find(p->groups, p->n_groups, name, n);
    if (!row) {
        return err_set(p->err, ERR_INVALID, "unknown flag: --%.*s", (int)n, name);
    }
    const char *value = equals ? equals + 1 : implied_value(p, row);
    value = value ? value : next_value(p);
    if (!value) {
        return err_set(p->err, ERR_INVALID, "flag needs an argument: --%s", row->name);
    }
    return put_value(p, row, value);
}

/* Letters of one argument: flags until one that takes the rest, or what follows, as its value. */
static int read_letters(struct parser *p, const char *arg)
{
    for (const char *c = arg + 1; *c; c++) {
        const struct opt *row = find_letter(p, *c);
        if (!row) {
            return err_set(p->err, ERR_INVALID, "unknown shorthand flag: '%c' in %s", *c, arg);
        }
        if (row->kind == OPT_FLAG && c[1] != '=') {
            if (put_value(p, row, "true") != 0) {
                return -1;
            }
            continue;
        }
        const char *value = c[1] == '=' ? c + 2 : c[1] != '\0' ? c + 1 : next_value(p);
        if (!value) {
            return err_set(p->err, ERR_INVALID, "flag needs an argument: '%c' in %s", *c, arg);
        }
        return put_value(p, row, value);
    }
    return 0;
}

static int add_word(struct parser *p, const char *word)
{
    if (p->o->words.n >= OPTS_WORDS_MAX) {
        return err_set(p->err, ERR_LIMIT, "more than %u arguments", OPTS_WORDS_MAX);
    }
    texts_add(p, &p->o->words, word);
    return 0;
}

static bool is_word(const char *arg)
{
    return arg[0] != '-' || arg[1] == '\0';
}

static int read_all(struct parser *p, bool stop_at_word)
{
    bool only_words = false;
    while (p->at < p->argc) {
        const char *arg = p->argv[p->at];
        bool word = only_words || is_word(arg);
        if (word && stop_at_word) {
            return 0;
        }
        p->at++;
        int rc = 0;
        if (word) {
            rc = add_word(p, arg);
        } else if (str_eq(arg, "--")) {
            only_words = true;
        } else {
            rc = arg[1] == '-' ? read_long(p, arg) : read_letters(p, arg);
        }
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

int opts_parse(struct cmd_opts *o, const struct opt_group *groups, size_t n_groups, int argc,
               const char *const *argv, bool stop_at_word, struct err *reterr)
{
    struct parser p = {o, groups, n_groups, argv, argc, 0, reterr};
    if (read_all(&p, stop_at_word) != 0) {
        return -1;
    }
    o->kube.as_groups = o->as_groups.v;
    o->kube.n_as_groups = o->as_groups.n;
    return p.at;
}

/* ---- help ------------------------------------------------------------------------------------ */

static void help_line(const struct opt *row, struct buf *out)
{
    char left[96];
    int n = row->letter ? snprintf(left, sizeof(left), "  -%c, --%s", row->letter, row->name)
                        : snprintf(left, sizeof(left), "      --%s", row->name);
    if (row->arg) {
        n += snprintf(left + n, sizeof(left) - (size_t)n, " %s", row->arg);
    }
    if (n >= HELP_COLUMN) {
        buf_printf(out, "%s\n%*s", left, HELP_COLUMN, "");
    } else {
        buf_printf(out, "%-*s", HELP_COLUMN, left);
    }
    buf_puts(out, row->help);
    if (row->choices) {
        buf_printf(out, " (%s)", row->choices);
    }
    buf_putc(out, '\n');
}

void opts_help(const struct opt_group *groups, size_t n_groups, struct buf *out)
{
    for (size_t g = 0; g < n_groups; g++) {
        buf_printf(out, "\n%s:\n", groups[g].title);
        for (size_t i = 0; i < groups[g].n; i++) {
            help_line(&groups[g].v[i], out);
        }
    }
}
