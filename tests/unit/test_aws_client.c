/* test_aws_client.c - retries, their pauses, classification, cancelling (aws/client.h) */
#include "common/aws/client.h"
#include "common/aws/form.h"
#include "common/base/str.h"
#include "unit.h"

#include <errno.h>

#define EC2_ERROR(code, message)                                                                   \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error><Code>" code             \
    "</Code><Message>" message "</Message></Error></Errors><RequestID>r</RequestID></Response>"

/* ---- a port that is driven by hand, in a world without real time ----------------------------- */

static struct world {
    struct timers timers;
    int64_t now_ns;
    uint64_t seed;
    uint64_t handles;
    aws_done_fn done; /* of the request that waits for its answer */
    void *arg;
    uint64_t waiting;
    int n_requests, n_cancelled;
    char last[200]; /* service action method path body */
    struct aws_port port;
    struct clock clock;
    struct aws_client *client;
    /* the outcome */
    int n_done;
    struct err err;
    char body[200];
    int attempts;
    bool unknown;
    uint64_t cancel_in_done;
    bool free_in_done, call_in_done;
} w;

static uint64_t fake_request(UNUSED void *ctx, const struct aws_req *req, aws_done_fn done,
                             void *arg)
{
    ck_assert_ptr_nonnull(req->method);
    snprintf(w.last, sizeof(w.last), "%s %s %s %s %.*s", req->service, req->action, req->method,
             req->path, (int)req->body_n, req->body ? req->body : "");
    w.done = done;
    w.arg = arg;
    w.waiting = ++w.handles;
    w.n_requests++;
    return w.waiting;
}

static void fake_cancel(UNUSED void *ctx, uint64_t handle)
{
    if (handle == w.waiting) {
        w.waiting = 0;
        w.n_cancelled++;
    }
}

static void fake_close(UNUSED void *ctx)
{
}

static int64_t fake_now(UNUSED void *ctx)
{
    return w.now_ns;
}

static void begin(uint64_t seed)
{
    w = (struct world){.seed = seed, .now_ns = 1000};
    w.port = (struct aws_port){fake_request, fake_cancel, fake_close, NULL};
    w.clock = (struct clock){fake_now, fake_now, NULL};
    timers_init(&w.timers);
    w.client = aws_client_new(&w.port, &w.timers, &w.clock, entropy_seeded(&w.seed));
}

static void end(void)
{
    aws_client_free(w.client);
    timers_done(&w.timers);
}

static void answer(int status, const char *body)
{
    ck_assert_uint_ne(w.waiting, 0);
    const struct aws_resp resp = {.status = status, .body = body, .body_n = strlen(body)};
    w.waiting = 0;
    w.done(w.arg, &resp);
}

static void no_answer(enum err_kind kind, int os)
{
    ck_assert_uint_ne(w.waiting, 0);
    struct aws_resp resp = {.body = ""};
    err_set(&resp.err, kind, "no answer");
    resp.err.os = os;
    w.waiting = 0;
    w.done(w.arg, &resp);
}

/* Lets the pending pause pass; how long it was, -1 if there is none. */
static int64_t pass(void)
{
    int64_t at = timers_next_ns(&w.timers);
    if (at == NS_NEVER) {
        return -1;
    }
    int64_t took = at - w.now_ns;
    w.now_ns = at;
    while (timers_run_one(&w.timers, w.now_ns)) {
    }
    return took;
}

static void on_done(void *arg, const struct aws_result *res)
{
    ck_assert_ptr_eq(arg, &w);
    w.n_done++;
    w.err = res->err;
    w.attempts = res->attempts;
    w.unknown = res->unknown;
    ck_assert_ptr_nonnull(res->body);
    snprintf(w.body, sizeof(w.body), "%.*s", (int)res->body_n, res->body);
    if (w.cancel_in_done) {
        aws_cancel(w.client, w.cancel_in_done);
    }
    if (w.free_in_done) {
        aws_client_free(w.client);
        w.client = NULL;
    }
    if (w.call_in_done) {
        w.call_in_done = false;
        const struct aws_call again = {"ec2", "B", .body = "second", .body_n = 6};
        aws_call(w.client, &again, on_done, &w);
    }
}

