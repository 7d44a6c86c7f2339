# SPDX-License-Identifier: Apache-2.0
"""A hub on a real nginx on loopback, over TLS: what is pushed is pulled elsewhere, and all that
servers, networks and those who can write to a server do wrong is refused, told and survived.
nginx is the distribution's; without it, or without openssl, these tests are skipped. A server that
sends a byte a second is left alone with OPTUNE_TEST_SLOW=1 until it is given up (two minutes)."""

import gzip
import hashlib
import http.server
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
if not NGINX or not shutil.which("openssl"):
    pytest.skip("no nginx or no openssl here: apt-get install nginx-light",
                allow_module_level=True)

OPTUNE = pathlib.Path(os.environ["OPTUNE_LIBRARY"]).parent / "optune"
WORKLOAD = "relu(f32[64])"
NO_HUB = "0" * 64

CONFIG = """
daemon off;
master_process off;
pid {dir}/pid;
error_log {dir}/error.log;
events {{ worker_connections 64; }}
http {{
    client_body_temp_path {dir}/t1; proxy_temp_path {dir}/t2; fastcgi_temp_path {dir}/t3;
    uwsgi_temp_path {dir}/t4; scgi_temp_path {dir}/t5;
    log_format all '$request_method $uri $status [$http_range] [$http_if_none_match]';
    access_log {dir}/access.log all;
    types {{ application/json json; }}
    server {{
        listen 127.0.0.1:{port} ssl;
        ssl_certificate {dir}/cert; ssl_certificate_key {dir}/key;
        root {dir}/www;
        client_max_body_size 100m;
        location /hub/ {{ dav_methods PUT; create_full_put_path on; dav_access user:rw; }}
        location /flaky/ {{ proxy_pass http://127.0.0.1:{back}; }}
        # Half of a pack from one server; asked for the rest, nginx has it.
        location /cut/ {{ alias {dir}/www/hub/; }}
        location /cut/packs/ {{
            if ($http_range = "") {{ proxy_pass http://127.0.0.1:{back}; }}
            alias {dir}/www/hub/packs/;
        }}
        location /file/ {{ return 302 file://{dir}/www/hub$request_uri; }}
        location /round/ {{ return 302 $request_uri; }}
        location /slow/ {{ alias {dir}/www/hub/; }}
        location /slow/packs/ {{ alias {dir}/www/hub/packs/; limit_rate 1; }}
        location /bomb/ {{ gzip_static always; }}
    }}
}}
"""


