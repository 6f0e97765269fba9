/*
 * ec2_wire.h - what the files of ec2.h share: lists on the wire, both ways. For ec2*.c only.
 */
#ifndef KARP_AWS_EC2_WIRE_H
#define KARP_AWS_EC2_WIRE_H

#include "ec2.h"
#include "xml.h"

/* name.1=…&name.2=… */
void ec2_put_strings(struct form *f, const char *name, const struct ec2_strings *s);
/* Filter.N.Name, Filter.N.Value.M; filters may be NULL. */
void ec2_put_filters(struct form *f, const struct ec2_filters *filters);
/* Tag.N.Key, Tag.N.Value */
void ec2_put_tags(struct form *f, const struct ec2_tags *tags);
/* TagSpecification.N.ResourceType, TagSpecification.N.Tag.M; kinds without tags are left out. */
void ec2_put_tag_specs(struct form *f, const struct ec2_tag_specs *specs);
/* MaxResults, NextToken */
void ec2_put_page(struct form *f, int64_t max_results, const char *next_token);
/* A number that `absent` stands for nothing of. */
void ec2_put_i64(struct form *f, const char *name, int64_t value, int64_t absent);
/* 1, 0, or -1 = not sent */
void ec2_put_tristate(struct form *f, const char *name, int8_t value);

/* The document if its root element has that name and, unless list is NULL, a child of that name;
 * else NULL and an error. An answer without its list is not an empty list: instances would be
 * taken for gone. */
const struct xml *ec2_root(struct arena *a, const char *body, size_t n, const char *name,
                           const char *list, struct err *reterr);
/* Text at the path, NULL also for empty text. */
const char *ec2_text(const struct xml *x, const char *path);
/* Children called item under the node at path: how many, and each one's text at sub ("" = its
 * own). Items without such a text are left out. */
struct ec2_strings ec2_get_strings(struct arena *a, const struct xml *x, const char *path,
                                   const char *sub);
struct ec2_tags ec2_get_tags(struct arena *a, const struct xml *x); /* tagSet */

#endif