static uint64_t call(bool repeatable)
{
    char body[] = "Action=A";
    const struct aws_call c = {"ec2", "A", .body = body, .body_n = sizeof(body) - 1,
                               .repeatable = repeatable};
    uint64_t handle = aws_call(w.client, &c, on_done, &w);
    memset(body, 'x', sizeof(body) - 1); /* it was copied */
    ck_assert_uint_ne(handle, 0);
    ck_assert_int_eq(w.n_done, 0);
    return handle;
}

/* ---- classification -------------------------------------------------------------------------- */

static const struct {
    enum aws_protocol protocol;
    int status;
    const char *body;
    enum err_kind kind;
    const char *code, *msg;
} classes[] = {
    {AWS_EC2_QUERY, 200, "<x/>", ERR_NONE, "", ""},
    {AWS_EC2_QUERY, 400,
     EC2_ERROR("InvalidInstanceID.NotFound", "The instance ID 'i-1' does not exist"), ERR_NOT_FOUND,
     "InvalidInstanceID.NotFound",
     "InvalidInstanceID.NotFound: The instance ID 'i-1' does not exist"},
    {AWS_EC2_QUERY, 400, EC2_ERROR("InvalidLaunchTemplateName.NotFoundException", "gone"),
     ERR_NOT_FOUND, "InvalidLaunchTemplateName.NotFoundException",
     "InvalidLaunchTemplateName.NotFoundException: gone"},
    {AWS_EC2_QUERY, 400, EC2_ERROR("InvalidLaunchTemplateName.AlreadyExistsException", ""),
     ERR_EXISTS, "InvalidLaunchTemplateName.AlreadyExistsException",
     "InvalidLaunchTemplateName.AlreadyExistsException"},
    {AWS_EC2_QUERY, 403, EC2_ERROR("UnauthorizedOperation", "no"), ERR_FORBIDDEN,
     "UnauthorizedOperation", "UnauthorizedOperation: no"},
    {AWS_EC2_QUERY, 401, EC2_ERROR("AuthFailure", "no"), ERR_FORBIDDEN, "AuthFailure",
     "AuthFailure: no"},
    {AWS_EC2_QUERY, 400, EC2_ERROR("RequestExpired", "old"), ERR_UNAUTHENTICATED, "RequestExpired",
     "RequestExpired: old"},
    {AWS_EC2_QUERY, 503, EC2_ERROR("RequestLimitExceeded", "slow"), ERR_THROTTLED,
     "RequestLimitExceeded", "RequestLimitExceeded: slow"},
    {AWS_EC2_QUERY, 400, EC2_ERROR("Throttling", "x"), ERR_THROTTLED, "Throttling",
     "Throttling: x"},
    {AWS_EC2_QUERY, 412, EC2_ERROR("DryRunOperation", "would have"), ERR_NONE, "DryRunOperation",
     "DryRunOperation: would have"},
    {AWS_EC2_QUERY, 400, EC2_ERROR("IdempotentParameterMismatch", "x"), ERR_CONFLICT,
     "IdempotentParameterMismatch", "IdempotentParameterMismatch: x"},
    {AWS_EC2_QUERY, 500, EC2_ERROR("InsufficientInstanceCapacity", "x"), ERR_CAPACITY,
     "InsufficientInstanceCapacity", "InsufficientInstanceCapacity: x"},
    {AWS_EC2_QUERY, 500, EC2_ERROR("InternalError", "x"), ERR_UNAVAILABLE, "InternalError",
     "InternalError: x"},
    {AWS_EC2_QUERY, 400, EC2_ERROR("InvalidParameterValue", "bad &lt;id&gt;"), ERR_INVALID,
     "InvalidParameterValue", "InvalidParameterValue: bad <id>"},
    {AWS_EC2_QUERY, 503, "<html>busy<br></html>", ERR_UNAVAILABLE, "", "HTTP status 503"},
    {AWS_EC2_QUERY, 404, "", ERR_NOT_FOUND, "", "HTTP status 404"},
    {AWS_EC2_QUERY, 302, "", ERR_INVALID, "", "HTTP status 302"},
    {AWS_EC2_QUERY, 400, "<Response><Errors><Error><Code>Inv", ERR_INVALID, "", "HTTP status 400"},
    {AWS_QUERY, 404,
     "<ErrorResponse xmlns=\"https://iam.amazonaws.com/doc/2010-05-08/\"><Error>"
     "<Type>Sender</Type><Code>NoSuchEntity</Code><Message>no profile</Message></Error>"
     "<RequestId>r</RequestId></ErrorResponse>",
     ERR_NOT_FOUND, "NoSuchEntity", "NoSuchEntity: no profile"},
    {AWS_QUERY, 403,
     "<ErrorResponse><Error><Code>InvalidClientTokenId</Code></Error></ErrorResponse>",
     ERR_UNAUTHENTICATED, "InvalidClientTokenId", "InvalidClientTokenId"},
    {AWS_QUERY, 403, "<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>",
     ERR_FORBIDDEN, "AccessDenied", "AccessDenied"},
    {AWS_JSON_1_1, 400, "{\"__type\":\"ParameterNotFound\"}", ERR_NOT_FOUND, "ParameterNotFound",
     "ParameterNotFound"},
    {AWS_JSON_1_1, 400, "{\"__type\":\"com.amazon.x#ThrottlingException\",\"message\":\"slow\"}",
     ERR_THROTTLED, "ThrottlingException", "ThrottlingException: slow"},
    {AWS_JSON_1_0, 400, "{\"__type\":\"a#QueueDoesNotExist:http://x\",\"Message\":\"no\"}",
     ERR_NOT_FOUND, "QueueDoesNotExist", "QueueDoesNotExist: no"},
    {AWS_JSON_1_1, 400, "{\"__type\":\"TooManyRequestsException\"}", ERR_THROTTLED,
     "TooManyRequestsException", "TooManyRequestsException"},
    {AWS_REST_JSON, 404, "{\"message\":\"No cluster found for name: x.\"}", ERR_NOT_FOUND, "",
     "No cluster found for name: x."},
    {AWS_REST_JSON, 403, "{\"message\":\"no\"}", ERR_FORBIDDEN, "", "no"},
    {AWS_REST_JSON, 429, "", ERR_THROTTLED, "", "HTTP status 429"},
    {AWS_REST_JSON, 502, "not json", ERR_UNAVAILABLE, "", "HTTP status 502"},
    {AWS_REST_JSON, 400, "[1,2]", ERR_INVALID, "", "HTTP status 400"},
    {AWS_REST_JSON, 400, "{\"__type\":7,\"message\":[]}", ERR_INVALID, "", "HTTP status 400"},
};

