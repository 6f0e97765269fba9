#include "http_easy.h"

#include "common/base/alloc.h"
#include "common/base/str.h"

#include <ctype.h>
#include <strings.h>

#define UPLOAD_BUFFER_BYTES 16384L /* the least that curl allows */

/* ---- SigV4 ----------------------------------------------------------------------------------- */

static bool path_unreserved(const char *url)
{
    const char *p = strstr(url, "://");
    p = p ? p + 3 : url;
    p += strcspn(p, "/?#");
    for (; *p; p++) {
        if (!isalnum((unsigned char)*p) && !strchr("-._~/", *p)) {
            return false; /* also a query or a fragment */
        }
    }
    return true;
}

static const char *sigv4_fault(const struct http_req *req)
{
    bool get = !req->method || str_eq(req->method, "GET");
    if (!get && !str_eq(req->method, "POST")) {
        return "only GET and POST can be signed";
    }
    if (get ? req->body != NULL : req->body == NULL) {
        return "a signed POST needs a body, a signed GET must not have one";
    }
    if (!path_unreserved(req->url)) {
        return "the path of a signed request has reserved characters or a query";
    }
    for (size_t i = 0; i < req->n_headers; i++) {
        const char *h = req->headers[i];
        const char *colon = strchr(h, ':');
        if (!colon || colon[1 + strspn(colon + 1, " ")] == '\0') {
            return "a header without value cannot be signed";
        }
        if (strncasecmp(h, "x-amz-date:", 11) == 0 || strncasecmp(h, "date:", 5) == 0) {
            return "libcurl writes the date of signed requests itself";
        }
    }
    const struct http_sigv4 *s = req->sigv4;
    return s->region && s->service && s->access_key && s->secret_key
               ? NULL
               : "region, service or key is missing";
}

static int set_sigv4(struct http_easy *e, const struct http_req *req, struct err *reterr)
{
    const char *fault = sigv4_fault(req);
    if (fault) {
        return err_set(reterr, ERR_INVALID, "AWS signature: %s", fault);
    }
    const struct http_sigv4 *s = req->sigv4;
    AUTO_FREE char *spec = xasprintf("aws:amz:%s:%s", s->region, s->service);
    curl_easy_setopt(e->easy, CURLOPT_AWS_SIGV4, spec);
    curl_easy_setopt(e->easy, CURLOPT_USERNAME, s->access_key);
    curl_easy_setopt(e->easy, CURLOPT_PASSWORD, s->secret_key);
    return 0;
}

/* ---- headers and body ------------------------------------------------------------------------ */

static void add_header(struct http_easy *e, const char *line)
{
    struct curl_slist *list = curl_slist_append(e->headers, line);
    if (!list) {
        abort(); /* out of memory, as everywhere */
    }
    e->headers = list;
}

static int set_headers(struct http_easy *e, const struct http_req *req, struct err *reterr)
{
    for (size_t i = 0; i < req->n_headers; i++) {
        if (strpbrk(req->headers[i], "\r\n")) {
            return err_set(reterr, ERR_INVALID, "a header contains a line break");
        }
        add_header(e, req->headers[i]);
    }
    if (req->sigv4 && req->sigv4->session_token) {
        AUTO_FREE char *line = xasprintf("X-Amz-Security-Token: %s", req->sigv4->session_token);
        add_header(e, line);
    }
    if (req->body && !req->sigv4) {
        add_header(e, "Expect:"); /* no waiting for 100-continue; but a signature would cover it */
    }
    curl_easy_setopt(e->easy, CURLOPT_HTTPHEADER, e->headers);
    return 0;
}

static void set_method(struct http_easy *e, const struct http_req *req)
{
    const char *method = req->method ? req->method : "GET";
    bool post = str_eq(method, "POST");
    if (req->body || post) {
        curl_easy_setopt(e->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)req->body_n);
        curl_easy_setopt(e->easy, CURLOPT_COPYPOSTFIELDS, req->body ? req->body : "");
    } else {
        curl_easy_setopt(e->easy, CURLOPT_HTTPGET, 1L);
    }
    if (!post && !str_eq(method, "GET")) {
        curl_easy_setopt(e->easy, CURLOPT_CUSTOMREQUEST, method);
    }
}

/* ---- TLS ------------------------------------------------------------------------------------- */

static void set_blob(CURL *easy, CURLoption opt, const char *p, size_t n)
{
    /* Copied at once; the cast only drops a const that curl's struct lacks. */
    struct curl_blob blob = {(void *)(uintptr_t)p, n, CURL_BLOB_COPY};
    curl_easy_setopt(easy, opt, &blob);
}

