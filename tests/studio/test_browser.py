"""Every screen in a real browser, by mouse and by keys alone, wide and narrow, light and dark."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from browser import Browser

import mottle
from mottle.studio.screens import SCREENS

PICTURES = os.environ.get("MOTTLE_PICTURES")  # a folder: pictures for the documentation go there
HEIGHTS = {1280: 860, 390: 844}
TALLEST = 1400  # pixels of a wide picture


@pytest.fixture
def start() -> Iterator[Callable[[Path], str]]:
    """Run ``mottle studio`` in a process and return the address that it prints."""
    running: list[subprocess.Popen[str]] = []

    def begin(place: Path) -> str:
        words = [sys.executable, "-m", "mottle", "studio", str(place), "--no-browser"]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout is not None
        for line in process.stdout:
            if found := re.search(r"http://\S+", line):
                return found[0]
        raise AssertionError("the studio does not start")

    yield begin
    for process in running:
        try:
            assert process.wait(timeout=120) == 0
        finally:
            process.kill()
            assert process.stdout is not None
            process.stdout.close()


def people(folder: Path, rows: int = 300) -> Path:
    """A table of generated people."""
    table = mottle.datasets.population(rows, seed=1).select(
        ["age", "sex", "education", "diagnosis"]
    )
    file = folder / "people.csv"
    file.write_text(table.to_pandas().to_csv(index=False))
    return file


def visits(folder: Path) -> None:
    """Visits of generated people, of whom most have several."""
    table = mottle.datasets.population(200, seed=1).select(["age", "sex", "education", "diagnosis"])
    frame = table.to_pandas()
    frame.insert(0, "patient", [f"p{number}" for number in range(len(frame))])
    several = frame.loc[frame.index.repeat([1 + number % 3 for number in frame.index])]
    (folder / "visits.csv").write_text(several.to_csv(index=False))


def type_into(browser: Browser, selector: str, text: str) -> None:
    """Type into a field by keys alone; once more if the page was loaded again meanwhile."""
    for _ in range(5):
        browser.wait(f"document.querySelector({selector!r}) && document.readyState === 'complete'")
        browser.reach(selector)
        for letter in text:
            browser.press(letter)
        if browser.run(f"document.querySelector({selector!r})?.value") == text:
            return
    raise AssertionError(f"{selector} does not hold what was typed")


def send(browser: Browser, selector: str) -> None:
    """Click on what sends a request, and wait for the page that follows."""
    browser.act(address_in(selector), lambda: browser.click(selector))


def address_in(selector: str) -> str:
    found = re.search(r"'(/.+?)'", selector)
    return found[1] if found else ""


def shows(text: str) -> str:
    return f"document.body.innerText.includes({text!r})"


def test_from_a_table_to_a_verified_release_by_mouse(browser: Browser, start, tmp_path) -> None:
    folder = tmp_path / "hospital"
    folder.mkdir()
    people(folder)
    browser.requested.clear()
    address = start(folder)
    root = address.partition("/enter")[0]
    browser.open(address, width=1280)
    assert browser.run("location.href") == f"{root}/"
    browser.wait("document.querySelector('[data-drop]') && document.readyState === 'complete'")
    browser.run(DROP)
    browser.wait(shows("4 of 4 rows"))
    assert (folder / ".studio" / "dropped" / "dropped.csv").read_text().startswith("age,town")
    send(browser, "form[data-form='/open/open'] button")
    browser.wait(shows("50 of 300 rows"))
    browser.click("a[href='/columns']")
    assert_columns_are_dragged(browser)
    browser.click("a[href='/values']")
    assert_breaks_are_set_on_the_line(browser)
    assert_values_are_dragged(browser)
    browser.click("a[href='/promise']")
    browser.click("svg[data-rail]")  # the middle of 2 to 50, on a logarithmic rail
    browser.wait("document.getElementById('k')?.value === '10'")
    send(browser, "[data-post='/promise/explore']")
    browser.click("svg.frontier")
    browser.wait("document.getElementById('along') === document.activeElement")
    browser.wait("['8', '11'].includes(document.getElementById('k')?.value)")
    send(browser, "[data-set=k][data-value='5']")
    browser.wait(shows("The table can have this promise"))
    send(browser, "[data-post='/promise/preview']")
    browser.wait(shows("would be lost by a quick method"))
    browser.click(".next a")
    browser.click("#try-k")
    browser.press("3")
    send(browser, "form[data-form='/run/try'] button")
    browser.wait("document.querySelector('form[data-form=\\'/run/take\\']')")
    assert_columns_are_followed_while_a_run_goes_on(browser)
    browser.click(".next a")
    browser.wait(shows("Every column before and after"))
    send(browser, "form[data-form='/use/ask'] button.main")
    browser.wait(shows("in the original"))
    assert_columns_are_drawn(browser)
    send(browser, "[data-post='/use/compare']")
    browser.wait(shows("Who loses most"))
    send(browser, "form[data-form='/use/explain'] button")
    browser.wait(shows("Why record 1 is so wide"))
    browser.click("a[href='/attack']")
    send(browser, "[data-post='/attack/sit']")
    send(browser, "form[data-form='/attack/pick'] button")
    browser.wait("document.querySelector('.beliefs') && document.readyState === 'complete'")
    assert_the_slider_ticks_columns(browser)
    browser.click("a[href='/publish']")
    type_into(browser, "#purpose", "study")
    send(browser, "form[data-form='/publish/state'] button")
    browser.wait(
        "document.getElementById('purpose')?.value === 'study'"
        " && !document.querySelector('.working')"
    )
    send(browser, "[data-post='/publish/export']")
    browser.wait(f"{shows('copies/release.xlsx')} && !document.querySelector('.working')")
    send(browser, "[data-post='/publish/verify']")
    browser.wait(shows("Verified."))
    look_at_all(browser, root)
    assert_no_text_becomes_code(browser)
    assert_hiding_stays(browser, root)
    assert_typed_is_kept(browser, root)
    browser.click("[data-post='/quit']")
    browser.wait(shows("The studio has ended"))
    assert_nothing_left(browser, root)
    while (folder / ".studio" / "dropped").exists():  # the server ends after its answer
        time.sleep(0.05)


DROP = """
const files = new DataTransfer();
files.items.add(new File(["age,town\\n1,a\\n2,b\\n3,a\\n4,b\\n"], "dropped.csv"));
document.querySelector("[data-drop]").dispatchEvent(
  new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: files }));
