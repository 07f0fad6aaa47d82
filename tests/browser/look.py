"""What would keep anyone from reading a page, or using it?"""

from typing import Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

# Only what is wrong leaves the page: to hand over all that is right took as long as to look.
VIOLATIONS = """axe.run(document, {resultTypes: ['violations']})
    .then(found => found.violations.map(one => `${one.id} ${one.nodes[0].html}`))"""
LOOKS: list[tuple[int, Literal["light", "dark"]]] = [(360, "light"), (1280, "dark")]


def faults(page: Page) -> list[str]:
    """Return what axe finds and what is wider than the screen: narrow and light, wide and dark."""
    page.evaluate(Axe().axe_script)
    found = []
    for width, scheme in LOOKS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # no colour is half way there
        wide = page.evaluate("document.documentElement.scrollWidth")
        found += [] if wide <= width else [f"{wide} wide on {width}"]
        found += [f"{width}, {scheme}: {one}" for one in page.evaluate(VIOLATIONS)]
    return found