/* There is no option for the name alone: the URL carries the name, CONNECT_TO the address. */
static int set_server_name(struct http_easy *e, const char *url, const char *name,
                           struct err *reterr)
{
    CURLU *u = curl_url();
    char *host = NULL, *port = NULL, *full = NULL;
    int rc = -1;
    if (!u || curl_url_set(u, CURLUPART_URL, url, 0) || curl_url_get(u, CURLUPART_HOST, &host, 0) ||
        curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) ||
        curl_url_set(u, CURLUPART_HOST, name, 0) || curl_url_get(u, CURLUPART_URL, &full, 0)) {
        err_set(reterr, ERR_INVALID, "the TLS server name \"%s\" does not fit URL %s", name, url);
    } else {
        AUTO_FREE char *to = xasprintf("::%s:%s", host, port);
        e->connect_to = curl_slist_append(NULL, to);
        curl_easy_setopt(e->easy, CURLOPT_CONNECT_TO, e->connect_to);
        curl_easy_setopt(e->easy, CURLOPT_URL, full);
        rc = 0;
    }
    curl_free(host);
    curl_free(port);
    curl_free(full);
    curl_url_cleanup(u);
    return rc;
}

static int set_tls(struct http_easy *e, const struct http_req *req, struct err *reterr)
{
    const struct http_tls *t = req->tls;
    if (t->insecure) {
        curl_easy_setopt(e->easy, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(e->easy, CURLOPT_SSL_VERIFYHOST, 0L);
    } else if (t->ca_pem) {
        set_blob(e->easy, CURLOPT_CAINFO_BLOB, t->ca_pem, t->ca_n);
        curl_easy_setopt(e->easy, CURLOPT_CAPATH, NULL); /* this CA and no other */
    }
    if (t->cert_pem && t->key_pem) {
        curl_easy_setopt(e->easy, CURLOPT_SSLCERTTYPE, "PEM");
        curl_easy_setopt(e->easy, CURLOPT_SSLKEYTYPE, "PEM");
        set_blob(e->easy, CURLOPT_SSLCERT_BLOB, t->cert_pem, t->cert_n);
        set_blob(e->easy, CURLOPT_SSLKEY_BLOB, t->key_pem, t->key_n);
    }
    return t->server_name ? set_server_name(e, req->url, t->server_name, reterr) : 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void set_basics(CURL *easy, const struct http_req *req, const char *user_agent)
{
    curl_easy_setopt(easy, CURLOPT_URL, req->url);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, user_agent);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    /* Requests are small; a watch keeps its buffer as long as it lasts. */
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_BUFFER_BYTES);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, (long)HTTP_KEEPALIVE_S);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, (long)HTTP_KEEPALIVE_S);
    int64_t connect_ns =
        req->connect_timeout_ns > 0 ? req->connect_timeout_ns : HTTP_CONNECT_TIMEOUT_NS;
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)((connect_ns + 999999) / 1000000));
    if (req->timeout_ns > 0) {
        curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)((req->timeout_ns + 999999) / 1000000));
    }
    if (req->gzip) {
        curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
    }
    if (req->proxy) {
        curl_easy_setopt(easy, CURLOPT_PROXY, req->proxy);
    }
    if (req->user && !req->sigv4) {
        curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        curl_easy_setopt(easy, CURLOPT_USERNAME, req->user);
        curl_easy_setopt(easy, CURLOPT_PASSWORD, req->password ? req->password : "");
    }
}

int http_easy_init(struct http_easy *e, const struct http_req *req, const char *user_agent,
                   struct err *reterr)
{
    memset(e, 0, sizeof(*e));
    e->easy = curl_easy_init();
    if (!e->easy) {
        abort(); /* out of memory, as everywhere */
    }
    set_basics(e->easy, req, user_agent);
    set_method(e, req);
    if (set_headers(e, req, reterr) || (req->tls && set_tls(e, req, reterr)) ||
        (req->sigv4 && set_sigv4(e, req, reterr))) {
        http_easy_done(e);
        return -1;
    }
    return 0;
}

void http_easy_done(struct http_easy *e)
{
    curl_easy_cleanup(e->easy);
    curl_slist_free_all(e->headers);
    curl_slist_free_all(e->connect_to);
    memset(e, 0, sizeof(*e));
}

static enum err_kind kind_of(CURL *easy, CURLcode code)
{
    curl_off_t sent_us = 0;
    switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
        /* Nothing was sent yet: then it is certain that nothing happened. */
        curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &sent_us);
        return sent_us > 0 ? ERR_TIMEOUT : ERR_UNAVAILABLE;
    case CURLE_UNSUPPORTED_PROTOCOL:
        /* A scheme we do not speak, or, once something was sent, an answer that is no HTTP. */
        curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &sent_us);
        return sent_us > 0 ? ERR_UNAVAILABLE : ERR_INVALID;
    case CURLE_URL_MALFORMAT:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_BAD_FUNCTION_ARGUMENT:
        return ERR_INVALID;
    default:
        return ERR_UNAVAILABLE;
    }
}

void http_easy_err(struct err *e, CURL *easy, CURLcode code, const char *detail)
{
    char *url = NULL;
    long os = 0;
    curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &url);
    curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &os);
    /* Scheme and host are enough to know whom: paths may be long. */
    const char *host = url ? strstr(url, "://") : NULL;
    int n = host ? (int)(host + 3 - url + (ptrdiff_t)strcspn(host + 3, "/?")) : 0;
    err_set(e, kind_of(easy, code), "%.*s: %s", n, n ? url : "",
            detail && *detail ? detail : curl_easy_strerror(code));
    e->os = (int)os;
}
