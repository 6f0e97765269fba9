# shellcheck shell=bash
# SIGKILL after every distinct call that a scale-out makes, as a first run's trace lists them, and after
# each repetition of those that change claims and nodes: in the end one instance per claim and none
# without.
CASE_HIDE=${CASE_HIDE:-0s}
ec2_start --hide "$CASE_HIDE"
taps_start
agent_start agent "$QUICK"
agent_ready agent
expect 10 "the agent leads" 1 leading agent

mark=$(audit_mark)
before=$(wc -l <"$LOG_DIR/calls.log")
round_begin 0
expect 30 "the traced round" ok round_settled 0
sleep 1
tail -n +$((before + 1)) "$LOG_DIR/calls.log" | grep -vE '^kube:(watch |.* configmaps)' | sed 's/ [0-9]*$//' | sort | uniq -c | sed 's/^ *//' >"$LOG_DIR/trace"
# The tap and the API server agree on what was called. (The ConfigMap that the agent rewrites once a
# minute is no part of a scale-out.)
equal "calls that only the audit log has" "" \
    "$(audit "$mark" calls | grep -vE '^watch | configmaps$' | sed 's/^/kube:/' | sort | comm -23 - <(sed 's/^[0-9]* //' "$LOG_DIR/trace"))"
for must in 'kube:create nodeclaims' 'ec2:CreateFleet' 'ec2:CreateLaunchTemplate' 'kube:patch nodeclaims/status' 'kube:patch nodes'; do
    grep -qx "[0-9]* $must" "$LOG_DIR/trace" || die "no $must in the trace"
done

n=0 kills=0
while read -r times call; do
    [[ $call =~ ${CASE_CALLS:-.} ]] || continue
    [[ $call =~ ^kube:patch\ (nodeclaims|nodes) ]] || times=1
    for nth in $(seq "$times"); do
        n=$((n + 1))
        kill_round $n "$nth" "$call"
    done
done <"$LOG_DIR/trace"
equal "pairs" ok "$(ec2 pairs)"
equal "instances" $((n + 1)) "$(instances)"
equal "claims" $((n + 1)) "$(claims)"
note "$kills kills"
agent_stop agent
