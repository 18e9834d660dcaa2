"""Colours: order in lightness, distance for colour-blind eyes, contrast of text, and the scales."""

from __future__ import annotations

import itertools
import tomllib
from pathlib import Path

import numpy as np
import pytest

from ldpcore.errors import ParameterError
from ui import palettes
from ui.palettes import DARK, LIGHT, RAMPS, Ramp, Tokens, count_scale, error_scale, vsup_index

ROOT = Path(__file__).resolve().parents[2]

# Viénot, Brettel, Mollon, "Digital video colourmaps for checking the legibility of displays by
# dichromats", 1999, for red and green; Machado, Oliveira, Fernandes, "A physiologically-based model
# for simulation of color vision deficiency", 2009, severity 1, for blue. On linear RGB.
EYES = {
    "all cones": np.eye(3),
    "no red": np.array([[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]]),
    "no green": np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]]),
    "no blue": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
    "no colour": np.full((3, 3), [0.2126, 0.7152, 0.0722]),
}


def linear(rgb):
    share = np.asarray(rgb, dtype=float)[..., :3] / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def cielab(linear_rgb):
    """CIE L*a*b* (D65), written out here: the product itself uses OKLab."""
    to_xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    )
    ratio = np.clip(linear_rgb, 0, 1) @ to_xyz.T / np.array([0.95047, 1.0, 1.08883])
    f = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.stack(
        [116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], axis=-1
    )


def seen_by(eyes, rgb):
    return cielab(linear(rgb) @ EYES[eyes].T)


def distance(eyes, left, right):
    """CIE 1976 colour difference; about 2.3 is just noticeable side by side."""
    return float(np.linalg.norm(seen_by(eyes, left) - seen_by(eyes, right)))


def contrast(left: str, right: str) -> float:
    """WCAG 2 contrast ratio."""
    levels = sorted(
        float(linear(palettes.hex_to_rgb(colour)) @ [0.2126, 0.7152, 0.0722]) for colour in (left, right)
    )
    return (levels[1] + 0.05) / (levels[0] + 0.05)


THEMES = [pytest.param(LIGHT, False, id="light"), pytest.param(DARK, True, id="dark")]


@pytest.mark.parametrize(
    ("name", "dark", "first", "last"),
    [
        ("counts", False, "#F7F4DC", "#14286E"),
        ("counts", True, "#22323B", "#F5F0B8"),
        ("error", False, "#2166AC", "#B2182B"),
        ("error", True, "#5BA3E0", "#F0776B"),
    ],
)
def test_ramps_begin_and_end_with_the_colours_of_the_design(name, dark, first, last):
    table = RAMPS[name].colours(dark=dark)
    assert table.shape == (256, 4)
    assert (table[:, 3] == 255).all()
    assert np.abs(table[0, :3].astype(int) - palettes.hex_to_rgb(first)).max() <= 1
    assert np.abs(table[-1, :3].astype(int) - palettes.hex_to_rgb(last)).max() <= 1


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize(("dark", "sign"), [(False, -1), (True, 1)])
def test_counts_ramp_is_monotone_in_lightness(eyes, dark, sign):
    lightness = seen_by(eyes, RAMPS["counts"].colours(dark=dark))[:, 0]
    # Eight-bit colours may stand still for a step, or wobble by a rounding.
    assert (sign * np.diff(lightness) > -0.35).all()
    assert (sign * np.diff(lightness[::16]) > 0.5).all()


@pytest.mark.parametrize(("dark", "sign"), [(False, 1), (True, -1)])
def test_error_ramp_has_its_extreme_lightness_at_zero(dark, sign):
    lightness = seen_by("all cones", RAMPS["error"].colours(dark=dark))[:, 0]
    assert (sign * np.diff(lightness[:129:8]) > 0).all()
    assert (sign * np.diff(lightness[128::8]) < 0).all()


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("dark", [False, True])
def test_neighbouring_legend_colours_of_the_counts_can_be_told_apart(eyes, dark):
    scale = count_scale(np.random.default_rng(1).pareto(1.2, 2000) * 900)
    table = RAMPS["counts"].colours(dark=dark)
    swatches = [table[int(index)] for index in scale.index(scale.breaks)]
    assert len(swatches) == 4
    assert min(distance(eyes, a, b) for a, b in itertools.pairwise(swatches)) > 11


@pytest.mark.parametrize("eyes", ["all cones", "no red", "no green", "no blue"])
@pytest.mark.parametrize("dark", [False, True])
def test_too_low_and_too_high_can_be_told_apart(eyes, dark):
    table = RAMPS["error"].colours(dark=dark)
    for low, high in ((0, 255), (64, 192)):
        assert distance(eyes, table[low], table[high]) > 20
        assert distance(eyes, table[low], table[128]) > 10
        assert distance(eyes, table[high], table[128]) > 10


