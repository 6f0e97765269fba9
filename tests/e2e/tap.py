"""A listening post between the agent and one of the two services it calls, for the end-to-end tests.

    tap.py kube|aws LISTEN_PORT UPSTREAM_PORT CONTROL_PORT LOG [CERTS]

It passes HTTP/1.1 on, byte for byte (so signatures stay good), and knows every call by name:
"kube:patch nodeclaims/status", "ec2:CreateFleet". LOG gets a line "CALL CODE" per answered call, in
order; watches are logged as they begin. On the control port (GET, loopback):

    /kill?call=CALL&nth=1&pid=PID   SIGKILL for PID when that call has been answered the nth time from
                                    now, before the answer reaches it
    /hit                            "yes" once that has happened, else "no"
    /fault?call=REGEX&code=N&times=T&reason=R  calls that match get this answer, without reaching the
                                    service; T 0 = until /clear
    /clear                          no more faults, no more kills
    /break                          closes all connections, watches too

Standard library only; a thread per connection.
"""
import json
import os
import re
import signal
import socket
import ssl
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, HTTPServer

HEAD_MAX = 1 << 20


class Broken(Exception):
    pass


class Wire:
    """One side of a connection, with just enough HTTP to find the ends of messages."""

    def __init__(self, sock):
        self.sock, self.buf = sock, b""

    def more(self):
        data = self.sock.recv(65536)
        if not data:
            raise Broken()
        self.buf += data

    def take(self, n):
        while len(self.buf) < n:
            self.more()
        out, self.buf = self.buf[:n], self.buf[n:]
        return out

    def until(self, mark):
        while mark not in self.buf:
            if len(self.buf) > HEAD_MAX:
                raise Broken()
            self.more()
        n = self.buf.index(mark) + len(mark)
        return self.take(n)

    def head(self):
        raw = self.until(b"\r\n\r\n")
        lines = raw.decode("latin-1").split("\r\n")
        fields = dict((k.strip().lower(), v.strip()) for k, _, v in (x.partition(":") for x in lines[1:] if x))
        return raw, lines[0], fields

    def chunks(self):
        """Raw chunks of a chunked body, the last one included."""
        while True:
            size = self.until(b"\r\n")
            n = int(size.split(b";")[0], 16)
            if n == 0:
                yield size + self.until(b"\r\n")
                return
            yield size + self.take(n + 2)

    def body(self, fields):
        if "chunked" in fields.get("transfer-encoding", ""):
            return b"".join(self.chunks())
        return self.take(int(fields.get("content-length", "0")))


def kube_call(method, target, fields, body):
    path, _, query = target.partition("?")
    parts = [p for p in path.split("/") if p]
    if parts[:1] == ["api"]:
        parts = parts[2:]
    elif parts[:1] == ["apis"]:
        parts = parts[3:]
    else:
        return "kube:%s %s" % (method.lower(), path)
    if len(parts) > 2 and parts[0] == "namespaces":
        parts = parts[2:]
    verb = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}.get(method)
    if not verb:
        verb = "watch" if "watch=" in query else "list" if len(parts) == 1 else "get"
    return "kube:%s %s" % (verb, "/".join(parts[:1] + parts[2:3]))


def aws_call(method, target, fields, body):
    scope = re.search(r"Credential=[^/]+/\d+/[^/]*/([^/]+)/", fields.get("authorization", ""))
    action = urllib.parse.parse_qs(body.decode("latin-1")).get("Action", [""])[0]
    action = action or fields.get("x-amz-target", "").rpartition(".")[2] or method + " " + target
    return "%s:%s" % (scope.group(1) if scope else "?", action)


def kube_fault(code, reason):
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": "tap: " + reason}
    return "application/json", json.dumps(body)


def aws_fault(code, reason):
    text = '<?xml version="1.0"?><Response><Errors><Error><Code>%s</Code><Message>tap</Message></Error></Errors></Response>'
    return "text/xml", text % reason