START_TEST(classifies)
{
    struct err e = ERR_INIT;
    aws_classify(classes[_i].protocol, classes[_i].status, classes[_i].body,
                 strlen(classes[_i].body), &e);
    ck_assert_str_eq(err_kind_name(e.kind), err_kind_name(classes[_i].kind));
    ck_assert_str_eq(e.code, classes[_i].code);
    ck_assert_str_eq(e.msg, classes[_i].msg);
    ck_assert_int_eq(e.http, classes[_i].status);
}
END_TEST

/* The items of a fleet's errorSet have a code and no status. */
static const struct {
    const char *code;
    enum err_kind kind;
} fleet_codes[] = {
    {"InsufficientInstanceCapacity", ERR_CAPACITY},
    {"UnfulfillableCapacity", ERR_CAPACITY},
    {"MaxSpotInstanceCountExceeded", ERR_CAPACITY},
    {"VcpuLimitExceeded", ERR_CAPACITY},
    {"Unsupported", ERR_CAPACITY},
    {"InsufficientFreeAddressesInSubnet", ERR_CAPACITY},
    {"MaxFleetCountExceeded", ERR_CAPACITY},
    {"ReservationCapacityExceeded", ERR_CAPACITY},
    {"AuthFailure.ServiceLinkedRoleCreationNotPermitted", ERR_CAPACITY},
    {"InvalidLaunchTemplateId.NotFound", ERR_NOT_FOUND},
    {"UnauthorizedOperation", ERR_FORBIDDEN},
    {"RequestLimitExceeded", ERR_THROTTLED},
    {"InternalError", ERR_UNAVAILABLE},
    {"InvalidParameter", ERR_INVALID},
    {NULL, ERR_INVALID},
};

