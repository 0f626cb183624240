"""What an HTML page asks a browser for, and whether it holds anything that runs."""

import base64
import re
from html.parser import HTMLParser

from poolkit.shell import dressing

LINKS = {
    "src",
    "href",
    "srcset",
    "action",
    "formaction",
    "poster",
    "data",
    "background",
    "xlink:href",
    "ping",
}


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.addresses, self.active, self.text, self._inside = [], [], [], ""

    def handle_starttag(self, tag, attrs):
        self._inside = tag
        if tag in ("iframe", "object", "embed", "base", "form", "link"):
            self.active.append(tag)
        for name, value in attrs:
            if name.startswith("on"):
                self.active.append(name)
            if name in LINKS:
                self.addresses.append(value or "")
            if name == "style":
                self._styled(value or "")

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        if self._inside == "style":
            self._styled(data)
        elif self._inside == "script":
            self.active += [] if data == dressing()["script"] else ["script"]
        else:
            self.text.append(data)

    def _styled(self, style):
        self.addresses += re.findall(r"url\(\s*['\"]?([^)'\"]*)", style)
        self.addresses += re.findall(r"@import\s+['\"]?([^;'\"]*)", style)


def read(page):
    """Return addresses, things that run, and the text that a reader sees."""
    reader = _Reader()
    reader.feed(page)
    for address in list(reader.addresses):
        if address.startswith("data:image/svg+xml;base64,"):  # an image may hold addresses of its own
            inner = read(base64.b64decode(address.partition(",")[2]).decode())
            reader.addresses += inner[0]
            reader.active += inner[1]
    return reader.addresses, reader.active, " ".join("".join(reader.text).split())


def check_closed(page):
    """Nothing runs, and nothing is fetched but what lies beside the page or inside it."""
    addresses, active, _ = read(page)
    assert not active, active
    outside = [
        a
        for a in addresses
        if re.match(r"\s*([a-z][a-z0-9+.-]*:|//|/)", a, re.I) and not a.startswith("data:image/")
    ]
    assert not outside, outside
    assert "Content-Security-Policy" in page
