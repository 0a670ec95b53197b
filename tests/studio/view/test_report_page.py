"""The report in a real browser, from disk: it asks no network for anything, plays, and its graphs answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from simloop.studio import scenarios
from simloop.studio.request import Request
from simloop.studio.runner import run_to_folder

from tests.studio.view.browser import Page
from tests.studio.view.conftest import OpenPage


@pytest.fixture(scope="module")
def packbot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of PackBot's first two tenths of a second."""
    folder = tmp_path_factory.mktemp("report") / "packbot"
    run_to_folder(Request(scenarios.load("packbot-fault"), duration="0.2"), folder, csv=False, command="simloop run")
    return folder / "report.html"


def test_the_report_plays_from_disk_with_no_network(open_page: OpenPage, recorded: Path) -> None:
    url = (recorded / "report.html").as_uri()
    page = open_page(url)
    page.wait("document.body.dataset.frame === '0'")
    before = page.pixels()
    page.run("document.getElementById('play').click()")
    page.wait("Number(document.body.dataset.frame) >= 30")
    assert np.abs(page.pixels().astype(int) - before).max() > 30
    assert page.run("document.querySelector('.cursor').style.left") != ""
    assert not page.errors
    # Firefox does not count the file itself.
    assert {request for request in page.requests if not request.startswith(("data:", "blob:"))} <= {url}
    page.close()


def test_scrubbing_and_graphs_share_one_time(open_page: OpenPage, recorded: Path) -> None:
    page = open_page((recorded / "report.html").as_uri())
    page.wait("document.body.dataset.frame === '0'")
    page.run("time.value = 1.0; time.dispatchEvent(new Event('input')); 0")
    assert page.run("document.body.dataset.frame") == "50"
    place = page.run(
        "(() => { const x = overTime[0]._fullLayout.xaxis;"
        " return parseFloat(overTime[0].querySelector('.cursor').style.left) - x._offset - x.l2p(1.0); })()"
    )
    assert abs(place) < 0.5, "the graphs' cursor stands where the replay does"
    page.run("Plotly.relayout(overTime[0], {'xaxis.range': [0.5, 1.5]}).then(() => 0)")
    for other in ("overTime[1]", "overTime[overTime.length - 1]"):
        page.wait(f"{other}._fullLayout.xaxis.range[0] === 0.5 && {other}._fullLayout.xaxis.range[1] === 1.5")
    page.run("document.querySelector('.chips button').click()")
    page.wait("figures[0].data.filter(t => t.meta === 0).every(t => t.visible === false)")
    page.close()


@pytest.mark.parametrize("width", [360, 820, 1280])
def test_a_page_is_no_wider_than_its_window(chromium: str, packbot: Path, width: int) -> None:
    page = Page(chromium, packbot.as_uri(), width, 900)
    page.wait("document.body.dataset.frame === '0'")
    assert page.run("innerWidth") == width
    assert page.run("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    page.close()


def test_every_graph_spans_the_run_and_does_so_again_after_a_zoom(open_page: OpenPage, tmp_path: Path) -> None:
    """Labels of markers near the end are no reason to show time after it."""
    request = Request(scenarios.load("sphere-collision"), duration="3.2")
    run_to_folder(request, tmp_path / "out", csv=False, command="simloop run")
    page = open_page((tmp_path / "out" / "report.html").as_uri())
    page.wait("document.body.dataset.frame === '0'")
    spans = "overTime.every(plot => timeAxes(plot).every(x => String(plot._fullLayout[x].range) === '{}'))"
    assert page.run("overTime.length") == 5
    page.wait(spans.format("0,3.2"))
    page.run("Plotly.relayout(overTime[0], {'xaxis.range': [0.5, 1.5]}).then(() => 0)")
    page.wait(spans.format("0.5,1.5"))
    page.run("Plotly.relayout(overTime[1], {'xaxis.autorange': true}).then(() => 0)")
    page.wait(spans.format("0,3.2"))