START_TEST(classifies_fleet_codes)
{
    ck_assert_int_eq(aws_code_kind(fleet_codes[_i].code, 0), fleet_codes[_i].kind);
}
END_TEST

/* ---- one call -------------------------------------------------------------------------------- */

START_TEST(success_at_once)
{
    begin(1);
    call(false);
    ck_assert_str_eq(w.last, "ec2 A POST / Action=A");
    ck_assert_uint_eq(aws_client_open(w.client), 1);
    answer(200, "<ok/>");
    ck_assert_int_eq(w.n_done, 1);
    ck_assert_int_eq(w.err.kind, ERR_NONE);
    ck_assert_str_eq(w.body, "<ok/>");
    ck_assert_int_eq(w.attempts, 1);
    ck_assert_int_eq(pass(), -1);
    ck_assert_uint_eq(aws_client_open(w.client), 0);
    end();
}
END_TEST

#define LIMIT EC2_ERROR("RequestLimitExceeded", "slow")
#define INTERNAL EC2_ERROR("InternalError", "x")
#define BAD EC2_ERROR("InvalidParameterValue", "x")
#define STOCK EC2_ERROR("InsufficientInstanceCapacity", "x")

/* What the outside does: a status with a body, or no answer (status 0) of some kind. */
struct step {
    int status;
    const char *body;
    enum err_kind kind;
    int os;
};

static const struct {
    const char *name;
    bool repeatable;
    struct step steps[3];
    int attempts;
    enum err_kind kind;
    bool unknown;
} scripts[] = {
    {"throttled, then well", true, {{503, LIMIT, 0, 0}, {200, "<a/>", 0, 0}}, 2, ERR_NONE, false},
    {"throttled thrice",
     true,
     {{503, LIMIT, 0, 0}, {503, LIMIT, 0, 0}, {503, LIMIT, 0, 0}},
     3,
     ERR_THROTTLED,
     false},
    {"500 twice, then well",
     true,
     {{500, INTERNAL, 0, 0}, {500, INTERNAL, 0, 0}, {200, "<a/>", 0, 0}},
     3,
     ERR_NONE,
     false},
    {"500 thrice",
     true,
     {{500, INTERNAL, 0, 0}, {502, "", 0, 0}, {500, INTERNAL, 0, 0}},
     3,
     ERR_UNAVAILABLE,
     true},
    {"lost, then well", true, {{0, NULL, ERR_TIMEOUT, 0}, {200, "<a/>", 0, 0}}, 2, ERR_NONE, false},
    {"lost, then refused: still open",
     true,
     {{0, NULL, ERR_TIMEOUT, 0}, {400, BAD, 0, 0}},
     2,
     ERR_INVALID,
     true},
    {"refused", true, {{400, BAD, 0, 0}}, 1, ERR_INVALID, false},
    {"no stock is no reason to repeat", true, {{500, STOCK, 0, 0}}, 1, ERR_CAPACITY, false},
    {"no stock, as a refusal", true, {{400, STOCK, 0, 0}}, 1, ERR_CAPACITY, false},
    {"too large an answer", true, {{0, NULL, ERR_LIMIT, 0}}, 1, ERR_LIMIT, true},
    {"no credentials", true, {{0, NULL, ERR_UNAUTHENTICATED, 0}}, 1, ERR_UNAUTHENTICATED, false},
    {"once: throttled, then well",
     false,
     {{503, LIMIT, 0, 0}, {200, "<a/>", 0, 0}},
     2,
     ERR_NONE,
     false},
    {"once: 500 may have happened", false, {{500, INTERNAL, 0, 0}}, 1, ERR_UNAVAILABLE, true},
    {"once: lost", false, {{0, NULL, ERR_TIMEOUT, 0}}, 1, ERR_TIMEOUT, true},
    {"once: connection reset",
     false,
     {{0, NULL, ERR_UNAVAILABLE, ECONNRESET}},
     1,
     ERR_UNAVAILABLE,
     true},
    {"once: never connected",
     false,
     {{0, NULL, ERR_UNAVAILABLE, ECONNREFUSED},
      {0, NULL, ERR_UNAVAILABLE, EHOSTUNREACH},
      {0, NULL, ERR_UNAVAILABLE, ENETUNREACH}},
     3,
     ERR_UNAVAILABLE,
     false},
    {"once: never connected, then well",
     false,
     {{0, NULL, ERR_UNAVAILABLE, ECONNREFUSED}, {200, "<a/>", 0, 0}},
     2,
     ERR_NONE,
     false},
    {"dry run", true, {{412, EC2_ERROR("DryRunOperation", "y"), 0, 0}}, 1, ERR_NONE, false},
};

