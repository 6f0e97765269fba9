# shellcheck shell=bash
# Trouble with the API server: nobody there, a token that has ended, one kind forbidden, a break in
# the middle. Each time a clear word, no end, the rest served, and recovery when it heals.
ec2_start

# Nobody there.
read -r KUBE_PORT control < <(free_ports 2)
agent_start lonely
expect 15 "readiness without an API server" '503 *waiting for*' readyz lonely
expect 10 "a word in the log" '[1-9]*' logged lonely -iE 'connect|refused'
stays 4 "readiness without an API server" '503 *' readyz lonely
equal "liveness without an API server" 200 "$(curl -s -o "$LOG_DIR/healthz" -w '%{http_code}' "http://127.0.0.1:${HEALTH_PORT[lonely]}/healthz")"
proc_start tap-late python3 "$ROOT/tests/e2e/tap.py" kube "$KUBE_PORT" "$API_PORT" "$control" "$LOG_DIR/late.log" "$CP/certs"
agent_ready lonely 60
agent_stop lonely
lease_drop kube-system
unset KUBE_PORT

# A token that is not accepted any more; it lies in a file, as a pod's does.
echo tok-ended >"$LOG_DIR/token"
AGENT_KUBECONFIG=$LOG_DIR/by-file.kubeconfig
sed "s#{token: tok-agent}#{tokenFile: $LOG_DIR/token}#" "$CP/agent.kubeconfig" >"$AGENT_KUBECONFIG"
agent_start expired
expect 15 "readiness with an ended token" '503 *' readyz expired
expect 10 "a word in the log" '[1-9]*' logged expired -iE 'unauthorized|401'
echo tok-agent >"$LOG_DIR/token"
agent_ready expired 90
agent_stop expired
lease_drop kube-system
unset AGENT_KUBECONFIG

# One kind forbidden while it runs; then Events, too.
taps_start
agent_start agent
agent_ready agent
workload
expect 15 "the pool" True condition nodepool default Ready
tap kube fault 'call=^kube:(list|watch) daemonsets$' code=403 reason=Forbidden >/dev/null
tap kube fault 'call=^kube:(create|patch) events$' code=403 reason=Forbidden >/dev/null
tap kube break >/dev/null
expect 20 "a word in the log" '[1-9]*' logged agent -E 'DaemonSet.*(403|[Ff]orbidden)'
scale 3
expect 30 "running pods in spite of 403 on DaemonSets" 3 running
tap kube clear >/dev/null

# The API server answers nothing but 503 for a while, shorter than the Lease.
tap kube fault 'call=.' code=503 reason=ServiceUnavailable >/dev/null
tap kube break >/dev/null
sleep 4
agent_alive agent
tap kube clear >/dev/null
scale 20
expect 60 "running pods after the break" 20 running
equal "readiness after the break" '200 ok*' "$(readyz agent)"
equal "pairs" ok "$(ec2 pairs)"
agent_stop agent
