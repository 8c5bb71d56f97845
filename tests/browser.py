"""Headless Chromium through its debugging pipe: no driver, no sockets, no package."""

import base64
import fcntl
import json
import os
import select
import shutil

BINARY = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-background-networking",
    "--remote-debugging-pipe",
]
TIMEOUT = 60  # seconds without an answer after which the browser is given up

KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}


class Page:
    """A page in a browser of its own; what goes wrong in it is collected in ``complaints``."""

    def __init__(self, url, folder, width=1000, height=900, dark=False, binary=BINARY):
        self.pid, self._to, self._from = _start(binary, folder)
        self._last, self._buffer, self._events = 0, b"", set()
        self.complaints, self.requests = [], []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.prefer("dark" if dark else "light")
        self.resize(width, height)
        self.call("Page.navigate", url=url)
        self.wait("Page.loadEventFired")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._call("Browser.close")
        for end in (self._to, self._from):
            os.close(end)
        os.waitpid(self.pid, 0)

    def prefer(self, theme):
        """Say which theme the reader's system has."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        self.settle()

    def resize(self, width, height):
        """Give the page a window of this size."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.settle()

    def settle(self):
        """Wait for two frames: a page is told of another size or theme when it is next drawn, before its frame."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def run(self, script):
        """Return the value of an expression, or of its promise, as JSON would hold it."""
        told = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def press(self, key, shift=False):
        """Press a key as a keyboard would."""
        known = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key], "modifiers": 8 if shift else 0}
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **known, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **known)

    def point(self, x, y):
        """Move the mouse."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def screenshot(self, path):
        """Write a picture of the whole page."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def call(self, method, **params):
        """Call a method of the page."""
        return self._call(method, self._session, **params)

    def _call(self, method, session=None, **params):
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._last:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def wait(self, event):
        """Wait until an event has come since it was last waited for."""
        while event not in self._events:
            self._read()
        self._events.clear()

    def _read(self):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], TIMEOUT)
            got = os.read(self._from, 1 << 20) if ready else b""
            assert got, "the browser ended or does not answer"
            self._buffer += got
        raw, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(raw)
        self._note(message)
        return message

    def _note(self, message):
        method, params = message.get("method"), message.get("params", {})
        self._events.add(method)
        if method == "Runtime.exceptionThrown":
            self.complaints.append(params["exceptionDetails"])
        if method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"])
        if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(params)
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])


def _start(binary, folder):
    """Start the browser; it reads from its descriptor 3 and writes to its descriptor 4."""
    (reads, to), (of, writes) = os.pipe(), os.pipe()
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (reads, writes)]  # not 3 or 4 themselves
    os.close(reads)
    os.close(writes)
    quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    moved = [(os.POSIX_SPAWN_DUP2, fd, place) for fd, place in zip(high, (3, 4), strict=True)]
    flags = [*FLAGS, f"--user-data-dir={folder}"]
    pid = os.posix_spawn(binary, [binary, *flags], os.environ, file_actions=quiet + moved)
    for fd in high:
        os.close(fd)
    return pid, to, of
