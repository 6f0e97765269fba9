"""Scales a Deployment and measures until all its pods are bound.

    bound.py NAME REPLICAS SECONDS     prints the seconds from the request to the last binding, or
                                       exits 1 when that takes longer than SECONDS

One watch of bound pods, no polling: the measuring costs both sides the same and little.
"""
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from kube import Kube  # noqa: E402


def main(name, replicas, seconds):
    kube, bound, ready, done = Kube(), set(), threading.Event(), {}

    def look():
        # A loaded API server may end a watch; the next one begins with all that are bound by then.
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pods = kube.watch("/api/v1/namespaces/default/pods", end - time.monotonic(), labelSelector="app=" + name, fieldSelector="spec.nodeName!=", allowWatchBookmarks="true")
            for event in pods:
                ready.set()  # the first one is a bookmark: nothing is bound yet
                if event["type"] in ("ADDED", "MODIFIED"):
                    bound.add(event["object"]["metadata"]["uid"])
                if len(bound) >= replicas:
                    done["at"] = time.monotonic()
                    return

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    if not ready.wait(20):
        sys.exit("the watch of pods does not begin")
    begin = time.monotonic()
    status, answer = Kube().merge("/apis/apps/v1/namespaces/default/deployments/" + name, {"spec": {"replicas": replicas}})
    if status != 200:
        sys.exit("scale: %s" % answer.get("message"))
    watcher.join(seconds)
    if "at" not in done:
        sys.exit("%d of %d pods bound after %.0f s" % (len(bound), replicas, time.monotonic() - begin))
    print("%.2f" % (done["at"] - begin))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
