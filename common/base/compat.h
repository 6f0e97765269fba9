/*
 * compat.h - compiler attributes and scope-cleanup helpers, the one place that knows the compiler.
 *
 * PRINTF(f, a)      the function formats like printf, format at argument f, first value at a
 * MUST_CHECK        ignoring the result is a warning
 * UNUSED            the parameter is there for a callback's shape
 * CLEANUP(fn)       calls fn(&variable) when the variable leaves scope
 * ARRAY_LEN(a)      elements of a real array
 *
 * Functions that invite overflows or hidden state do not compile anywhere in the tree.
 */
#ifndef KARP_BASE_COMPAT_H
#define KARP_BASE_COMPAT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define MUST_CHECK __attribute__((warn_unused_result))
#define UNUSED __attribute__((unused))
#define NORETURN __attribute__((noreturn))
#define CLEANUP(fn) __attribute__((cleanup(fn)))
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#pragma GCC poison strcpy strcat sprintf vsprintf strtok gets

#endif
