"""How every graph of a report looks: its colours, its layout, and as few points as look the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Okabe and Ito's palette, told apart by the colour-blind too, without its yellow, which is faint on white.
BLUE, RED, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#6b7280"
PALETTE = (BLUE, RED, GREEN, "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def joint_colour(place: int) -> str:
    """The colour of a joint, by its number from 0, wherever it is shown; past the palette it begins again, darker."""
    colour = PALETTE[place % len(PALETTE)]
    shade = 0.6 ** (place // len(PALETTE))
    return "#" + "".join(f"{round(shade * int(colour[i : i + 2], 16)):02x}" for i in (1, 3, 5))


def layout(title: str, height: int = 330) -> dict[str, Any]:
    """For Plotly; the height in pixels."""
    return {
        "title": {"text": title, "font": {"size": 15}, "y": 1.0, "yanchor": "top", "pad": {"t": 12}},
        "template": "plotly_white",
        "height": height,
        "margin": {"l": 70, "r": 15, "t": 70, "b": 45},
        "legend": {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0.0},
    }


def time_axis(*ends: float) -> dict[str, Any]:
    """For Plotly: from the first to the last of these instants, s, whatever is written beside the curves, and again
    after a zoom."""
    first, last = min(ends), max(ends)
    whole = {"autorangeoptions": {"minallowed": first, "maxallowed": last}} if first < last else {}
    return {"title": {"text": "time / s"}, **whole}


def in_words(seconds: float) -> str:
    """A duration to three digits, in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{1e6 * seconds:.3g} µs"


def thin(
    x: NDArray[np.float64], y: NDArray[np.float64], stretches: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Enough points to look the same: of a long curve, the least and the greatest of each of many short stretches."""
    if len(x) <= 2 * stretches:
        return x, y
    size = len(x) // stretches + 1
    kept = {0, len(x) - 1}
    for start in range(0, len(x), size):
        stretch = y[start : start + size]
        kept |= {start + int(stretch.argmin()), start + int(stretch.argmax())}
    places = np.array(sorted(kept))
    return x[places], y[places]