START_TEST(follows_the_script)
{
    begin((uint64_t)_i);
    call(scripts[_i].repeatable);
    for (int i = 0; i < scripts[_i].attempts; i++) {
        const struct step *s = &scripts[_i].steps[i];
        ck_assert_msg(w.n_done == 0, "%s: ended before attempt %d", scripts[_i].name, i + 1);
        ck_assert_int_eq(w.n_requests, i + 1);
        ck_assert_str_eq(w.last, "ec2 A POST / Action=A");
        if (s->status) {
            answer(s->status, s->body);
        } else {
            no_answer(s->kind, s->os);
        }
        pass();
    }
    ck_assert_msg(w.n_done == 1, "%s: not ended", scripts[_i].name);
    ck_assert_int_eq(w.n_requests, scripts[_i].attempts);
    ck_assert_int_eq(w.attempts, scripts[_i].attempts);
    ck_assert_str_eq(err_kind_name(w.err.kind), err_kind_name(scripts[_i].kind));
    ck_assert_msg(w.unknown == scripts[_i].unknown, "%s: unknown is %d", scripts[_i].name,
                  w.unknown);
    ck_assert_int_eq(pass(), -1);
    end();
}
END_TEST

/* Full jitter: the n-th pause lies in [0, 2^(n-1) s], and over many calls fills that range. */
START_TEST(pauses_within_bounds)
{
    int64_t least[2] = {INT64_MAX, INT64_MAX}, most[2] = {0, 0};
    for (uint64_t seed = 0; seed < 400; seed++) {
        begin(seed * 7919);
        call(true);
        for (int i = 0; i < 2; i++) {
            answer(500, INTERNAL);
            int64_t took = pass();
            ck_assert_int_ge(took, 0);
            least[i] = took < least[i] ? took : least[i];
            most[i] = took > most[i] ? took : most[i];
        }
        answer(500, INTERNAL);
        ck_assert_int_eq(w.n_done, 1);
        end();
    }
    for (int i = 0; i < 2; i++) {
        int64_t bound = AWS_BACKOFF_NS << i;
        ck_assert_int_le(most[i], bound);
        ck_assert_int_gt(most[i], bound / 100 * 95);
        ck_assert_int_lt(least[i], bound / 100 * 5);
    }
}
END_TEST

START_TEST(pauses_repeat_with_the_seed)
{
    int64_t took[2];
    for (int i = 0; i < 2; i++) {
        begin(4711);
        call(true);
        answer(500, INTERNAL);
        took[i] = pass();
        end();
    }
    ck_assert_int_eq(took[0], took[1]);
}
END_TEST

/* ---- cancelling ------------------------------------------------------------------------------ */

START_TEST(cancel_below_the_port)
{
    begin(1);
    uint64_t handle = call(true);
    aws_cancel(w.client, handle + 1);
    ck_assert_int_eq(w.n_cancelled, 0);
    aws_cancel(w.client, handle);
    ck_assert_int_eq(w.n_cancelled, 1);
    ck_assert_int_eq(w.n_done, 0);
    ck_assert_uint_eq(aws_client_open(w.client), 0);
    aws_cancel(w.client, handle);
    end();
}
END_TEST

START_TEST(cancel_in_a_pause)
{
    begin(1);
    uint64_t handle = call(true);
    answer(500, INTERNAL);
    aws_cancel(w.client, handle);
    ck_assert_int_eq(pass(), -1);
    ck_assert_int_eq(w.n_done, 0);
    ck_assert_int_eq(w.n_requests, 1);
    end();
}
END_TEST

