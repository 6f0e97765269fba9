/*
 * labelsel.h - kubectl's -l: "env=prod,tier!=web,zone in (a, b),!old".
 *
 * Expressions are separated by commas, all must hold: KEY, !KEY, KEY=V, KEY==V, KEY!=V,
 * KEY in (V, …), KEY notin (V, …). As in Kubernetes, != and notin hold where the label is absent.
 */
#ifndef KARP_CMD_LABELSEL_H
#define KARP_CMD_LABELSEL_H

#include "common/base/err.h"
#include "common/core/model.h"

#define LABELSEL_EXPRS_MAX 200u
#define LABELSEL_VALUES_MAX 1000u /* of one expression */

/* Texts are copied into a. */
int labelsel_parse(struct arena *a, const char *text, struct selector *ret, struct err *reterr);
/* The labels of a node or claim as the selector wants them. */
bool labelsel_matches(struct arena *a, const struct symtab *t, const struct selector *s,
                      const struct labels *labels);

#endif