class Tap:
    def __init__(self, kind, upstream, log, certs):
        self.kind, self.upstream = kind, upstream
        self.name, self.fault_body = (kube_call, kube_fault) if kind == "kube" else (aws_call, aws_fault)
        self.lock, self.log = threading.Lock(), open(log, "a", buffering=1)
        self.kill, self.hit, self.faults, self.socks = None, False, [], set()
        self.server_tls = self.client_tls = None
        if certs:
            self.server_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.server_tls.load_cert_chain(certs + "/srv.crt", certs + "/srv.key")
            self.client_tls = ssl.create_default_context(cafile=certs + "/ca.crt")

    def keep(self, sock):
        with self.lock:
            self.socks.add(sock)
        return sock

    def connect(self):
        sock = socket.create_connection(("127.0.0.1", self.upstream))
        if self.client_tls:
            sock = self.client_tls.wrap_socket(sock, server_hostname="127.0.0.1")
        return Wire(self.keep(sock))

    def fault(self, call):
        with self.lock:
            for f in self.faults:
                if re.search(f["call"], call) and f["left"] != 0:
                    f["left"] -= 1
                    return f
        return None

    def answered(self, call, code):
        """Logs; true if the asker has just been killed."""
        with self.lock:
            self.log.write("%s %d\n" % (call, code))
            if not self.kill or self.kill["call"] != call:
                return False
            self.kill["nth"] -= 1
            if self.kill["nth"] > 0:
                return False
            os.kill(self.kill["pid"], signal.SIGKILL)
            self.kill, self.hit = None, True
            return True

    def exchange(self, client, up):
        raw, line, fields = client.head()
        body = client.body(fields)
        method, target = line.split(" ")[:2]
        call = self.name(method, target, fields, body)
        fault = self.fault(call)
        if fault:
            kind, text = self.fault_body(fault["code"], fault["reason"])
            self.answered(call, fault["code"])
            client.sock.sendall(("HTTP/1.1 %d Fault\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (fault["code"], kind, len(text), text)).encode())
            return
        up.sock.sendall(raw + body)
        raw, line, fields = up.head()
        while line.split(" ")[1].startswith("1"):
            raw, line, fields = up.head()
        code = int(line.split(" ")[1])
        if call.startswith("kube:watch"):
            self.answered(call, code)
            client.sock.sendall(raw)
            if "chunked" in fields.get("transfer-encoding", ""):
                for chunk in up.chunks():
                    client.sock.sendall(chunk)
            else:
                client.sock.sendall(up.body(fields))
            return
        raw += up.body(fields)
        if self.answered(call, code):
            raise Broken()
        client.sock.sendall(raw)

    def serve(self, sock):
        client = up = None
        try:
            if self.server_tls:
                sock = self.server_tls.wrap_socket(sock, server_side=True)
            client = Wire(self.keep(sock))
            up = self.connect()
            while True:
                self.exchange(client, up)
        except (Broken, OSError, ValueError, IndexError):
            pass
        finally:
            for wire in (client, up):
                if wire:
                    with self.lock:
                        self.socks.discard(wire.sock)
                    wire.sock.close()

    def listen(self, port):
        listener = socket.create_server(("127.0.0.1", port), backlog=128)
        while True:
            sock, _ = listener.accept()
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def command(self, path, q):
        with self.lock:
            if path == "/kill":
                self.kill, self.hit = {"call": q["call"], "nth": int(q.get("nth", 1)), "pid": int(q["pid"])}, False
            elif path == "/hit":
                return "yes" if self.hit else "no"
            elif path == "/fault":
                times = int(q.get("times", 0))
                self.faults.append({"call": q["call"], "code": int(q["code"]), "left": times or -1, "reason": q.get("reason", "Fault")})
            elif path == "/clear":
                self.kill, self.faults = None, []
            elif path == "/break":
                for sock in self.socks:
                    try:
                        sock.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass
            else:
                return None
        return "ok"


def control(tap, port):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            url = urllib.parse.urlsplit(self.path)
            said = tap.command(url.path, dict(urllib.parse.parse_qsl(url.query)))
            self.send_response(200 if said else 404)
            self.end_headers()
            self.wfile.write(((said or "no such command") + "\n").encode())

        def log_message(self, *args):
            pass

    HTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    if len(sys.argv) not in (6, 7) or sys.argv[1] not in ("kube", "aws"):
        sys.exit(__doc__)
    tap = Tap(sys.argv[1], int(sys.argv[3]), sys.argv[5], sys.argv[6] if len(sys.argv) == 7 else None)
    threading.Thread(target=control, args=(tap, int(sys.argv[4])), daemon=True).start()
    tap.listen(int(sys.argv[2]))