@pytest.mark.parametrize("eyes", ["all cones", "no red", "no green", "no blue"])
@pytest.mark.parametrize("dark", [False, True])
def test_neighbours_within_a_level_of_the_wedge_can_be_told_apart(eyes, dark):
    table = RAMPS["vsup"].colours(dark=dark)
    for first, bins in ((0, 8), (8, 4), (12, 2)):
        level = table[first : first + bins]
        assert min(distance(eyes, a, b) for a, b in itertools.pairwise(level)) > 4


@pytest.mark.parametrize(("theme", "dark"), THEMES)
def test_the_least_certain_level_is_one_colour(theme, dark):
    table = RAMPS["vsup"].colours(dark=dark)
    assert palettes.rgb_to_hex(table[14]) == theme.unsure
    red, green, blue = table[14, :3].astype(int)
    assert green >= red, "grey-green"
    assert max(red, green, blue) - min(red, green, blue) < 24, "nearly grey"


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_meets_the_contrast_of_wcag_aa(theme: Tokens):
    for text, ground in itertools.product((theme.text, theme.quiet), (theme.page, theme.panel)):
        assert contrast(text, ground) >= 4.5
    # Buttons and links; the chosen button of the switch has the panel's colour on the accent.
    for ground in (theme.page, theme.panel):
        assert contrast(theme.accent, ground) >= 4.5


@pytest.mark.parametrize(("theme", "dark"), THEMES)
def test_hatch_grid_and_unsure_stand_out_from_land_and_from_the_lowest_count(theme, dark):
    land = palettes.hex_to_rgb(theme.land)
    lowest = RAMPS["counts"].colours(dark=dark)[0]
    for eyes in EYES:
        assert distance(eyes, palettes.hex_to_rgb(theme.hatch), land) > 25
        # Land and the lowest count are close; the grid is what shows that there is a cell.
        assert distance(eyes, palettes.hex_to_rgb(theme.grid), land) > 13
        assert distance(eyes, palettes.hex_to_rgb(theme.grid), lowest) > 13
        assert distance(eyes, palettes.hex_to_rgb(theme.unsure), land) > 15


def test_count_scale_is_a_square_root_with_its_zero_and_its_top():
    scale = palettes.CountScale(400.0, (0.0, 100.0, 400.0))
    assert scale.index([-50.0, 0.0, 4.0, 100.0, 400.0, 1e9, np.nan]).tolist() == [0, 0, 26, 128, 255, 255, 0]


def test_count_scale_keeps_to_the_bulk_and_not_to_one_extreme_cell():
    values = np.r_[np.arange(1, 1001), 10_000_000]
    scale = count_scale(values)
    assert scale.top == 1000.0
    assert scale.breaks[0] == 0
    assert scale.breaks[-1] == 1000
    assert list(scale.breaks) == sorted(scale.breaks)


@pytest.mark.parametrize("values", [[], [0.0, 0.0], [np.nan], [-5.0, -7.0]])
def test_count_scale_survives_nothing_to_show(values):
    scale = count_scale(values)
    assert scale.top == 1.0
    assert scale.index(np.asarray(values, dtype=float)).max(initial=0) == 0


def test_error_scale_has_zero_in_the_middle_and_is_odd():
    scale = error_scale(np.linspace(-900, 900, 2001))
    assert scale.limit == 1000.0
    assert scale.index([-1e9, -1000, -500, 0, 500, 1000, 1e9, np.nan]).tolist() == [
        0,
        0,
        64,
        128,
        192,
        255,
        255,
        128,
    ]


def test_vsup_shows_fewer_values_the_less_certain_a_cell_is():
    scale = palettes.CountScale(10_000.0)
    # position on the ramp of 2,500 is one half, of 10,000 the end
    estimates = [10_000, 2_500, 100, 2_500, 2_500, 2_500, 0, -300, np.nan]
    errors = [500, 250, 10, 600, 1_250, 1_251, 100, 100, 100]
    assert vsup_index(scale, estimates, errors).tolist() == [7, 4, 0, 10, 13, 14, 14, 14, 14]


def test_a_ramp_of_another_shape_is_refused():
    with pytest.raises(ParameterError, match="256 colours"):
        Ramp(np.zeros((255, 4), np.uint8), np.zeros((256, 4), np.uint8))


@pytest.mark.parametrize(("theme", "dark"), THEMES)
def test_streamlit_wears_the_same_colours(theme, dark):
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    assert config["browser"]["gatherUsageStats"] is False
    assert config["server"]["enableStaticServing"] is True
    worn = config["theme"]["dark" if dark else "light"]
    assert worn["backgroundColor"] == theme.page
    assert worn["secondaryBackgroundColor"] == theme.panel
    assert worn["primaryColor"] == worn["linkColor"] == theme.accent
    assert worn["textColor"] == theme.text
    at = np.rint(np.linspace(0, 255, 10)).astype(int)
    assert worn["chartSequentialColors"] == [RAMPS["counts"].css(i, dark=dark) for i in at]
    assert worn["chartDivergingColors"] == [RAMPS["error"].css(i, dark=dark) for i in at]
    assert "http" not in str(config), "nothing from another host"
