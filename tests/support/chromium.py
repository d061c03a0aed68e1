# SPDX-License-Identifier: Apache-2.0
"""chromium.py - a headless Chromium, driven by its DevTools protocol over two pipes: JSON messages that end with a zero
byte. Needs the browser alone, no package of Python's."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome-headless-shell")
TIMEOUT_S = 120


def find():
    """The program, or None; CHROMIUM names another one."""
    given = os.environ.get("CHROMIUM")
    return given if given else next((path for path in map(shutil.which, NAMES) if path), None)


class Chromium:
    """One browser with one page. What the page says or asks for is kept: .problems (the console's errors and warnings,
    exceptions) and .requests (addresses)."""

    def __init__(self, program):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self.to = os.pipe()
        self.come, from_write = os.pipe()
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", f"--user-data-dir={self.profile.name}",
                 "--remote-debugging-pipe", "about:blank"]

        def place():  # the browser reads commands from 3 and answers on 4
            a, b = os.dup(to_read), os.dup(from_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen([program, *flags], preexec_fn=place, pass_fds=(3, 4), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.left, self.number, self.session = b"", 0, None
        self.problems, self.requests, self.events = [], [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.come)
        self.profile.cleanup()

    def _read(self, until):
        while b"\0" not in self.left:
            ready, _, _ = select.select([self.come], [], [], max(0, until - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            got = os.read(self.come, 1 << 20)
            if not got:
                raise EOFError(f"the browser ended with {self.process.wait(10)}")
            self.left += got
        message, self.left = self.left.split(b"\0", 1)
        return json.loads(message)

    def _note(self, event):
        kind, told = event.get("method"), event.get("params", {})
        if kind == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description") or details["text"])
        elif kind == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.problems.append(" ".join(str(a.get("value", a.get("description"))) for a in told["args"]))
        elif kind == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.problems.append(told["entry"]["text"])
        elif kind == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        self.events.append(kind)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + TIMEOUT_S
        while True:
            answer = self._read(until)
            if answer.get("id") != self.number:
                self._note(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                return answer["result"]

    def open(self, path, width, height, scheme="light", scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events.clear()
        self.call("Page.navigate", url=path.absolute().as_uri())
        until = time.monotonic() + TIMEOUT_S
        while "Page.loadEventFired" not in self.events:
            self._note(self._read(until))
        # Two frames later, what reacts to sizes has drawn.
        self.ask("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def ask(self, expression):
        """The value of an expression of the page's; an exception there is one here."""
        got = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, userGesture=True)
        if "exceptionDetails" in got:
            raise RuntimeError(f"{expression[:200]}: {got['exceptionDetails'].get('exception', {}).get('description')}")
        return got["result"].get("value")

    def key(self, name, code=0, text=""):
        """One key, as a person presses it: "ArrowRight", "Tab", "Enter"."""
        for kind in ("keyDown", "keyUp"):
            told = {"type": kind, "key": name, "code": name, "windowsVirtualKeyCode": code}
            if text and kind == "keyDown":
                told["text"] = text
            self.call("Input.dispatchKeyEvent", **told)

    def picture(self, path, whole=True):
        got = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(got["data"]))
