/*
 * jsonsel.h - label and field selectors over JSON objects, as the API server's list and watch
 * parameters, kubectl's -l and the objects' own LabelSelector take them.
 *
 * Label selector text: comma-separated key=value, key==value, key!=value, key, !key,
 * "key in (a,b)", "key notin (a,b)". != and notin also hold for objects without the key.
 * Field selector text: field=value, ==, !=, joined by commas. Which fields a kind knows is the
 * API server's rule (sim_kind_selectable); here a field is a dotted path, absent reads as "".
 * A parsed selector owns its strings; jsonsel_done accepts a zeroed one, which matches all.
 */
#ifndef KARP_SIM_JSONSEL_H
#define KARP_SIM_JSONSEL_H

#include "common/base/err.h"

#include <jansson.h>
#include <stdbool.h>

#define JSONSEL_TERMS_MAX 64
#define JSONSEL_VALUES_MAX 256

enum jsonsel_op {
    JSONSEL_IN,
    JSONSEL_NOT_IN,
    JSONSEL_EXISTS,
    JSONSEL_NOT_EXISTS,
    JSONSEL_GT,
    JSONSEL_LT
};

struct jsonsel_term {
    char *key;
    enum jsonsel_op op;
    char **values;
    size_t n_values;
};

struct jsonsel {
    struct jsonsel_term *terms;
    size_t n, cap;
    char *text; /* the selector as given */
};

int jsonsel_parse_labels(const char *text, struct jsonsel *ret, struct err *reterr);
int jsonsel_parse_fields(const char *text, struct jsonsel *ret, struct err *reterr);
void jsonsel_done(struct jsonsel *s);

/* labels: the object of labels, NULL = none. */
bool jsonsel_match_labels(const struct jsonsel *s, const json_t *labels);
bool jsonsel_match_fields(const struct jsonsel *s, const json_t *object);

/* One requirement {key, operator, values} of a node selector or a label selector against labels.
 * An operator that is not known matches nothing. */
bool jsonsel_match_expr(const json_t *expr, const json_t *labels);
/* metav1.LabelSelector {matchLabels, matchExpressions}; NULL matches nothing, {} everything. */
bool jsonsel_match_selector(const json_t *selector, const json_t *labels);
/* Plain map of key: value that labels must all have (nodeSelector, Service and RC selectors). */
bool jsonsel_match_map(const json_t *map, const json_t *labels);
/* One nodeSelectorTerm {matchExpressions, matchFields}: the empty term matches nothing. */
bool jsonsel_match_node_term(const json_t *term, const json_t *node);

#endif
