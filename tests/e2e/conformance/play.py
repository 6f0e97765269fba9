"""Plays requests.yaml (as JSON on stdin) against the API server; see there.

Prints a line per step that was not answered as it says, then "N requests". Exit 1 if any.
"""
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from kube import Kube, drop  # noqa: E402

MERGE = "application/merge-patch+json"


def get(obj, path):
    for part in path.split("."):
        obj = obj.get(part) if isinstance(obj, dict) else None
    return obj


class Player:
    def __init__(self, doc):
        self.kube, self.paths, self.n, self.bad = Kube(), doc["paths"], 0, 0
        for case in doc["cases"]:
            self.saved, self.made = {}, []
            for i, step in enumerate(case["steps"]):
                self.where = "%s, step %d" % (case["name"], i + 1)
                self.step(self.fill(step))
            for path, name in reversed(self.made):
                drop(self.kube, path, name)

    def complain(self, text):
        self.bad += 1
        print("%s: %s" % (self.where, text))

    def fill(self, value):
        if isinstance(value, str):
            return re.sub(r"\$(\w+)", lambda m: str(self.saved.get(m.group(1), m.group(0))), value)
        if isinstance(value, list):
            return [self.fill(v) for v in value]
        return {k: self.fill(v) for k, v in value.items()} if isinstance(value, dict) else value

    def resolve(self, do):
        method, rest = do.split(" ", 1)
        name = re.match(r"\w+", rest).group(0)
        return method, self.paths[name] + rest[len(name):]

    def call(self, step):
        method, path = self.resolve(step["do"])
        kind = step.get("type", MERGE if method == "PATCH" else "application/json")
        status, answer = self.kube.call(method, path, step.get("body"), kind=kind)
        if method == "POST" and status == 201 and "?" not in path and path.count("/") < 7 and "metadata" in answer:
            self.made.append((path, answer["metadata"]["name"]))
        return status, answer

    def faults(self, step, status, answer):
        """What is not as the step says."""
        if status != step["code"]:
            yield "%d, not %d: %s" % (status, step["code"], answer.get("message", ""))
            return
        for key in ("reason", "part"):
            seen = answer.get("reason" if key == "reason" else "message", "")
            if key in step and (seen != step[key] if key == "reason" else step[key] not in seen):
                yield "%s is not %s" % (json.dumps(seen), json.dumps(step[key]))
        if "fields" in step:
            seen = sorted(c.get("field", "") for c in answer.get("details", {}).get("causes", []))
            if seen != sorted(step["fields"]):
                yield "fields %s: %s" % (seen, answer.get("message", ""))
        for path, want in step.get("has", {}).items():
            if get(answer, path) != want:
                yield "%s is %s" % (path, json.dumps(get(answer, path)))
        for path in step.get("lacks", []):
            if get(answer, path) is not None:
                yield "%s is %s" % (path, json.dumps(get(answer, path)))
        if "count" in step and len(answer.get("items") or []) != step["count"]:
            yield "%d items" % len(answer.get("items") or [])

    def watch(self, step):
        _, path = self.resolve(step["do"])
        path, _, query = path.partition("?")
        query = dict(q.split("=", 1) if "=" in q else (q, "") for q in query.split("&") if q)
        query = {k: v.replace("%3D", "=") for k, v in query.items()}
        want, seen, code = step.get("events", []), [], 0
        for event in self.kube.watch(path, 5, **query):
            if event.get("kind") == "Status" or event.get("type") == "ERROR":
                code = event.get("code") or event["object"].get("code")
                break
            seen.append("%s %s" % (event["type"], event["object"]["metadata"]["name"]))
            if len(seen) >= len(want) and "ends" not in step:
                break
        if seen != want or ("ends" in step and code != step["ends"]):
            self.complain("events %s, code %s" % (seen, code))

    def step(self, step):
        self.n += 1
        if step["do"].startswith("WATCH "):
            self.watch(step)
            return
        end = time.monotonic() + step.get("wait", 0)
        while True:
            status, answer = self.call(step)
            faults = list(self.faults(step, status, answer))
            if not faults or time.monotonic() >= end:
                break
            time.sleep(0.2)
        for text in faults:
            self.complain("%s: %s" % (step["do"], text))
        for name, path in step.get("save", {}).items():
            self.saved[name] = get(answer, path)


player = Player(json.load(sys.stdin))
print("%d requests" % player.n)
sys.exit(1 if player.bad else 0)
