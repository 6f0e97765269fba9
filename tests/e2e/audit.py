"""Reads the API server's audit log for the end-to-end tests.

    audit.py LOG OFFSET USER [writes|codes|calls]

From byte OFFSET on, what USER asked for, one line per request that was answered:
    writes  "VERB RESOURCE[/SUB] [NAMESPACE/]NAME CODE" of everything that is not get, list or watch
    codes   "CODE VERB RESOURCE[/SUB] NAMESPACE" of every answer of 400 and above
    calls   "VERB RESOURCE[/SUB]" of everything, distinct, sorted
"""
import json
import sys


def answered(log, offset, user):
    with open(log, "rb") as f:
        f.seek(offset)
        for line in f:
            try:
                event = json.loads(line)
            except ValueError:
                continue  # being written right now
            ref = event.get("objectRef", {})
            last = "ResponseStarted" if event["verb"] == "watch" else "ResponseComplete"
            if event["user"]["username"] == user and event["stage"] in (last, "Panic"):
                what = "/".join(x for x in (ref.get("resource", event["requestURI"]), ref.get("subresource")) if x)
                yield event["verb"], what, ref, event.get("responseStatus", {}).get("code", 0)


def main(log, offset, user, mode="writes"):
    lines = []
    for verb, what, ref, code in answered(log, int(offset), user):
        where = "/".join(x for x in (ref.get("namespace"), ref.get("name")) if x)
        if mode == "writes" and verb not in ("get", "list", "watch"):
            lines.append("%s %s %s %d" % (verb, what, where, code))
        elif mode == "codes" and code >= 400:
            lines.append("%d %s %s %s" % (code, verb, what, where))
        elif mode == "calls":
            lines.append("%s %s" % (verb, what))
    for line in sorted(set(lines)) if mode == "calls" else lines:
        print(line)


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:])
