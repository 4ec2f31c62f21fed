"""A judge through litellm, against a server of our own that speaks the protocol of a known provider."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from sipbench.cards.checks.judge import litellm_judge
from sipbench.errors import EngineError

pytestmark = pytest.mark.filterwarnings("ignore")  # of what litellm brings
pytest.importorskip("litellm", reason="litellm (extra 'judge') is not installed")


class _Handler(BaseHTTPRequestHandler):
    status = 200

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = json.dumps({"score": len(asked["messages"]) / 2, "reason": "r"})
        body = {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": asked["model"],
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
            ],
            "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
        }
        data = json.dumps(body if self.status == 200 else {"error": {"message": "no such key"}}).encode()
        self.send_response(self.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HTTPServer]:
    served = HTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=served.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("OPENAI_API_BASE", f"http://127.0.0.1:{served.server_port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    yield served
    served.shutdown()
    thread.join()


@pytest.mark.slow
def test_any_model_that_litellm_knows_can_judge(server: HTTPServer) -> None:
    answer = litellm_judge("openai/our-own")([{"role": "user", "content": "q"}] * 2)
    assert json.loads(answer.text) == {"score": 1.0, "reason": "r"}
    assert (answer.input_tokens, answer.output_tokens) == (12, 3)
    assert answer.cost_usd is None  # a model without a price


@pytest.mark.slow
def test_a_provider_that_refuses_is_one_line(server: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Handler, "status", 401)
    with pytest.raises(EngineError, match="judge openai/our-own: AuthenticationError") as error:
        litellm_judge("openai/our-own")([{"role": "user", "content": "q"}])
    assert "\n" not in str(error.value)
