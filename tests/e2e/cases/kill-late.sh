# shellcheck shell=bash
# The same where it hurts, with an EC2 whose describes do not show an instance during its first
# seconds: looking for it finds nothing, and yet it is there.
export CASE_HIDE=5s
export CASE_CALLS='^(ec2:CreateFleet|kube:create nodeclaims|kube:patch nodeclaims)$'
. "$ROOT/tests/e2e/cases/kill.sh"
