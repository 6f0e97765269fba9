"""Questions to karp-ec2's control endpoint, for the end-to-end tests.

    ec2.py PORT count              instances that are pending or running
    ec2.py PORT list               "ID TYPE CAPACITY ZONE STATE NODE" of each of these
    ec2.py PORT calls ACTION       how often "ec2:CreateFleet" was called
    ec2.py PORT pairs              "ok" if every NodeClaim has exactly one of these and none is without
                                   a NodeClaim, else what is wrong (KUBECONFIG names the cluster)
    ec2.py PORT doubles            how many claim UIDs have more than one of these
    ec2.py PORT step JSON          a step of the simulator (fail, cut, outOfCapacity, …)
"""
import collections
import http.client
import json
import sys


def ask(port, method, path, body=None):
    conn = http.client.HTTPConnection("127.0.0.1", int(port), timeout=30)
    conn.request(method, "/_control" + path, body)
    answer = conn.getresponse()
    text = answer.read()
    if answer.status != 200:
        sys.exit("karp-ec2 %s: %d %s" % (path, answer.status, text.decode()))
    return json.loads(text)


def alive(port):
    return [i for i in ask(port, "GET", "/instances") if i["state"] in ("pending", "running")]


def by_claim(port):
    return collections.Counter(i["tags"].get("karp.dev/nodeclaim-uid", "") for i in alive(port))


def pairs(port):
    from kube import Kube, PATHS

    wrong, of_claim = [], by_claim(port)
    claims = Kube().items(PATHS["NodeClaim"])
    claims = [c["metadata"] for c in claims if c["spec"]["nodeClassRef"]["kind"] == "EC2NodeClass"]
    for claim in claims:
        n = of_claim.pop(claim["uid"], 0)
        if n != 1:
            wrong.append("%s has %d instances" % (claim["name"], n))
    wrong += ["%d instances of claim UID %s, which is gone" % (n, uid) for uid, n in of_claim.items()]
    return "; ".join(wrong) or "ok"


def main(port, what, *args):
    if what == "count":
        print(len(alive(port)))
    elif what == "list":
        for i in alive(port):
            print(i["id"], i["type"], i["capacityType"], i["zone"], i["state"], i["node"])
    elif what == "calls":
        print(ask(port, "GET", "/calls").get(args[0], 0))
    elif what == "pairs":
        print(pairs(port))
    elif what == "doubles":
        print(sum(n > 1 for n in by_claim(port).values()))
    elif what == "step":
        ask(port, "POST", "", args[0])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
