/*
 * http_easy.h - internal to net: a struct http_req as options of a curl easy handle.
 *
 * Everything is copied into the handle, so a request may wait in a queue; only the header lists are
 * not curl's and stay with the caller until the handle is gone.
 */
#ifndef KARP_NET_HTTP_EASY_H
#define KARP_NET_HTTP_EASY_H

#include "http.h"

#include <curl/curl.h>

struct http_easy {
    CURL *easy;
    struct curl_slist *headers, *connect_to;
};

/* On failure nothing is left behind. */
int http_easy_init(struct http_easy *e, const struct http_req *req, const char *user_agent,
                   struct err *reterr);
void http_easy_done(struct http_easy *e);

/* What a CURLcode means to the asker. detail is the handle's error buffer. */
void http_easy_err(struct err *e, CURL *easy, CURLcode code, const char *detail);

#endif
