"""Who may read, and what: other pages, other names of this machine, paths, links and names with markup get nothing."""

import asyncio
import json
import shutil
import threading
from pathlib import Path

import httpx
import pytest

from replab.web.app import Site, application
from replab.web.listing import Listing
from replab.web.serve import serve

HOST = "127.0.0.1:8265"


class Client:
    """Requests to the page, without a network. The path is sent as it is written, dots and all."""

    def __init__(self, runs: Path, hosts=frozenset({HOST, "localhost:8265"}), token="secret", may_start=True):
        self.site = Site(runs, runs / "no-results", may_start=may_start)
        self.app = application(self.site, hosts, token)

    def __call__(self, path: str, method: str = "GET", body: bytes = b"", **headers: str) -> httpx.Response:
        sent = {"host": HOST, **{k.replace("_", "-"): v for k, v in headers.items()}}
        plain, _, query = path.partition("?")
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": httpx.URL("http://x" + "/").path if not plain else _unquoted(plain), "raw_path": plain.encode(),
            "query_string": query.encode(), "root_path": "", "server": ("127.0.0.1", 8265), "client": ("127.0.0.1", 1),
            "headers": [(k.encode(), v.encode()) for k, v in sent.items()],
        }  # fmt: skip
        answers: list = []

        async def receive():
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message):
            answers.append(message)

        asyncio.run(self.app(scope, receive, send))
        body = b"".join(message.get("body", b"") for message in answers[1:])
        return httpx.Response(answers[0]["status"], headers=answers[0]["headers"], content=body)


def _unquoted(path: str) -> str:
    from urllib.parse import unquote

    return unquote(path)  # as a server decodes it


@pytest.fixture
def client(a_run):
    return Client(a_run.folder.parent)


def test_pages_are_served_with_a_strict_policy(client, a_run):
    for path in ("/", "/runs.json", f"/runs/{a_run.id}", "/ledger", "/catalogue", "/static/page.css", "/nowhere"):
        answer = client(path)
        assert answer.status_code == (404 if path == "/nowhere" else 200), (path, answer.text)
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8265", "127.0.0.1:9999", "", "evil:8265"])
def test_another_host_name_is_refused(client, host):
    answer = client("/", host=host)
    assert answer.status_code == 421
    assert "digits" not in answer.text


@pytest.mark.parametrize("origin", ["http://evil.example", "https://127.0.0.1:8265", "null", "http://127.0.0.1:1"])
def test_another_origin_is_refused(client, origin):
    assert client("/runs.json", origin=origin).status_code == 403
    assert client("/runs.json", origin=f"http://{HOST}").status_code == 200


def test_another_page_may_link_but_not_fetch(client):
    assert client("/runs.json", sec_fetch_site="cross-site", sec_fetch_mode="no-cors").status_code == 403
    assert client("/", sec_fetch_site="cross-site", sec_fetch_mode="navigate").status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_changes_without_the_token(client, method):
    assert client("/", method).status_code == 403
    assert client("/", method, x_replab_token="guess").status_code == 403
    assert client("/", method, x_replab_token="secret").status_code == 405  # passed, and there is nothing to change


ACTS = (
    "/runs/{id}/predict", "/runs/{id}/maps", "/runs/{id}/walk", "/runs/{id}/points", "/runs/{id}/stop",
    "/runs/{id}/resume", "/start", "/start/cost", "/models/cnn", "/data/digits",
)  # fmt: skip


@pytest.mark.parametrize("path", ACTS)
def test_what_acts_needs_a_post_and_the_token(client, a_run, monkeypatch, path):
    """And nothing of it happens before."""
    for place in ("workshop", "jobs"):
        monkeypatch.setattr(client.site.actions, place, None)
    path = path.replace("{id}", a_run.id)
    assert client(path, "POST").status_code == 403
    assert client(path, "POST", x_replab_token="").status_code == 403
    assert client(path, "POST", x_replab_token="secret", origin="http://evil.example").status_code == 403
    assert client(path, "POST", x_replab_token="secret", host="evil.example").status_code == 421
    assert client(path).status_code == (200 if path == "/start" else 405)


def test_the_token_is_handed_to_whoever_has_it_alone(client):
    assert "replab-token" not in client("/start").text
    assert "replab-token" not in client("/start?token=guess").text
    first = client("/start?token=secret")
    assert 'content="secret"' in first.text
    cookie = first.headers["set-cookie"]
    assert cookie.startswith("replab-token-8265=secret; HttpOnly; SameSite=Strict")
    assert 'content="secret"' in client("/start", cookie=cookie.partition(";")[0]).text


def test_a_request_of_no_told_length_is_cut_off(client, a_run):
    answer = client(f"/runs/{a_run.id}/predict", "POST", bytes(16_000_001), x_replab_token="secret")
    assert answer.status_code == 413
    assert "16,000,000" in answer.json()["error"]
    assert client("/start", "POST", content_length="99999999", x_replab_token="secret").status_code == 413
    assert client("/start", "POST", content_length="-1", x_replab_token="secret").status_code == 413


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b'{"model": 1}', b'{"model": "../x.py:f"}', b"[" * 100_000])
def test_a_spoilt_form_is_refused(client, body):
    answer = client("/start", "POST", body, x_replab_token="secret")
    assert answer.status_code == 409
    assert answer.json()["error"]


def test_over_the_network_nothing_is_started(a_run):
    client = Client(a_run.folder.parent, hosts=None, token="long-secret", may_start=False)
    sent = {"x_replab_token": "long-secret"}
    for path in ("/start", "/start/cost", f"/runs/{a_run.id}/stop", f"/runs/{a_run.id}/resume"):
        answer = client(f"{path}?token=long-secret", "POST", b'{"model": "cnn"}', **sent)
        assert answer.status_code == 409
        assert "not over the network" in answer.json()["error"]


