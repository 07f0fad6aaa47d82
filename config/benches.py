"""Which figures can be measured here? Each app brings its own; this is the list."""

# name -> a function without arguments that yields figures: case, value, unit, limit (what it is measured against in the
# same run) and ratio (value / limit)
BENCHES = {
    "audit": "audit.bench.audit",
    "record": "config.bench_http.record",
    "pages": "config.bench_http.pages",
    "revoke-batch": "config.bench_http.revoke_batch",
    "validator": "plans.bench.validator",
}
