/*
 * form.h - the body of a Query request: "Action=…&Version=…&Filter.1.Name=vpc-id&…".
 *
 * Names are flattened with 1-based indexes. A scope in progress is a prefix for everything written
 * in it:
 *     form_begin_item(f, "Filter", 1);            Filter.1.
 *     form_str(f, "Name", "vpc-id");              Filter.1.Name=vpc-id
 *     form_item(f, "Value", 1, "vpc-0a1b");       Filter.1.Value.1=vpc-0a1b
 *     form_end(f);
 * An absent value (NULL text) writes nothing; "" writes "Name=", which EC2 reads as empty. Values
 * are percent-encoded as RFC 3986 wants (unreserved characters stay). Scopes nest FORM_DEPTH_MAX
 * deep. The order of calls is the order on the wire, so equal input gives equal bytes.
 *
 * Sizes are capped by FORM_MAX; whoever sends tests form_over once at the end (aws_call_form does).
 */
#ifndef KARP_AWS_FORM_H
#define KARP_AWS_FORM_H

#include "common/base/buf.h"

#define FORM_MAX (16u << 20)
#define FORM_DEPTH_MAX 8
#define FORM_PREFIX_MAX 256

struct form {
    struct buf body;
    const char *action; /* borrowed; a literal */
    char prefix[FORM_PREFIX_MAX];
    size_t prefix_n;
    size_t scopes[FORM_DEPTH_MAX]; /* prefix_n before each open scope */
    size_t depth;
};

/* Writes Action and Version. */
void form_init(struct form *f, const char *action, const char *version);
void form_done(struct form *f); /* also for CLEANUP(form_done); a zeroed struct is fine */
bool form_over(const struct form *f);

void form_begin(struct form *f, const char *name);
void form_begin_item(struct form *f, const char *name, size_t index); /* index from 1 */
void form_end(struct form *f);

void form_str(struct form *f, const char *name, const char *value);
void form_item(struct form *f, const char *name, size_t index, const char *value);
void form_bool(struct form *f, const char *name, bool value);
void form_i64(struct form *f, const char *name, int64_t value);
/* YYYY-MM-DDTHH:MM:SSZ */
void form_time(struct form *f, const char *name, int64_t wall_ns);

/* Appends s percent-encoded; for paths of REST services too. */
void form_escape(struct buf *b, const char *s);

#define AUTO_FORM CLEANUP(form_done)

#endif