"""
DRAG = """
const [one, two] = [...document.querySelectorAll(".tree label[data-node]")].slice(0, 2);
const moved = new DataTransfer();
const steps = [["dragstart", one], ["dragover", two], ["drop", two], ["dragend", one]];
for (const [name, over] of steps) {
  over.dispatchEvent(new DragEvent(name, { bubbles: true, cancelable: true, dataTransfer: moved }));
}
"""


CARRY = """
const column = document.querySelector("[data-column='1']");
const lane = document.querySelector("[data-lane='%s']");
const moved = new DataTransfer();
const steps = [["dragstart", column], ["dragover", lane], ["drop", lane], ["dragend", column]];
for (const [name, over] of steps) {
  over.dispatchEvent(new DragEvent(name, { bubbles: true, cancelable: true, dataTransfer: moved }));
}
"""


def assert_columns_are_dragged(browser: Browser) -> None:
    """A column that is dropped in another lane has its role, and figures follow."""
    ready = "document.querySelector('[data-column]') && !document.querySelector('[data-now]')"
    for role in ("insensitive", "quasi-identifying"):
        browser.wait(f"{ready} && document.readyState === 'complete'")
        browser.run(CARRY % role)
        browser.wait(f"document.querySelector(\"[data-lane='{role}'] [data-column='1']\")")
    browser.wait(f"{ready} && document.readyState === 'complete'")


def assert_breaks_are_set_on_the_line(browser: Browser) -> None:
    """A click on the line of numbers puts a break there, and another takes it away."""
    browser.wait("document.querySelector('[data-line]') && document.readyState === 'complete'")
    for line in ("!== ''", "=== ''"):
        browser.click("svg[data-line]")
        browser.wait(f"document.getElementById('option-breaks').value {line}")
        assert browser.run("document.querySelectorAll('svg[data-line] .break').length") == (
            1 if "!" in line else 0
        )


def assert_columns_are_followed_while_a_run_goes_on(browser: Browser) -> None:
    """The page shows what each column loses before the run is stopped and kept."""
    type_into(browser, "#seconds", "600")
    send(browser, "form[data-form='/run/effort'] button")
    send(browser, "form[data-form='/run/start'] button")
    names = "[...document.querySelectorAll('[data-live-columns] th')].map((it) => it.innerText)"
    browser.wait(f"{names}.join() === 'age,sex,education'")
    browser.wait("document.querySelector('[data-live-columns] rect.bar[width=\"100.0\"]')")
    browser.wait("document.querySelector('svg.curve path')?.getAttribute('d').split('L')[8]")
    photograph(browser, "run-live", 1280)
    send(browser, "[data-post='/run/stop']")
    browser.wait(shows("information lost"))


def assert_columns_are_drawn(browser: Browser) -> None:
    """One column with its bounds, then two: under the policy, which no complaint shows broken."""
    draw = "form[data-form='/use/look'] button"
    send(browser, draw)
    browser.wait("document.querySelector('[data-drawn] svg')")
    bars = "document.querySelectorAll('[data-drawn] .mark-rect path').length"
    rows = "document.querySelectorAll('#look-table tbody tr').length"
    assert browser.run(bars) == 2 * browser.run(rows) > 6  # bars, and marks of the original
    browser.hover("[data-drawn] .mark-rect path")
    browser.wait("document.querySelector('#vg-tooltip-element.visible')")
    assert "at most" in browser.run("document.getElementById('vg-tooltip-element').innerText")
    browser.run("document.querySelector('[name=second]').value = '3'")
    send(browser, draw)
    browser.wait("document.querySelector('[data-drawn] svg')")
    assert browser.run(bars) >= 2 * browser.run(rows)
    assert not [each for each in browser.complaints if "Log" in each["method"]]


def assert_the_slider_ticks_columns(browser: Browser) -> None:
    """The slider says how many columns are known, and ticks them."""
    browser.run(
        "const slider = document.getElementById('columns'); slider.value = 1;"
        "slider.dispatchEvent(new Event('input', { bubbles: true }))"
    )
    assert browser.run("document.querySelectorAll(\"[name^='known-']:checked\").length") == 1
    send(browser, "form[data-form='/attack/know'] button")
    browser.wait(shows("all records that contain what is known"))


def assert_values_are_dragged(browser: Browser) -> None:
    """A value that is dropped on another one is grouped with it, under a name that is typed."""
    send(browser, "[data-form='/values/build'] button")
    browser.wait("document.querySelector('.tree') && document.readyState === 'complete'")
    browser.run(DRAG)
    browser.wait("document.activeElement.id === 'name'")
    assert browser.run("document.querySelectorAll('.tree input:checked').length") == 2
    for letter in "few":
        browser.press(letter)
    browser.press("Enter")
    browser.wait("[...document.querySelectorAll('.tree b')].some((it) => it.innerText === 'few')")
    send(browser, "[data-post='/values/without']")
    browser.wait("!document.querySelector('.tree')")


def assert_nothing_left(browser: Browser, root: str) -> None:
    """All requests of the tour, those of its clicks included, went to the studio."""
    hosts = {urlsplit(url).netloc for url in browser.requested if url[:5] != "data:"}
    assert hosts == {urlsplit(root).netloc}
    pages = {urlsplit(url).path for url in browser.requested}
    assert {f"/{name}" for name in SCREENS} <= pages
    assert {"/run/start", "/attack/pick", "/publish/verify", "/quit"} <= pages


def look_at_all(browser: Browser, root: str) -> None:
    """Open every screen in every look: nothing complains, leaves the machine or is cut off."""
    for name in SCREENS:
        for width in HEIGHTS:
            for scheme in ("light", "dark"):
                browser.open(f"{root}/{name}", width=width, scheme=scheme)
                browser.wait(
                    f"location.pathname === '/{name}' && document.readyState === 'complete'"
                )
                if name == "use":
                    browser.wait("document.querySelector('[data-drawn] svg')")
                assert browser.complaints == []
                assert browser.run("document.documentElement.scrollWidth") <= width, (name, width)
                if (width, scheme) in ((1280, "light"), (390, "dark")):
                    assert browser.barriers() == [], (name, width)
                if (width, scheme) in ((1280, "light"), (390, "dark")):
                    photograph(browser, name, width)


def photograph(browser: Browser, name: str, width: int) -> None:
    """Take a picture for the documentation, if it is asked for."""
    if PICTURES:
        browser.run("scrollTo(0, 0)")
        whole = int(browser.run("document.documentElement.scrollHeight"))
        picture = browser.picture(min(whole, TALLEST) if width > 390 else HEIGHTS[width])
        Path(PICTURES, f"studio-{name}-{width}.png").write_bytes(picture)


def assert_no_text_becomes_code(browser: Browser) -> None:
    """Neither eval nor a script that is written into the page runs."""
    tried = (
        "(() => { const script = document.createElement('script'); script.textContent ="
        " 'window.ran = true'; document.body.append(script);"
        " try { return eval('1') } catch (error) { return error.name } })()"
    )
    found = browser.send("Runtime.evaluate", expression=tried, allowUnsafeEvalBlockedByCSP=False)
    assert found["result"]["value"] == "EvalError"
    assert browser.run("window.ran === undefined") is True


def assert_hiding_stays(browser: Browser, root: str) -> None:
    """One key hides all originals, also on the next page."""
    shown = (
        "document.querySelector('.original') &&"
        " getComputedStyle(document.querySelector('.original')).display"
    )
    browser.open(f"{root}/open", width=1280)
    browser.wait(f"document.readyState === 'complete' && {shown} === 'block'")
    browser.press("h")
    browser.wait(f"{shown} === 'none'")
    browser.open(f"{root}/columns", width=1280)
    browser.wait(f"document.readyState === 'complete' && {shown} === 'none'")
    browser.press("h")
    browser.wait(f"{shown} === 'block'")


def assert_typed_is_kept(browser: Browser, root: str) -> None:
    """A page with something typed is not loaded again by what another page does."""
    other = (
        "fetch('/columns/role', {method: 'POST', headers: {'content-type': 'application/json',"
        " 'x-mottle-seal': document.querySelector('meta[name=seal]').content},"
        " body: JSON.stringify({column: 1, role: %r})})"
    )
    shown = "!document.getElementById('outdated').hidden"
    browser.open(f"{root}/promise", width=1280)
    browser.run("window.here = true")
    browser.run(other % "insensitive")  # as another page does, which this one is told
    browser.wait("!window.here && document.readyState === 'complete'")
    browser.click("#k")
    browser.press("7")
    browser.run("window.here = true")
    browser.run(other % "quasi-identifying")
    browser.wait(shown)
    assert browser.run("window.here && document.getElementById('k').value.includes('7')") is True
    browser.click("#again")
    browser.wait("!window.here && document.getElementById('outdated').hidden")


def test_from_a_table_to_a_verified_release_by_keys_alone(browser, start, tmp_path) -> None:
    visits(tmp_path)
    browser.requested.clear()
    browser.open(start(tmp_path), width=1280)

    def enter(selector: str) -> None:
        browser.reach(selector)
        browser.press("Enter")

    def submit(selector: str) -> None:
        browser.act(address_in(selector), lambda: enter(selector))

    submit("form[data-form='/open/open'] button")
    browser.wait(shows("The first rows"))
    browser.reach("input[name=unit]")
    while browser.run("document.activeElement.value") != "visit":
        browser.press("ArrowDown")
    submit("form[data-form='/open/unit'] button")
    browser.wait(shows("k counts people, by column patient"))
    enter(".next a")
    quiet = "document.querySelector('[data-role]') && !document.querySelector('[data-now]')"
    browser.wait(f"{quiet} && document.readyState === 'complete'")
    browser.reach("[data-role='1']")
    browser.press("5")
    browser.wait("document.querySelector('[data-role=\"1\"]').value === 'insensitive'")
    assert 'role = "insensitive"' in (tmp_path / "mottle.toml").read_text()
    browser.wait(f"{quiet} && document.activeElement.dataset.role === '1'")
    browser.press("3")
    browser.wait("document.querySelector('[data-role=\"1\"]').value === 'quasi-identifying'")
    browser.wait(f"{quiet} && document.readyState === 'complete'")
    enter("a[href='/values']")
    submit("[data-form='/values/build'] button")
    browser.wait("document.querySelector('.tree')")
    submit("[data-post='/values/without']")
    browser.wait("!document.querySelector('.tree')")
    enter("a[href='/promise']")
    browser.reach("#k")
    browser.press("3")
    browser.press("Enter")
    browser.wait(shows("The table can have this promise"))
    submit("[data-post='/promise/explore']")
    browser.wait("document.getElementById('along')?.dataset.k === '3'")
    browser.reach("#along")
    browser.press("ArrowUp")
    browser.wait("document.activeElement?.id === 'along' && document.getElementById('k').value > 3")
    assert browser.run("document.getElementById('k').value") == "5"
    enter(".next a")
    submit("form[data-form='/run/start'] button")
    browser.wait(shows("information lost"))
    enter(".next a")
    browser.wait(shows("Every column before and after"))
    browser.reach("#sql")
    submit("form[data-form='/use/ask'] button.main")
    browser.wait(shows("in the original"))
    enter("a[href='/attack']")
    submit("[data-post='/attack/sit']")
    type_into(browser, "#search", "male")
    browser.press("Enter")
    browser.wait("document.querySelector('.beliefs')")
    enter("a[href='/publish']")
    submit("[data-post='/publish/verify']")
    browser.wait(shows("Verified."))
    enter("[data-post='/quit']")
    browser.wait(shows("The studio has ended"))
    visited = {urlsplit(url).path for url in browser.requested}
    assert {f"/{name}" for name in SCREENS if name != "open"} | {"/"} <= visited