class Backend(http.server.BaseHTTPRequestHandler):
    """Behind nginx: fails twice, then serves; or ends in the middle of a file."""
    protocol_version = "HTTP/1.0"
    root, asked, etag = None, [], None

    def log_message(self, *args):
        pass

    def do_GET(self):
        what, _, name = self.path.lstrip("/").partition("/")
        self.asked.append(self.path)
        data = (self.root / "hub" / name).read_bytes() if (self.root / "hub" / name).is_file() else None
        if data is None:
            return self.send_error(404)
        if what == "flaky" and self.asked.count(self.path) < 2:
            return self.send_error(500)
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        if what == "cut":
            info = (self.root / "hub" / name).stat()
            self.send_header("ETag", '"%x-%x"' % (int(info.st_mtime), info.st_size))  # nginx's own
        self.end_headers()
        self.wfile.write(data[:len(data) // 2] if what == "cut" else data)


class Hub:
    def __init__(self, here):
        self.here, self.www = here, here / "www"
        self.www.mkdir()
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", here / "key", "-out",
                        here / "cert", "-days", "2", "-subj", "/CN=optune test", "-addext",
                        "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        Backend.root = self.www
        self.back = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Backend)
        threading.Thread(target=self.back.serve_forever, daemon=True).start()
        for _ in range(5):  # somebody may take a free port before nginx does
            with socket.socket() as s:
                s.bind(("127.0.0.1", 0))
                self.port = s.getsockname()[1]
            (here / "conf").write_text(CONFIG.format(dir=here, port=self.port,
                                                     back=self.back.server_port))
            self.nginx = subprocess.Popen([NGINX, "-p", here, "-c", here / "conf", "-e",
                                           here / "error.log"], stderr=subprocess.DEVNULL)
            if self.answers():
                break
        else:
            pytest.fail("nginx does not start: " + (here / "error.log").read_text())
        self.env = dict(os.environ, OPTUNE_CA_FILE=str(here / "cert"), XDG_CONFIG_HOME=str(here),
                        OPTUNE_CACHE=str(here / "cache"), no_proxy="127.0.0.1")

    def answers(self):
        for _ in range(200):
            if self.nginx.poll() is not None:
                return False
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", self.port)) == 0:
                    return True
            time.sleep(0.05)
        return False

    def url(self, path="hub"):
        return "https://127.0.0.1:%d/%s" % (self.port, path)

    def run(self, db, *words, env=None, timeout=100):
        words = [OPTUNE, "hub", *words, "--db", db]
        return subprocess.run(words, env=dict(self.env, **(env or {})), text=True, timeout=timeout,
                              capture_output=True)

    def json(self, db, *words, code=0, **how):
        done = self.run(db, *words, "--json", **how)
        assert done.returncode == code, done.stderr + done.stdout
        return json.loads(done.stdout)[0]

    def log(self):
        return (self.here / "access.log").read_text().splitlines()

    def packs(self):
        return sorted((self.www / "hub" / "packs").glob("*/*"))

    def fresh(self, tmp_path, path="hub", **how):
        """A database that has nothing and knows the hub by this address."""
        db = tmp_path / "other"
        keys = how.get("keys", [self.key])
        done = self.run(db, "add", "team", self.url(path), *[w for k in keys for w in ("--key", k)])
        assert done.returncode == 0, done.stderr
        return db


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    here = tmp_path_factory.mktemp("nginx")
    hub = Hub(here)
    mine = here / "mine"
    done = subprocess.run([OPTUNE, "run", "relu", WORKLOAD, "--trials", "3", "--time", "60",
                           "--target", "cpu -threads=1", "--db", mine], env=hub.env, text=True,
                          capture_output=True, timeout=200)
    assert done.returncode == 0, done.stderr + done.stdout
    hub.key = hub.run(mine, "key").stdout.split()[0]
    assert hub.run(mine, "add", "team", hub.url(), "--key", hub.key).returncode == 0
    hub.mine = mine
    hub.pushed = hub.json(mine, "push", "team")
    assert hub.pushed["packs"] == 1 and hub.pushed["records"] >= 3
    yield hub
    hub.nginx.terminate()
    hub.nginx.wait(10)
    hub.back.shutdown()


def whole(got, hub):
    return got["packs"] == 1 and got["new"] == hub.pushed["records"] and not got["packs_refused"]


def test_pushed_is_pulled(hub, tmp_path):
    db = hub.fresh(tmp_path)
    assert whole(hub.json(db, "pull"), hub)
    before = len(hub.log())
    assert hub.json(db, "pull")["known"] == 1
    again = hub.log()[before:]  # nothing but conditions, all met
    assert len(again) == 2 and all(" 304 " in line for line in again), again
    assert hub.json(hub.mine, "push", "team")["packs"] == 0


def test_a_stranger_s_certificate(hub, tmp_path):
    db = hub.fresh(tmp_path)
    done = hub.run(db, "pull", "team", env={"OPTUNE_CA_FILE": ""})
    assert done.returncode != 0 and "certificate" in done.stderr
    assert not list(db.glob("hubs/team/logs/*"))


def test_500_then_good(hub, tmp_path):
    Backend.asked.clear()
    assert whole(hub.json(hub.fresh(tmp_path, "flaky"), "pull"), hub)
    assert len(Backend.asked) == 6  # hub.json, the index and the pack, each twice


def test_a_body_that_ends_early_is_gone_on_with(hub, tmp_path):
    db = hub.fresh(tmp_path, "cut")
    size = hub.packs()[0].stat().st_size
    assert whole(hub.json(db, "pull"), hub)
    asked = [line for line in hub.log() if "/cut/packs/" in line]
    assert len(asked) == 2 and " 206 [bytes=%d-]" % (size // 2) in asked[1], asked


def test_416(hub, tmp_path):
    """All of a pack came before the kill; the server has nothing behind it."""
    db, pack = hub.fresh(tmp_path), hub.packs()[0]
    cache = db / "hubs" / "team" / "cache"
    cache.mkdir(parents=True)
    info = pack.stat()
    (cache / (pack.name + ".part")).write_bytes(pack.read_bytes())
    (cache / (pack.name + ".part.etag")).write_text('"%x-%x"' % (int(info.st_mtime), info.st_size))
    before = len(hub.log())
    assert whole(hub.json(db, "pull"), hub)
    asked = [line for line in hub.log()[before:] if "/packs/" in line]
    assert " 416 " in asked[0] and " 200 [-]" in asked[1] and len(asked) == 2, asked
    assert not list(cache.glob("*.part*"))


def test_redirects(hub, tmp_path):
    for path, word in (("file", "file"), ("round", "redirect")):
        db = tmp_path / path
        hub.run(db, "add", "team", hub.url(path), "--key", hub.key)
        done = hub.run(db, "pull", "team")
        assert done.returncode != 0 and word in done.stderr.lower(), done.stderr
        assert not list(db.glob("hubs/team/logs/*"))


def index_of(hub):
    return next((hub.www / "hub" / "index").glob("*.json"))


class spoilt:
    """Files of the hub as somebody who can write there leaves them; put back in the end."""

    def __init__(self, *paths):
        self.kept = {path: path.read_bytes() for path in paths}

    def __enter__(self):
        return self

    def __exit__(self, *args):
        for path, data in self.kept.items():
            path.write_bytes(data)


def test_wrong_hash(hub, tmp_path):
    db, pack = hub.fresh(tmp_path), hub.packs()[0]
    with spoilt(pack):
        data = bytearray(pack.read_bytes())
        for at in (len(data) // 2, 20, len(data) - 3):
            data[at] ^= 1
            pack.write_bytes(data)
            got = hub.json(db, "pull", code=1)
            assert got["packs_refused"] == 1 and got["new"] == 0, got
            data[at] ^= 1
    assert whole(hub.json(db, "pull"), hub)  # what was spoilt on the way is not refused for good


def test_ten_gigabytes(hub, tmp_path):
    """A pack that says so is not taken, and neither is an index; nothing of them stays."""
    db, pack = hub.fresh(tmp_path), hub.packs()[0]
    with spoilt(pack, index_of(hub)):
        os.truncate(pack, 10 * 10**9)
        start = time.monotonic()
        got = hub.json(db, "pull", code=1)
        assert got["packs_refused"] == 1 and "bytes" in got["problems"][0]["problem"], got
        assert time.monotonic() - start < 60
        os.truncate(index_of(hub), 10 * 10**9)
        done = hub.run(db, "pull", "team")
        assert done.returncode != 0 and "longer than" in done.stderr, done.stderr
    left = sum(f.stat().st_size for f in db.rglob("*") if f.is_file() and f.name != "data.mdb")
    assert left < 1 << 20
    assert whole(hub.json(db, "pull"), hub)


def test_a_bomb(hub, tmp_path):
    """nginx sends it compressed, though nobody asked for that; a pack that is one: answer/test_hub."""
    bomb = hub.www / "bomb"
    bomb.mkdir(exist_ok=True)
    with gzip.open(bomb / "hub.json.gz", "wb", 6) as out:
        out.write(b'{"optune_hub":1,"devices":[')
        for _ in range(64):
            out.write(b" " * (1 << 20))
    done = hub.run(hub.fresh(tmp_path, "bomb"), "pull", "team", timeout=60)
    assert done.returncode != 0 and done.stderr and "bomb" not in done.stdout


def test_another_s_key(hub, tmp_path):
    got = hub.json(hub.fresh(tmp_path, keys=[NO_HUB]), "pull", code=1)
    assert got["packs_refused"] == 1 and "is no key of the hub" in got["problems"][0]["problem"]


def test_an_index_that_lies(hub, tmp_path):
    """Names that lead out of the hub, packs that are none, numbers that are none."""
    db, index = hub.fresh(tmp_path), index_of(hub)
    (hub.www / "secret").write_text("a secret")
    with spoilt(index):
        good = json.loads(index.read_text())
        for change in ({"pack": "../../secret"}, {"pack": "/etc/passwd"}, {"bytes": -1},
                       {"bytes": 10**19}, {"pack": "A" * 64}, {"ops": None}, {"records": "x"}):
            lie = json.loads(index.read_text())
            lie["packs"][0].update(change)
            index.write_text(json.dumps(lie))
            done = hub.run(db, "pull", "team")
            assert done.returncode != 0 and done.stderr.count("\n") == 1, (change, done)
            index.write_text(json.dumps(good))
        # A pack of nobody, named a thousand times beside the good one.
        ghost = dict(good["packs"][0], pack=hashlib.sha256(b"x").hexdigest())
        index.write_text(json.dumps(dict(good, packs=[ghost] + good["packs"])))
        got = hub.json(db, "pull", code=1)
        assert got["packs_refused"] == 1 and got["new"] == hub.pushed["records"], got
    assert not any("secret" in line or "passwd" in line for line in hub.log())


def test_several_push_at_once(hub, tmp_path):
    """Databases of four machines; nginx knows no conditions for what is written."""
    stores = []
    for i in range(4):
        db = tmp_path / ("m%d" % i)
        done = subprocess.run([OPTUNE, "run", "relu", "relu(f32[%d])" % (100 + i), "--trials", "1",
                               "--time", "60", "--target", "cpu -threads=1", "--db", db],
                              env=hub.env, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stderr
        assert hub.run(db, "add", "team", hub.url(), "--key", hub.key).returncode == 0
        stores.append(db)
    with spoilt(index_of(hub)):
        pushes = [subprocess.Popen([OPTUNE, "hub", "push", "team", "--db", db], env=hub.env,
                                   stdout=subprocess.DEVNULL) for db in stores]
        assert [p.wait(100) for p in pushes] == [0] * 4
        for db in stores:  # who was overtaken looks once more
            assert hub.run(db, "push", "team").returncode == 0
        named = {p["pack"] for p in json.loads(index_of(hub).read_text())["packs"]}
        assert named == {p.name for p in hub.packs()} and len(named) == 5
    for pack in hub.packs():
        if pack.name not in index_of(hub).read_text():
            pack.unlink()


def test_one_tag_for_two_lists(hub, tmp_path):
    """nginx makes a tag of seconds and bytes: who pushes believes no list that was kept."""
    db, index = tmp_path / "m", index_of(hub)
    done = subprocess.run([OPTUNE, "run", "relu", "relu(f32[110])", "--trials", "1", "--time", "60",
                           "--target", "cpu -threads=1", "--db", db],
                          env=hub.env, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert hub.run(db, "add", "team", hub.url(), "--key", hub.key).returncode == 0
    before = {p.name for p in hub.packs()}
    with spoilt(index):
        for _ in range(2):
            assert hub.run(db, "push", "team").returncode == 0
        own, = {p.name for p in hub.packs()} - before
        was, text = index.stat(), index.read_text()
        assert own in text
        with open(index, "r+") as f:  # another writer's, of that very second
            f.write(text.replace(own, hashlib.sha256(b"other").hexdigest()))
        os.utime(index, ns=(was.st_atime_ns, was.st_mtime_ns))
        assert hub.run(db, "push", "team").returncode == 0
        assert own in index.read_text()
    for pack in hub.packs():
        if pack.name == own:
            pack.unlink()


def test_a_byte_a_second(hub, tmp_path):
    """It can be stopped at once; what is left is gone on with where the server is quick again."""
    db = hub.fresh(tmp_path, "slow")
    words = [OPTUNE, "hub", "pull", "team", "--db", db]
    if os.environ.get("OPTUNE_TEST_SLOW"):
        start = time.monotonic()
        done = hub.run(db, "pull", "team", timeout=400)
        assert done.returncode != 0 and "127.0.0.1" in done.stderr
        assert time.monotonic() - start < 300
    pull = subprocess.Popen(words, env=hub.env, stderr=subprocess.PIPE, text=True)
    parts = []
    for _ in range(400):
        parts = list(db.glob("hubs/team/cache/*.part"))
        if parts and parts[0].stat().st_size:
            break
        time.sleep(0.05)
    assert parts and pull.poll() is None
    start = time.monotonic()
    pull.send_signal(signal.SIGINT)
    assert pull.wait(20) != 0 and "interrupted" in pull.stderr.read()
    assert time.monotonic() - start < 15
    hub.run(db, "remove", "team")
    assert whole(hub.json(hub.fresh(tmp_path), "pull"), hub)
