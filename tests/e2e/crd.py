"""Plays crd-cases.yaml (as JSON on stdin) against the API server; see there.

Prints a line per value that was not treated as its row says, then "N values". Exit 1 if any.
"""
import copy
import json
import sys

from kube import Kube, PATHS, drop

DRY = {"dryRun": "All"}


def expand(value):
    """The short forms of long values."""
    if isinstance(value, list):
        return [expand(v) for v in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"times", "of"}:
        return [expand(value["of"]) for _ in range(value["times"])]
    if set(value) == {"long"}:
        return "a" * value["long"]
    if set(value) == {"keys"} and isinstance(value["keys"], int):
        return {"key%d" % i: "v" for i in range(value["keys"])}
    return {k: expand(v) for k, v in value.items()}


def merge(into, patch):
    """RFC 7386."""
    for key, value in patch.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = copy.deepcopy(value)
    return into


def put(obj, path, value):
    parts = path.split(".")
    for part in parts[:-1]:
        obj = obj.setdefault(part, {})
    if value is None:
        obj.pop(parts[-1], None)
    else:
        obj[parts[-1]] = value


def get(obj, path):
    for part in path.split("."):
        obj = obj.get(part) if isinstance(obj, dict) else None
    return obj


class Table:
    def __init__(self, doc):
        self.kube, self.bases, self.n, self.bad = Kube(), doc["bases"], 0, 0
        for row in doc["cases"]:
            self.row(row)

    def complain(self, row, value, text):
        self.bad += 1
        print("%s %s = %s: %s" % (row["kind"], row.get("at", "defaults"), json.dumps(value)[:120], text))

    def base(self, row, more):
        obj = copy.deepcopy(self.bases[row["kind"]])
        merge(obj, {"kind": row["kind"], "metadata": {"name": "crd-case"}})
        return merge(merge(obj, row.get("set", {})), more)

    def judge(self, row, value, accepted, status, answer):
        self.n += 1
        message = answer.get("message", "")
        if accepted and status >= 300:
            self.complain(row, value, "refused: " + message)
        elif not accepted and status < 300:
            self.complain(row, value, "accepted")
        elif not accepted and (status != 422 and status != 400 or row["why"] not in message):
            self.complain(row, value, 'refused (%d), but without "%s": %s' % (status, row["why"], message))

    def defaults(self, row):
        status, answer = self.kube.call("POST", PATHS[row["kind"]], self.base(row, {}), DRY)
        for path, want in row["defaults"].items():
            self.n += 1
            seen = get(answer, path)
            if status >= 300 or seen != want:
                self.complain(row, want, "%s is %s (%d)" % (path, json.dumps(seen), status))

    def values(self, row):
        for accepted, key in ((True, "accepted"), (False, "refused")):
            for value in row.get(key, []):
                yield accepted, expand(value)

    def creates(self, row):
        for accepted, value in self.values(row):
            obj = self.base(row, {})
            put(obj, row["at"], value)
            self.judge(row, value, accepted, *self.kube.call("POST", PATHS[row["kind"]], obj, DRY))

    def updates(self, row):
        path = PATHS[row["kind"]]
        status, was = self.kube.call("POST", path, self.base(row, row["was"]))
        if status != 201:
            self.complain(row, row["was"], "cannot be created: " + was.get("message", ""))
            return
        for accepted, value in self.values(row):
            obj = copy.deepcopy(was)
            put(obj, row["at"], value)
            self.judge(row, value, accepted, *self.kube.call("PUT", path + "/crd-case", obj, DRY))
        drop(self.kube, path, "crd-case")

    def row(self, row):
        (self.defaults if "defaults" in row else self.updates if "was" in row else self.creates)(row)


table = Table(json.load(sys.stdin))
print("%d values" % table.n)
sys.exit(1 if table.bad else 0)
