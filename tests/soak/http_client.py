"""A client of belljar over Streamable HTTP for the soak: one session of one user, whose calls may be
cancelled, and whose connections may be cut at any time."""
import contextlib
import http.client
import itertools
import json
import threading

from soak_client import ANSWER_SECONDS, ServerGone, Stuck

VERSION = "2025-11-25"


class HttpClient:
    def __init__(self, port, token):
        self.port, self.token, self.session = port, token, None
        self.numbers, self.local = itertools.count(1), threading.local()
        self.request("initialize", protocolVersion=VERSION, capabilities={},
                     clientInfo={"name": "soak", "version": "1"})
        self.send(method="notifications/initialized")

    def headers(self):
        found = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json",
                 "Accept": "application/json, text/event-stream"}
        if self.session:
            found |= {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": VERSION}
        return found

    def connection(self):
        """The connection of this thread, kept alive between requests."""
        if getattr(self.local, "connection", None) is None:
            self.local.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_SECONDS)
        return self.local.connection

    def disconnect(self):
        if getattr(self.local, "connection", None) is not None:
            self.local.connection.close()
            self.local.connection = None

    def exchange(self, method, body=None):
        """The response to one request; a kept connection that the server has closed is opened again."""
        for attempt in range(2):
            connection = self.connection()
            try:
                connection.request(method, "/mcp", body, self.headers())
                return connection.getresponse()
            except TimeoutError as error:
                self.disconnect()
                raise Stuck(f"no response to {method} within {ANSWER_SECONDS} s") from error
            except (OSError, http.client.HTTPException) as error:
                self.disconnect()
                if attempt == 1:
                    raise ServerGone() from error
        raise ServerGone()

    @staticmethod
    def read_message(response, number):
        """The message with this id from a JSON body or an event stream."""
        if response.getheader("Content-Type", "").startswith("application/json"):
            return json.loads(response.read())
        found = None
        for line in response:
            if line.startswith(b"data: {"):  # the first event of a stream may have no message
                message = json.loads(line[6:])
                if message.get("id") == number and "method" not in message:
                    found = message
        return found

    def send(self, **message):
        response = self.exchange("POST", json.dumps({"jsonrpc": "2.0", **message}))
        response.read()
        if response.status != 202:
            raise ServerGone(f"status {response.status} for a notification")

    def post(self, number, method, params):
        response = self.exchange("POST", json.dumps({"jsonrpc": "2.0", "id": number, "method": method,
                                                     "params": params}))
        if response.status != 200:
            raise ServerGone(f"status {response.status}: {response.read()[:300]}")
        self.session = response.getheader("Mcp-Session-Id") or self.session
        answer = self.read_message(response, number)
        if answer is None:
            raise ServerGone("the stream ended without the answer")
        return answer

    def request(self, method, **params):
        return self.post(next(self.numbers), method, params)

    def call(self, tool, **arguments):
        """The result of a tool, an error of the protocol included."""
        answer = self.request("tools/call", name=tool, arguments=arguments)
        return answer.get("result") or {"isError": True, "content": [{"type": "text", "text": str(answer)}]}

    def start_call(self, tool, **arguments):
        """Begins a call on a connection of its own and does not wait for its answer."""
        number = next(self.numbers)

        def wait():
            with contextlib.suppress(ServerGone, Stuck, ValueError):
                self.post(number, "tools/call", {"name": tool, "arguments": arguments})
            self.disconnect()
        threading.Thread(target=wait, daemon=True).start()
        return number

    def cancel(self, number):
        self.send(method="notifications/cancelled", params={"requestId": number, "reason": "soak"})

    def open_stream(self):
        """Opens the session's event stream and returns its connection, which the caller cuts."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_SECONDS)
        connection.request("GET", "/mcp", headers=self.headers() | {"Accept": "text/event-stream"})
        return connection, connection.getresponse().status

    def close(self):
        self.exchange("DELETE").read()
        self.disconnect()
