# SPDX-License-Identifier: Apache-2.0
"""A file server for tests, in memory, on loopback: conditions, ranges, PUT, and all that goes wrong
with servers. The first part of a path says what: see `Server.answer`. Prints its port."""

import email.utils
import gzip
import hashlib
import hmac
import http.server
import re
import socketserver
import threading
import time
import urllib.parse

SECRET, KEY_ID, REGION = "very/secret+key", "AKEXAMPLE", "eu-test-1"
files, folders, seen, lock = {}, set(), [], threading.Lock()


def tag(data):
    return '"%s"' % hashlib.sha256(data).hexdigest()[:16]


def sign_v4(command, path, query, headers, names, payload, scope, secret):
    """AWS Signature Version 4, computed from its definition. `headers` by lower-case names, of which
    those in `names` (joined by ;) are signed; `payload` the hex digest of the body; scope
    DATE/REGION/SERVICE/aws4_request. python/test_hub holds it to what AWS publishes."""
    lines = [command, path, query]
    lines += ["%s:%s" % (name, " ".join(headers.get(name, "").split())) for name in names.split(";")]
    text = "\n".join(lines + ["", names, payload])
    to_sign = "\n".join(["AWS4-HMAC-SHA256", headers.get("x-amz-date", ""), scope,
                         hashlib.sha256(text.encode()).hexdigest()])
    key = ("AWS4" + secret).encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()


def signature_holds(handler, body):
    said = handler.headers.get("Authorization", "")
    found = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^,]*), ?SignedHeaders=([^,]*), ?"
                         r"Signature=([0-9a-f]*)", said)
    if not found:
        return False
    credential, names, signature = found.groups()
    key_id, date, region, service, end = credential.split("/")
    if (key_id, region, service, end) != (KEY_ID, REGION, "s3", "aws4_request"):
        return False
    payload = handler.headers.get("x-amz-content-sha256", "")
    if payload != hashlib.sha256(body).hexdigest():
        return False
    path, _, query = handler.path.partition("?")
    headers = {name.lower(): value for name, value in handler.headers.items()}
    if not set(names.split(";")) <= set(headers):
        return False  # something is signed that was not sent
    path = urllib.parse.quote(urllib.parse.unquote_to_bytes(path), safe="/~")  # as S3 spells it
    return hmac.compare_digest(signature, sign_v4(handler.command, path, query, headers, names, payload,
                                                  "/".join([date, region, service, end]), SECRET))


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    skew = 0

    def date_time_string(self, timestamp=None):
        return super().date_time_string((timestamp or time.time()) + self.skew)

    def say(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def nth(self):
        with lock:
            seen.append((self.command, self.path))
            return sum(1 for item in seen if item == (self.command, self.path))

    def file(self, name, cut=None):
        data = files.get(name)
        if data is None:
            return self.say(404)
        if self.headers.get("If-None-Match") == tag(data):
            return self.say(304, ETag=tag(data))
        span = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if span and self.headers.get("If-Range") == tag(data):
            start = int(span.group(1))
            if start >= len(data):
                return self.say(416)
            return self.say(206, data[start:], ETag=tag(data), Content_Range="bytes %d-%d/%d" % (
                start, len(data) - 1, len(data)))
        if cut is None:
            return self.say(200, data, ETag=tag(data))
        self.send_response(200)
        self.send_header("ETag", tag(data))
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[:cut])
        self.wfile.flush()
        self.close_connection = True

    def answer(self, body=b""):
        n = self.nth()
        what, _, name = self.path.lstrip("/").partition("/")
        if what == "file" and self.command == "PUT":
            with lock:
                old = files.get(name)
                wanted, never = self.headers.get("If-Match"), self.headers.get("If-None-Match")
                if (never == "*" and old is not None) or (wanted and (
                        old is None or tag(old) != wanted)):
                    return self.say(412)
                files[name] = body
            self.say(201 if old is None else 204, ETag=tag(body))
        elif what == "dav":  # no file without its folder
            folder = name.rpartition("/")[0] if self.command == "PUT" else name.rstrip("/")
            with lock:
                if self.command == "MKCOL":
                    if folder in folders:
                        return self.say(405)
                    parent = folder.rpartition("/")[0]
                    if parent and parent not in folders:
                        return self.say(409)
                    folders.add(folder)
                    return self.say(201)
                self.say(201 if folder in folders else 409)
        elif what == "file":  # as a server should
            self.file(name)
        elif what == "busy":  # 503, 429, then
            if n == 1:
                return self.say(503, b"not now", Retry_After="0")
            if n == 2:
                return self.say(429, Retry_After="1")
            self.file(name) if self.command == "GET" else self.say(201)
        elif what == "later":  # tomorrow
            self.say(429, Retry_After=email.utils.formatdate(time.time() + 86400, usegmt=True))
        elif what == "packed":  # whatever it was asked for
            if self.headers.get("Accept-Encoding") != "identity":
                return self.say(406)
            data = gzip.compress(files[name])
            self.say(200, data, ETag=tag(data), Content_Encoding="gzip")
        elif what == "headers":
            self.say(200, X="x" * 300000)
        elif what == "down":
            self.say(503, Retry_After="30")
        elif what == "cut":  # half of it, then the rest when asked for that
            self.file(name, cut=len(files[name]) // 2 if n == 1 else None)
        elif what == "changed":  # half of it, and another one from then on
            if n == 1:
                self.file(name, cut=len(files[name]) // 2)
                files[name] = files[name][::-1]
            else:
                self.file(name)
        elif what == "mute":
            time.sleep(30)
        elif what == "endless":
            self.send_response(200)
            self.end_headers()
            self.close_connection = True
            try:
                while True:
                    self.wfile.write(b"x" * 1000)
                    time.sleep(0.01)
            except OSError:
                pass
        elif what == "long":
            self.send_response(200)
            self.send_header("Content-Length", str(10**10))
            self.end_headers()
            self.close_connection = True
        elif what == "elsewhere":  # another host, as names go
            self.say(302, Location="http://localhost:%d/who/x" % self.server.server_port)
        elif what == "moved":
            self.say(307, Location="/file/" + name)
        elif what == "who":  # what came with the request
            self.say(200, (self.headers.get("Authorization") or "nobody").encode())
        elif what == "signed":
            good = signature_holds(self, body) and (
                self.headers.get("x-amz-security-token") == "session" or name != "session")
            self.say(200 if good else 403, b"signed")
        elif what == "skewed":  # as S3 refuses a request of another time; `name` is its clock
            self.skew = int(name)
            self.say(403, b"<Error><Code>RequestTimeTooSkewed</Code></Error>")
        elif what == "times":  # how often a path was asked for
            self.say(200, str(sum(1 for item in seen if item[1] == "/" + name)).encode())
        else:
            self.say(404)

    def do_GET(self):
        self.answer()

    def do_MKCOL(self):
        self.answer()

    def do_PUT(self):
        self.answer(self.rfile.read(int(self.headers.get("Content-Length", "0"))))


class Threads(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


if __name__ == "__main__":
    files["hello"] = b"hello\n" * 10000
    server = Threads(("127.0.0.1", 0), Server)
    print(server.server_port, flush=True)
    threading.Timer(120, server.shutdown).start()
    server.serve_forever()
