/*
 * jsonpath_parse.h - the parsed form of JSONPath text (inner part of jsonpath).
 *
 * All of it lives in the arena given to the parser. Lists are chained in the order of the text.
 */
#ifndef KARP_BASE_JSONPATH_PARSE_H
#define KARP_BASE_JSONPATH_PARSE_H

#include "arena.h"
#include "err.h"

#include <stdbool.h>

/* One item in brackets: a key, or a slice (a single index is a slice of one). */
struct jsonpath_pick {
    const char *key; /* NULL for a slice */
    bool single, has_lo, has_hi;
    int64_t lo, hi, step;
    struct jsonpath_pick *next;
};

enum jsonpath_value_kind { VALUE_NONE, VALUE_NULL, VALUE_BOOL, VALUE_INT, VALUE_REAL, VALUE_TEXT };

struct jsonpath_value {
    enum jsonpath_value_kind kind;
    int64_t i; /* bool too */
    double r;
    const char *s;
};

/* One side of a comparison: a path from the element at hand, or a literal. */
struct jsonpath_operand {
    bool is_path;
    struct jsonpath_step *path; /* may be NULL: the element itself */
    struct jsonpath_value literal;
};

enum jsonpath_op { OP_EXISTS, OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE };

enum jsonpath_step_kind {
    STEP_PICK,   /* .a ['a','b'] [0] [1:3] */
    STEP_ALL,    /* .* [*] */
    STEP_DEEP,   /* .. : the value and all below it */
    STEP_FILTER, /* [?(...)] */
};

struct jsonpath_step {
    enum jsonpath_step_kind kind;
    struct jsonpath_pick *picks;
    enum jsonpath_op op;
    struct jsonpath_operand left, right;
    struct jsonpath_step *next;
};

enum jsonpath_node_kind { NODE_TEXT, NODE_PATH, NODE_RANGE };

struct jsonpath_node {
    enum jsonpath_node_kind kind;
    const char *text;
    struct jsonpath_step *path; /* NULL: the current value itself */
    struct jsonpath_node *body; /* of a range */
    struct jsonpath_node *next;
};

/* A bare path, braces and leading dot optional. *ret may be NULL: the root itself. */
int jsonpath_parse_path(const char *s, struct arena *a, struct jsonpath_step **ret,
                        struct err *reterr);
int jsonpath_parse_template(const char *s, struct arena *a, struct jsonpath_node **ret,
                            struct err *reterr);

#endif