START_TEST(free_with_open_calls)
{
    begin(1);
    call(true);
    answer(500, INTERNAL); /* the first pauses */
    call(true);            /* the second is below the port */
    end();
    ck_assert_int_eq(w.n_cancelled, 1);
    ck_assert_int_eq(w.n_done, 0);
    ck_assert_int_eq(timers_next_ns(&w.timers), NS_NEVER);
}
END_TEST

START_TEST(done_may_do_anything)
{
    begin(1);
    w.cancel_in_done = call(true);
    answer(200, "<a/>");
    ck_assert_int_eq(w.n_done, 1);
    w.n_done = 0;
    w.cancel_in_done = 0;
    w.call_in_done = true;
    call(true);
    answer(200, "<a/>");
    ck_assert_int_eq(w.n_done, 1);
    ck_assert_str_eq(w.last, "ec2 B POST / second");
    w.free_in_done = true;
    answer(200, "<b/>");
    ck_assert_int_eq(w.n_done, 2);
    ck_assert_str_eq(w.body, "<b/>");
    end();
}
END_TEST

START_TEST(free_in_done_with_others_open)
{
    begin(1);
    call(true);
    answer(500, INTERNAL);
    call(true);
    w.free_in_done = true;
    answer(400, BAD);
    ck_assert_int_eq(w.n_done, 1);
    ck_assert_int_eq(timers_next_ns(&w.timers), NS_NEVER);
    end();
}
END_TEST

/* ---- calls that cannot start ----------------------------------------------------------------- */

START_TEST(unknown_service_ends_later)
{
    begin(1);
    const struct aws_call c = {.service = "lambda", .action = "Invoke"};
    aws_call(w.client, &c, on_done, &w);
    ck_assert_int_eq(w.n_done, 0);
    ck_assert_int_eq(pass(), 0);
    ck_assert_int_eq(w.n_done, 1);
    ck_assert_int_eq(w.err.kind, ERR_INVALID);
    ck_assert_int_eq(w.attempts, 0);
    ck_assert_int_eq(w.n_requests, 0);
    end();
}
END_TEST

START_TEST(too_many_calls)
{
    begin(1);
    for (int i = 0; i < AWS_CALLS_MAX; i++) {
        call(true);
    }
    ck_assert_int_eq(w.n_requests, AWS_CALLS_MAX);
    call(true);
    ck_assert_int_eq(w.n_requests, AWS_CALLS_MAX);
    pass();
    ck_assert_int_eq(w.n_done, 1);
    ck_assert_int_eq(w.err.kind, ERR_LIMIT);
    end();
}
END_TEST

START_TEST(forms_are_sent_whole_or_not_at_all)
{
    begin(1);
    AUTO_FORM struct form f = {0};
    form_init(&f, "GetCallerIdentity", "2011-06-15");
    aws_call_form(w.client, "sts", &f, true, on_done, &w);
    ck_assert_str_eq(w.last,
                     "sts GetCallerIdentity POST / Action=GetCallerIdentity&Version=2011-06-15");
    answer(200, "<a/>");
    w.n_done = 0;
    f.body.over = true;
    aws_call_form(w.client, "sts", &f, true, on_done, &w);
    pass();
    ck_assert_int_eq(w.n_done, 1);
    ck_assert_int_eq(w.err.kind, ERR_LIMIT);
    ck_assert_int_eq(w.n_requests, 1);
    end();
}
END_TEST

UNIT_MAIN("aws_client", UNIT_CASES(classifies, classes),
          UNIT_CASES(classifies_fleet_codes, fleet_codes), UNIT_TEST(success_at_once),
          UNIT_CASES(follows_the_script, scripts), UNIT_TEST(pauses_within_bounds),
          UNIT_TEST(pauses_repeat_with_the_seed), UNIT_TEST(cancel_below_the_port),
          UNIT_TEST(cancel_in_a_pause), UNIT_TEST(free_with_open_calls),
          UNIT_TEST(done_may_do_anything), UNIT_TEST(free_in_done_with_others_open),
          UNIT_TEST(unknown_service_ends_later), UNIT_TEST(too_many_calls),
          UNIT_TEST(forms_are_sent_whole_or_not_at_all))
