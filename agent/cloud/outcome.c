/* outcome.c - tokens of launches and what EC2's refusals mean. */
#include "cloud_int.h"
#include "common/base/hash.h"
#include "common/base/str.h"

void launch_token(const char *uid, int64_t attempt, char dst[LAUNCH_TOKEN_CHARS + 1])
{
    char text[256], hex[SHA256_HEX];
    int n = snprintf(text, sizeof(text), "%.200s/%lld", uid, (long long)attempt);
    hash_sha256_hex(text, n > 0 ? (size_t)n : 0, hex);
    snprintf(dst, LAUNCH_TOKEN_CHARS + 1, "%.*s", LAUNCH_TOKEN_CHARS, hex);
}

/* First match wins. */
static const struct reason_row {
    const char *part, *and_part, *reason;
} reasons[] = {
    {CODE_SPOT_ROLE, NULL, "SpotSLRCreationFailed"},
    {"Not authorized for images", NULL, "AMIAuthorizationFailure"},
    {"UnauthorizedOperation", NULL, "Unauthorized"},
    {"AccessDenied", NULL, "Unauthorized"},
    {"AuthFailure", NULL, "Unauthorized"},
    {"InvalidParameter", "belong to different networks", "SecurityGroupSubnetVPCMismatch"},
    {"iamInstanceProfile.name is invalid", NULL, "InstanceProfileNameInvalid"},
    {"InvalidLaunchTemplateId.NotFound", NULL, "LaunchTemplateNotFound"},
    {"InvalidLaunchTemplateName.NotFoundException", NULL, "LaunchTemplateNotFound"},
    {"User data is limited to", NULL, "UserDataSizeLimitExceeded"},
    {"InvalidAMIID.Malformed", NULL, "InvalidAMIID"},
    {"InvalidAMIID.NotFound", NULL, "AMINotFound"},
    {"RequestLimitExceeded", NULL, "RequestLimitExceeded"},
    {"InternalError", NULL, "InternalError"},
    {"not eligible for Free Tier", NULL, "FreeTierIneligible"},
    {"MaxFleetCountExceeded", NULL, "FleetQuotaExceeded"},
    {"PendingVerification", NULL, "AccountPendingVerification"},
    {"MaxSpotInstanceCountExceeded", NULL, "SpotQuotaExceeded"},
    {"VcpuLimitExceeded", NULL, "VCPULimitExceeded"},
    {CODE_SUBNET_FULL, NULL, CODE_SUBNET_FULL},
};

const char *launch_reason(const char *code_and_message)
{
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        const struct reason_row *r = &reasons[i];
        if (str_contains(code_and_message, r->part) &&
            (!r->and_part || str_contains(code_and_message, r->and_part))) {
            return r->reason;
        }
    }
    return "LaunchFailed";
}

bool launch_unfulfillable(const char *code, const char *message)
{
    static const char *const codes[] = {"InsufficientInstanceCapacity",
                                        "UnfulfillableCapacity",
                                        "MaxSpotInstanceCountExceeded",
                                        "VcpuLimitExceeded",
                                        "Unsupported",
                                        CODE_SUBNET_FULL,
                                        "MaxFleetCountExceeded",
                                        "ReservationCapacityExceeded",
                                        CODE_NO_RESERVATION,
                                        CODE_SPOT_ROLE};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        if (str_eq(codes[i], code)) {
            return true;
        }
    }
    return str_eq(code, "InvalidFleetConfiguration") && message &&
           str_contains(message, "not supported in your requested Availability Zone");
}
