# shellcheck shell=bash
# The real API server answers as the table says that the simulated one is held to (conformance/).
if ! kubectl annotate --local -f "$ROOT/tests/e2e/conformance/requests.yaml" read=yes -o json |
    python3 "$ROOT/tests/e2e/conformance/play.py" >"$LOG_DIR/table"; then
    die "$(grep -c . "$LOG_DIR/table") lines, the first: $(head -n 1 "$LOG_DIR/table")"
fi
note "$(tail -n 1 "$LOG_DIR/table")"
