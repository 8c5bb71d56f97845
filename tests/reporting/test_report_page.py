"""The report in a browser: what it says on its console, what its controls do, who can reach and read them."""

import re

import pytest

from skewridge import (
    AdaptiveKernelRidge,
    DacKernelRidge,
    DacRegressor,
    SkewRidge,
    report,
    response_train_test_split,
)
from skewridge.datasets import make_peaks
from tests import browser

X, y = make_peaks(700, 2, random_state=0)
TRAIN, TEST, Y_TRAIN, Y_TEST = response_train_test_split(X, y, test_size=0.3, random_state=0)
WIDTHS = (400, 1400)


def page_of(model, folder, **options):
    path = folder / "report.html"
    report(model.fit(TRAIN, Y_TRAIN), TEST, Y_TEST, path, y_ref=Y_TRAIN, **options)
    return path


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    return page_of(AdaptiveKernelRidge(n_centers=40, random_state=0), tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def opened(html, tmp_path_factory):
    if browser.BINARY is None:
        pytest.skip("no chromium on the PATH (apt install chromium); `make test-full` needs it")
    with browser.Page(html.as_uri(), tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture
def page(opened):
    opened.call("Page.reload")
    opened.wait("Page.loadEventFired")
    opened.prefer("light")
    opened.resize(1200, 900)
    yield opened
    assert opened.complaints == []


def pressed(page, selector):
    return page.run(f"[...document.querySelectorAll({selector!r})].map((b) => b.getAttribute('aria-pressed'))")


def click(page, selector):
    page.run(f"document.querySelector({selector!r}).click()")


def shown(page, selector):
    script = "[...document.querySelectorAll({!r})].filter((e) => getComputedStyle(e).display !== 'none').length"
    return page.run(script.format(selector))


def test_it_opens_without_a_complaint_and_asks_for_nothing(page, html):
    assert set(page.requests) == {html.as_uri()}
    assert html.stat().st_size < 3e6
    assert page.run("document.documentElement.classList.contains('script')")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_it_is_as_wide_as_the_screen(page, width, theme):
    page.prefer(theme)
    page.resize(width, 800)
    assert page.run("document.documentElement.scrollWidth") == width
    assert page.run("[...document.querySelectorAll('.plot')].every((p) => p.clientWidth > innerWidth * 0.3)")


def test_the_theme_follows_the_system_and_the_button(page):
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.run(colour)
    page.prefer("dark")
    dark = page.run(colour)
    assert dark != light
    assert pressed(page, "#theme") == ["true"]
    click(page, "#theme")
    assert page.run(colour) == light
    assert pressed(page, "#theme") == ["false"]
    page.prefer("light")
    click(page, "#theme")
    assert page.run(colour) == dark


def test_slices_are_shown_and_hidden_everywhere(page):
    total = shown(page, "#chart-points .point")
    rare = shown(page, "#chart-points .point.rare")
    assert 0 < rare < total
    assert pressed(page, "[data-show]") == ["true", "false", "false"]
    said = page.run("document.getElementById('shown').textContent")
    assert said.startswith(f"{len(TEST)} rows, MSE ")
    assert said.endswith("100% of all squared error")

    click(page, "[data-show=rare]")
    assert pressed(page, "[data-show]") == ["false", "false", "true"]
    assert shown(page, "#chart-points .point.rare") == rare
    assert shown(page, "#chart-points .point:not(.rare)") == 0
    assert shown(page, "#chart-response .bar[data-slice]:not(.rare)") == 0
    assert shown(page, "#chart-errors .dot[data-slice]:not(.rare)") == 0
    assert set(pressed(page, "tr.rare [data-toggle]")) == {"true"}
    assert set(pressed(page, "tr:not(.rare) [data-toggle]")) == {"false"}

    click(page, "[data-show=common]")
    assert shown(page, "#chart-points .point.rare") == 0
    click(page, "[data-show=all]")
    assert shown(page, "#chart-points .point") == total


def test_the_error_of_the_slices_shown_is_theirs(page):
    click(page, "[data-show=rare]")
    said = page.run("document.getElementById('shown').textContent")
    rows = page.run(
        "[...document.querySelectorAll('#errors tr.rare')].map((r) => [...r.cells].map((c) => +c.dataset.value))"
    )
    n, squares = sum(row[5] for row in rows), sum(row[5] * row[1] for row in rows)
    told = re.match(r"(\d+) rows, MSE ([\d.]+)(?:×10⁻(\d))?", said)
    assert int(told[1]) == n
    assert float(told[2]) == pytest.approx(squares / n, rel=0.01)


def test_one_slice_is_hidden_by_its_own_button(page):
    button = "#errors tr[data-slice]:nth-child(4) [data-toggle]"
    slice_id = page.run(f"document.querySelector({button!r}).dataset.toggle")
    part = f"#chart-response [data-view=log] .bar[data-slice='{slice_id}']"
    click(page, button)
    assert pressed(page, button) == ["false"]
    assert pressed(page, "[data-show]") == ["false"] * 3
    assert shown(page, part) == 0
    assert shown(page, "#errors tr[data-slice]:nth-child(4)") == 1  # or it could not be shown again
    click(page, button)
    assert shown(page, part) == 1
    assert pressed(page, "[data-show]") == ["true", "false", "false"]


@pytest.mark.parametrize("chart", ["response", "errors"])
def test_scales_are_exchanged(page, chart):
    parts = [f"#chart-{chart} svg [data-view={name}]" for name in ("log", "linear")]
    assert [shown(page, part) for part in parts] == [1, 0]
    click(page, f"#chart-{chart} [data-pick=linear]")
    assert [shown(page, part) for part in parts] == [0, 1]
    assert pressed(page, f"#chart-{chart} [data-pick]") == ["false", "true"]


def test_values_are_read_by_mouse_and_by_keys(page):
    tip = "document.querySelector('#chart-response .tip')"
    page.run("document.querySelector('#chart-response .plot').scrollIntoView({block: 'center', behavior: 'instant'})")
    x, y, width = page.run(
        "(({x, y, width}) => [x, y, width])(document.querySelector('#chart-response .plot').getBoundingClientRect())"
    )
    assert page.run(f"{tip}.hidden")
    page.point(x + 1, y + 20)
    first = page.run(f"{tip}.textContent")
    assert re.search(r" rows? \(.*%\)", first)
    page.point(x + width - 2, y + 20)
    last = page.run(f"{tip}.textContent")
    assert last != first
    page.point(x + 1, y - 200)
    assert page.run(f"{tip}.hidden")

    page.run("document.querySelector('#chart-response .plot').focus()")
    page.press("Home")
    assert page.run(f"{tip}.textContent") == first
    page.press("ArrowRight")
    assert page.run(f"{tip}.textContent") not in (first, last)
    page.press("ArrowLeft")
    page.press("ArrowLeft")  # there is nothing before the first
    assert page.run(f"{tip}.textContent") == first
    page.press("End")
    assert page.run(f"{tip}.textContent") == last
    page.press("Escape")
    assert page.run(f"{tip}.hidden")


def test_hidden_slices_are_not_pointed_at(page):
    click(page, "[data-show=rare]")
    page.run("document.querySelector('#chart-errors .plot').focus()")
    rare = page.run(
        "JSON.parse(document.getElementById('live').textContent).slices.filter((s) => s.rare && s.rows).length"
    )
    said = set()
    page.press("Home")
    for _ in range(rare + 2):
        said.add(page.run("document.querySelector('#chart-errors .tip').textContent"))
        page.press("ArrowRight")
    assert len(said) == rare


def test_tables_are_sorted_by_what_cells_are_worth(page):
    column = "[...document.querySelectorAll('#errors tbody tr')].map((r) => r.cells[{}].dataset.value)"
    head = "#errors thead th:nth-child({}) button"
    for at in (2, 6):  # the mean squared error, nothing where there are no rows; rows
        click(page, head.format(at))
        values = [float(v) for v in page.run(column.format(at - 1)) if v]
        assert values == sorted(values)
        assert page.run(f"document.querySelector('#errors thead th:nth-child({at})').ariaSort") == "ascending"
        click(page, head.format(at))
        values = [float(v) for v in page.run(column.format(at - 1)) if v]
        assert values == sorted(values, reverse=True)
    assert page.run("document.querySelectorAll('#errors [aria-sort]').length") == 1


def test_the_keyboard_reaches_every_control_and_shows_where_it_is(page):
    page.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    wanted = page.run(
        "[...document.querySelectorAll('a[href], button, summary, [tabindex=\"0\"]')]"
        ".map((e, i) => { e.dataset.at = i; return i; }).length"
    )
    reached, outlines = set(), set()
    for _ in range(wanted + 2):
        page.press("Tab")
        at, style = page.run(
            "(() => { const e = document.activeElement; const s = getComputedStyle(e);"
            " return [e.dataset.at ?? null, `${s.outlineStyle} ${s.outlineWidth}`]; })()"
        )
        if at is not None:
            reached.add(int(at))
            outlines.add(style)
    assert reached == set(range(wanted))
    assert outlines == {"solid 3px"}


def test_keys_press_buttons(page):
    page.run("document.querySelector('[data-show=rare]').focus()")
    page.press("Enter")
    assert pressed(page, "[data-show=rare]") == ["true"]


def test_every_control_has_a_name_and_every_image_is_hidden_or_named(page):
    nameless = page.run(
        "[...document.querySelectorAll('a, button, summary, [role=group], [role=region], .plot')]"
        ".filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim())).length"
    )
    assert nameless == 0
    assert page.run("[...document.querySelectorAll('svg')].every((s) => s.closest('[aria-hidden=true]'))")


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def palettes(page):
    rules = re.findall(r":root[^{]*\{ color-scheme: (\w+);([^}]*)\}", page)
    return [(name, dict(re.findall(r"--([\w-]+): (#\w{6});", body))) for name, body in rules]


def test_contrast_is_that_of_the_black_and_white_of_wcag():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


TEXT = [(ink, paper) for ink in ("text", "muted", "accent", "rare", "common") for paper in ("page", "card")]
PAIRS = {
    4.5: [*TEXT, ("on-accent", "accent"), ("text", "band"), ("card", "text"), ("muted", "band")],
    3.0: [("control", "card"), ("common", "card"), ("common", "band"), ("rare", "band"), ("focus", "card")]
    + [("focus", "page"), ("focus", "band"), ("control", "band"), ("text", "band"), ("accent", "card")],
}


def test_contrasts_pass_wcag_aa_in_both_themes(html):
    found = palettes(html.read_text(encoding="utf-8"))
    assert [name for name, _ in found] == ["light", "dark", "dark"]
    assert found[1] == found[2]
    for name, colours in found:
        for least, pairs in PAIRS.items():
            for ink, paper in pairs:
                assert contrast(colours[ink], colours[paper]) >= least, (name, ink, paper)


def test_no_colour_is_used_that_is_not_in_the_palettes(html):
    style = re.search(r"<style>(.*?)</style>", html.read_text(encoding="utf-8"), re.DOTALL)[1]
    rules = re.sub(r":root[^{]*\{[^}]*\}", "", style)
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b(?=[^{]*\})|rgba?\(|hsla?\(|opacity", rules)


@pytest.mark.full
@pytest.mark.parametrize(
    "model",
    [
        DacKernelRidge(n_nodes=5, random_state=0),
        DacKernelRidge(n_nodes=3, slices=1, bandwidth=0.2, penalty=1e-4),
        DacRegressor(AdaptiveKernelRidge(n_centers=20), n_nodes=3, random_state=0),
        AdaptiveKernelRidge(random_state=0),
        SkewRidge("laplacian", random_state=0),
    ],
)
def test_every_model_opens_in_both_themes_and_widths(model, tmp_path):
    assert browser.BINARY, "the full run needs chromium on the PATH (apt install chromium)"
    path = page_of(model, tmp_path)
    with browser.Page(path.as_uri(), tmp_path / "profile") as page:
        for theme in ("light", "dark"):
            page.prefer(theme)
            for width in WIDTHS:
                page.resize(width, 800)
                assert page.run("document.documentElement.scrollWidth") == width
                picture = tmp_path / f"{theme}-{width}.png"
                page.screenshot(picture)
                assert picture.stat().st_size > 20_000
        assert page.complaints == []
        assert set(page.requests) == {path.as_uri()}
