"""Headless Chromium, told what to do through a pipe by the DevTools protocol."""

import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
_OPTIONS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
_OPTIONS += ["--no-first-run", "--hide-scrollbars", "--remote-debugging-pipe", "about:blank"]
_KEYS = {"ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39}


class Page:
    """One page of a browser.

    Attributes
    ----------
    errors : list of str
        Errors that scripts of the page raised, and messages of its security policy.
    """

    def __init__(self, write, read):
        self._write, self._read, self._buffer, self._count = write, read, b"", 0
        self.errors, self._loaded, self._session = [], False, None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Performance"):
            self.call(f"{domain}.enable")

    def _next(self):
        while b"\0" not in self._buffer:
            part = os.read(self._read, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(message)
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(message["params"]))
        if message.get("method") == "Log.entryAdded":
            self.errors.append(message["params"]["entry"]["text"])
        self._loaded |= message.get("method") == "Page.loadEventFired"
        return message

    def call(self, method, **params):
        """Result of one command of the protocol."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, path):
        """Load a file; returns the seconds of the processor that this and its scripts took."""
        self._loaded, before = False, self._processor_seconds()
        self.call("Page.navigate", url=Path(path).resolve().as_uri())
        while not self._loaded:
            self._next()
        return self._processor_seconds() - before

    def _processor_seconds(self):
        metrics = self.call("Performance.getMetrics")["metrics"]
        return {entry["name"]: entry["value"] for entry in metrics}["ProcessTime"]

    def value(self, expression):
        """Value of a JavaScript expression."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(f"{expression}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def press(self, *keys):
        """Press keys, one after the other."""
        for key in keys:
            options = {"key": key, "windowsVirtualKeyCode": _KEYS.get(key, ord(key[0].upper()))}
            options |= {"text": key} if len(key) == 1 else {}
            self.call("Input.dispatchKeyEvent", type="keyDown", **options)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def choose(self, name, value):
        """Choose an entry of the select element with this id."""
        self.value(
            f"(() => {{ const s = document.getElementById({name!r}); s.value = {json.dumps(value)};"
            " s.dispatchEvent(new Event('change')); })()"
        )

    def download(self, folder, expression):
        """Bytes of the file that a JavaScript expression makes the page download."""
        folder = Path(folder)
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
        before = set(folder.iterdir())
        self.value(expression)
        for _ in range(200):
            new = [p for p in set(folder.iterdir()) - before if p.suffix == ".csv"]
            if new:
                return new[0].read_bytes()
            time.sleep(0.05)
        raise RuntimeError("nothing was downloaded")

    def look(self, path, width, height, dark=False):
        """Write a screenshot of a window of this size."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            **{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        shot = self.call("Page.captureScreenshot", format="png")["data"]
        Path(path).write_bytes(base64.b64decode(shot))


@contextlib.contextmanager
def browser():
    """Yield a `Page` of a browser that is started for it and ended afterwards."""
    (read, theirs_out), (theirs_in, write) = os.pipe(), os.pipe()

    def connect():
        # The protocol's pipes are files 3 and 4. First out of the way, in case they overlap.
        incoming, outgoing = os.dup2(theirs_in, 103), os.dup2(theirs_out, 104)
        os.dup2(incoming, 3)
        os.dup2(outgoing, 4)

    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [PROGRAM, f"--user-data-dir={folder}", *_OPTIONS],
            preexec_fn=connect,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"HOME": folder},
        )
        os.close(theirs_out)
        os.close(theirs_in)
        try:
            yield Page(write, read)
        finally:
            os.close(write)
            os.close(read)
            process.terminate()
            process.wait(30)
            # Its helpers may still write into the folder.
            time.sleep(0.2)
