/*
 * disruptlook.h - is a voluntary deletion of a claim one that its pool allows, and worth it?
 */
#ifndef KARP_SIM_DISRUPTLOOK_H
#define KARP_SIM_DISRUPTLOOK_H

#include "common/base/clock.h"
#include "tests/sim/ec2/ec2.h"
#include "tests/sim/kube/api.h"

#define DISRUPTLOOK_PRICES_NS (20 * NS_PER_MIN) /* decided on before prices changed */

/* The claim's pool asks for a decision about that reason. */
bool disruptlook_asks(const struct sim_api *api, const json_t *claim, const char *reason);

/* The command's replacements cost more per hour than the claims that they were made for, at the
 * prices of now; *ret_in, *ret_out are the two. False as well where one of them is not known, or
 * prices changed lately. */
bool disruptlook_dearer(const struct sim_api *api, const struct simec2 *ec2, const char *command,
                        int64_t *ret_in, int64_t *ret_out);

#endif
