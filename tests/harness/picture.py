"""Pictures for the pages, taken by the tests that have just seen what is on them."""

import base64
import html
import math
import os
import struct

from harness.lab import ROOT

BACK, TEXT = "#14181c", "#d5dae0"
COLOURS = {"red": "#ff6b6b", "green": "#4cc26a", "brown": "#e0a83a", "cyan": "#3bc9db"}  # pyte's brown is a terminal's yellow
MOST_BYTES = 300_000
UPDATES = bool(os.environ.get("DOCKDIST_UPDATE_GOLDEN"))
COUNT_COLOURS = """(async () => {
    const image = new Image();
    image.src = 'data:image/png;base64,%s';
    await image.decode();
    const drawn = new OffscreenCanvas(image.naturalWidth, image.naturalHeight).getContext('2d');
    drawn.drawImage(image, 0, 0);
    return new Set(new Uint32Array(drawn.getImageData(0, 0, image.naturalWidth, image.naturalHeight).data.buffer)).size; })()"""


def terminal_page(screen):
    """What a pyte screen shows, as HTML."""
    lines = []
    for y in range(screen.lines):
        spans = []
        for x in range(screen.columns):
            cell = screen.buffer[y][x]
            style = f"color:{COLOURS.get(cell.fg, TEXT)}" + (";font-weight:bold" if cell.bold else "")
            if not spans or spans[-1][0] != style:
                spans.append((style, ""))
            spans[-1] = (style, spans[-1][1] + cell.data)
        lines.append("".join(f'<span style="{style}">{html.escape(text)}</span>' for style, text in spans))
    look = f"display: inline-block; margin: 0; padding: 14px 18px; color: {TEXT}; font: 14px/1.3 'DejaVu Sans Mono', monospace"
    return f'<!doctype html><meta charset="utf-8"><body style="margin: 0; background: {BACK}"><pre style="{look}">' + "\n".join(lines) + "</pre>"


def take(browser, page, name, until, width=None):
    """The page from its top to the end of the element `until`, as wide as that or as `width`. It becomes docs/NAME where golden files are
    written anew; else what lies there is a picture of the same kind."""
    browser.resize(width or 1600, 900)
    browser.open(page.as_uri())
    right, bottom = browser.ask(f"(box => [box.right, box.bottom])(document.querySelector('{until}').getBoundingClientRect())")
    size = (width or math.ceil(right), math.ceil(bottom))
    browser.resize(*size)
    png = browser.screenshot()
    assert size_of(png) == size and len(png) <= MOST_BYTES, (size_of(png), size, len(png))
    browser.open("about:blank")  # which forbids itself nothing
    assert browser.ask(COUNT_COLOURS % base64.b64encode(png).decode()) > 30  # text has many, at its edges
    path = ROOT / "docs" / name
    if UPDATES:
        path.write_bytes(png)
    kept = path.read_bytes()
    assert size_of(kept)[0] == size[0] and len(kept) <= MOST_BYTES, (size_of(kept), size, len(kept))
    assert f"({name})" in (ROOT / "docs/look.md").read_text()


def size_of(png):
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and png[12:16] == b"IHDR", png[:32]
    return struct.unpack(">II", png[16:24])
