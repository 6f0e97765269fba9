# shellcheck shell=bash
# What the real API server accepts and refuses with our CRDs: the table in crd-cases.yaml.
if ! kubectl annotate --local -f "$ROOT/tests/e2e/crd-cases.yaml" read=yes -o json |
    python3 "$ROOT/tests/e2e/crd.py" >"$LOG_DIR/table"; then
    die "$(grep -c . "$LOG_DIR/table") lines, the first: $(head -n 1 "$LOG_DIR/table")"
fi
note "$(tail -n 1 "$LOG_DIR/table")"
