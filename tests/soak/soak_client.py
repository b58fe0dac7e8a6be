"""A client of belljar for the soak: one server over stdio, whose calls may be cancelled, and which may
vanish or be killed at any time."""
import contextlib
import itertools
import json
import os
import signal
import subprocess
import threading

ANSWER_SECONDS = 240  # on a busy machine; a call that takes longer is a stuck client
END_SECONDS = 90


class ServerGone(Exception):
    """The server ended while a call was waiting."""


class Stuck(Exception):
    """Belljar did not answer, or did not end, for much longer than it may take."""


class Client:
    def __init__(self, command, log):
        self.server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                                       text=True, env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}, cwd="/")
        self.numbers = itertools.count(1)
        self.answers, self.changed, self.is_over = {}, threading.Condition(), False
        self.reader = threading.Thread(target=self.read_answers, daemon=True)
        self.reader.start()
        self.request("initialize", protocolVersion="2025-06-18", capabilities={},
                     clientInfo={"name": "soak", "version": "1"})
        self.send(method="notifications/initialized")

    def read_answers(self):
        with contextlib.suppress(ValueError, OSError):
            for line in self.server.stdout:
                message = json.loads(line)
                with self.changed:
                    if "id" in message and "method" not in message:
                        self.answers[message["id"]] = message
                    self.changed.notify_all()
        with self.changed:
            self.is_over = True
            self.changed.notify_all()

    def send(self, **message):
        try:
            self.server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            self.server.stdin.flush()
        except (OSError, ValueError) as error:
            raise ServerGone() from error

    def request(self, method, **params):
        number = next(self.numbers)
        self.send(id=number, method=method, params=params)
        return self.answer(number)

    def answer(self, number):
        """Waits for the answer to a request."""
        with self.changed:
            if not self.changed.wait_for(lambda: number in self.answers or self.is_over, ANSWER_SECONDS):
                raise Stuck(f"no answer to request {number} within {ANSWER_SECONDS} s")
            if number not in self.answers:
                raise ServerGone()
            return self.answers.pop(number)

    def call(self, tool, **arguments):
        """The result of a tool, an error of the protocol included."""
        answer = self.request("tools/call", name=tool, arguments=arguments)
        return answer.get("result") or {"isError": True, "content": [{"type": "text", "text": str(answer)}]}

    def start_call(self, tool, **arguments):
        number = next(self.numbers)
        self.send(id=number, method="tools/call", params={"name": tool, "arguments": arguments})
        return number

    def cancel(self, number):
        self.send(method="notifications/cancelled", params={"requestId": number, "reason": "soak"})

    def wait(self):
        try:
            self.server.wait(END_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise Stuck(f"the server did not end within {END_SECONDS} s") from error
        finally:
            self.reader.join(END_SECONDS)
            with contextlib.suppress(OSError):
                self.server.stdout.close()

    def close(self):
        """Ends the server as a client does: by the end of its input."""
        with contextlib.suppress(OSError):
            self.server.stdin.close()
        self.wait()

    def vanish(self):
        """Ends both pipes at once, like a client that was killed."""
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), self.server.stdout.fileno())
        self.close()

    def kill(self):
        self.server.send_signal(signal.SIGKILL)
        with contextlib.suppress(OSError):
            self.server.stdin.close()
        self.wait()