@pytest.mark.parametrize(
    "path",
    [
        "/runs/../secret.txt", "/runs/..%2f..%2fsecret.txt", "/runs/%2e%2e/files/report.md", "/static/../app.py",
        "/static/..%2fassets.py", "/static/%2e%2e%2fassets.py", "/runs/{id}/files/..%2f..%2fsecret.txt",
        "/runs/{id}/files/environment.json", "/runs/{id}/files/model.safetensors", "/runs/{id}/files/.lock",
        "/runs//etc/passwd", "/runs/{id}%00/files/report.md", "/runs/%2ftmp/files/report.md", "/static//etc/passwd",
        "/runs/{id}/", "/compare?run=../secret", "/compare?run=/etc",
    ],
)  # fmt: skip
def test_no_path_leads_out(client, a_run, path):
    (a_run.folder.parent.parent / "secret.txt").write_text("the secret")
    answer = client(path.replace("{id}", a_run.id))
    assert answer.status_code in (307, 404), answer.text
    assert "the secret" not in answer.text
    assert "root:" not in answer.text


def test_links_lead_nowhere(client, a_run, tmp_path):
    outside = tmp_path / "outside"
    shutil.copytree(a_run.folder, outside)
    (a_run.folder.parent / "linked").symlink_to(outside)
    assert client("/runs/linked").status_code == 404
    assert "linked" not in Listing(a_run.folder.parent).records()
    secret = tmp_path / "secret.md"
    secret.write_text("the secret")
    (a_run.folder / "report.md").unlink()
    (a_run.folder / "report.md").symlink_to(secret)
    answer = client(f"/runs/{a_run.id}/files/report.md")
    assert answer.status_code == 404
    assert "the secret" not in answer.text


def test_names_are_only_names(a_run):
    folder = a_run.folder.parent / '<img src=x onerror="alert(1)">'
    shutil.copytree(a_run.folder, folder)
    names = ["<script>alert(1)</script>", *a_run.input["classes"][1:]]
    a_run.record.write_json("input.json", {**a_run.input, "classes": names})
    client = Client(a_run.folder.parent)
    for path in ("/", f"/runs/{a_run.id}", f"/compare?run={a_run.id}"):
        text = client(path).text
        assert "<img src=x" not in text
        assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)" in client(f"/runs/{a_run.id}").text


def test_a_damaged_run_is_named_beside_good_ones(client, a_run):
    bad = a_run.folder.parent / "bad"
    shutil.copytree(a_run.folder, bad)
    (bad / "metrics.json").write_text("{")
    odd = a_run.folder.parent / "odd"
    odd.mkdir()
    (odd / "environment.json").write_text("[1]")
    (odd / "recipe.toml").write_bytes(b"\xff\xfe")
    states = {row["run"]: row["state"] for row in client("/runs.json").json()}
    assert states == {a_run.id: "finished", "bad": "damaged", "odd": "damaged"}
    for id in ("bad", "odd"):
        answer = client(f"/runs/{id}")
        assert answer.status_code in (200, 409)
        assert "Traceback" not in answer.text
    assert client(f"/runs/{a_run.id}").status_code == 200


def test_a_link_out_among_the_figures_is_not_shown(client, a_run, tmp_path):
    (tmp_path / "private.png").write_bytes((a_run.folder / "figures/calibration.png").read_bytes())
    (a_run.folder / "figures/calibration.png").unlink()
    (a_run.folder / "figures/calibration.png").symlink_to(tmp_path / "private.png")
    text = client(f"/runs/{a_run.id}").text
    assert 'alt="explained"' in text
    assert 'alt="calibration"' not in text


def test_open_to_others_every_request_needs_the_token(a_run):
    client = Client(a_run.folder.parent, hosts=None, token="long-secret")
    assert client("/").status_code == 403
    assert client("/?token=wrong").status_code == 403
    first = client("/?token=long-secret", host="lab.example:80")
    assert first.status_code == 200
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert client("/runs.json", host="lab.example:80", cookie=cookie.partition(";")[0]).status_code == 200


def test_open_to_others_needs_a_token_at_all(refuses, a_run):
    line = refuses("view", "--host", "0.0.0.0", "--no-open", runs=a_run.folder.parent)
    assert "--token" in line
    assert str(a_run.folder.parent) in line


def test_fifty_readers_while_a_run_is_written(a_run):
    """On a real port: every answer is whole, whatever the writer is doing."""
    address: list[str] = []
    arguments = (a_run.folder.parent, Path("no-results"), "127.0.0.1", 0, None, lambda url, token: address.append(url))
    threading.Thread(target=serve, args=arguments, daemon=True).start()
    while not address:
        pass
    stop = threading.Event()

    def write() -> None:
        rows = a_run.epochs
        while not stop.is_set():
            a_run.record.write_lines("epochs.jsonl", rows)
            rows = [*rows, {**rows[-1], "epoch": len(rows) + 1}][-50:]

    writer = threading.Thread(target=write)
    writer.start()
    try:

        async def read() -> list[httpx.Response]:
            async with httpx.AsyncClient(timeout=60) as client:
                paths = ["", "runs.json", f"runs/{a_run.id}", f"runs/{a_run.id}/live.json", f"compare?run={a_run.id}"]
                return await asyncio.gather(*(client.get(address[0] + paths[i % 5]) for i in range(50)))

        answers = asyncio.run(read())
    finally:
        stop.set()
        writer.join()
    assert [answer.status_code for answer in answers] == [200] * 50
    listed = [json.loads(answer.text) for answer in answers if "runs.json" in str(answer.url)]
    assert [[row["state"] for row in rows] for rows in listed] == [["finished"]] * 10
