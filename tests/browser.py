"""A real browser without a window or a network: what a page becomes once it has run."""

import html
import re
import shutil
import subprocess

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-extensions",
    "--proxy-server=127.0.0.1:9", "--host-resolver-rules=MAP * ~NOTFOUND", "--hide-scrollbars",
)  # fmt: skip


def after_running(page, place, *, width=1100):
    """Return the title and the markup that a page (a path) has once loaded; skip where no browser is."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"no browser to test pages in; any of {', '.join(NAMES)} on the path will do")
    profile = place / "profile"
    asked = [
        found,
        *QUIET,
        f"--user-data-dir={profile}",
        f"--window-size={width},900",
        "--dump-dom",
        page.as_uri(),
    ]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    title = re.search(r"<title>(.*?)</title>", done.stdout, re.S)
    return html.unescape(title[1]) if title else "", done.stdout
