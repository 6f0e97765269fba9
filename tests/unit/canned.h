/*
 * canned.h - what a server says to the plugin's writing commands: who asks, who leads, what
 * karp.dev has, canned answers for the rest, 403 for writes that it forbids.
 */
#ifndef KARP_TESTS_CANNED_H
#define KARP_TESTS_CANNED_H

#include "cmdserver.h"

#define NOT_FOUND                                                                                  \
    "{\"kind\": \"Status\", \"code\": 404, \"reason\": \"NotFound\", \"message\": \"no such "      \
    "thing\"}"

struct canned {
    const char *path, *body; /* what paths begin with; NULL: there is no such object */
};

struct canned_api {
    const struct canned *answers;
    size_t n_answers;
    const char *leases;
    bool anonymous; /* the server does not tell who asks */
    const char *(*karp)(const char *path, int *ret_status);
};

static inline const char *canned_answer(const struct canned_api *api, const struct server *s,
                                        const char *request, int *ret_status)
{
    const char *path = strchr(request, ' ') + 1;
    *ret_status = 200;
    if (s->forbid && !str_starts(request, "GET") && str_starts(path, s->forbid)) {
        *ret_status = 403;
        return "{\"kind\": \"Status\", \"code\": 403, \"reason\": \"Forbidden\", \"message\": "
               "\"somebody may not\"}";
    }
    if (str_starts(path, "/apis/coordination.k8s.io")) {
        return api->leases;
    }
    if (str_starts(path, "/apis/authentication.k8s.io")) {
        *ret_status = api->anonymous ? 404 : 201;
        return api->anonymous ? NOT_FOUND
                              : "{\"status\": {\"userInfo\": {\"username\": \"alice\"}}}";
    }
    if (str_starts(path, "/apis/karp.dev")) {
        return api->karp(path, ret_status);
    }
    for (size_t i = 0; i < api->n_answers; i++) {
        if (str_starts(path, api->answers[i].path)) {
            *ret_status = api->answers[i].body ? 200 : 404;
            return api->answers[i].body ? api->answers[i].body : NOT_FOUND;
        }
    }
    return LIST("", "v1", "");
}

#endif
