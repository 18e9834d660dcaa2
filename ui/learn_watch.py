"""One phone's days as an observer sees them: what was reported, and the belief that grows of it."""

from __future__ import annotations

from ldpcore.lesson_limits import DISTRICTS, Watch
from ui.number_words import percent
from ui.palettes import Tokens


def watch_svg(found: Watch, tokens: Tokens) -> str:
    """Return the picture that plays: the district reported each day above, the belief after it below."""
    days = found.reported.size
    width, left, pitch = 440, 72, 36
    label = "".join(
        f'<text x="{left + district * pitch + 16}" y="196" text-anchor="middle" fill="{tokens.quiet}">{district + 1}</text>'
        for district in range(DISTRICTS)
    )
    bars = "".join(
        f'<rect x="{left + district * pitch + 3}" width="26" fill="{tokens.accent}" fill-opacity="0.85" rx="2" data-seq="height='
        + ";".join(f"{max(110 * float(value), 0.6):.1f}" for value in found.beliefs[:, district])
        + "|y="
        + ";".join(f"{178 - max(110 * float(value), 0.6):.1f}" for value in found.beliefs[:, district])
        + '"/>'
        for district in range(DISTRICTS)
    )
    # Reports stack up above the bars: one dot a day in the column of the district it named.
    stacked = [0] * DISTRICTS
    dots = []
    for day, district in enumerate(found.reported.tolist()):
        x, y = left + district * pitch + 5 + stacked[district] % 4 * 7, 50 - stacked[district] // 4 * 7
        copy = day > 0 and found.beliefs[day].tolist() == found.beliefs[day - 1].tolist()
        dots.append(
            f'<circle data-from="{day}" cx="{x}" cy="{y}" r="3" '
            + (f'fill="none" stroke="{tokens.quiet}"/>' if copy else f'fill="{tokens.text}"/>')
        )
        stacked[district] += 1
    mark = left + found.home * pitch + 16
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 222" font-size="12" class="w440" '
        f'style="max-width:640px"><text x="2" y="44" fill="{tokens.quiet}">reports</text>'
        f'<text x="2" y="58" fill="{tokens.quiet}">so far</text>{"".join(dots)}'
        f'<text x="2" y="120" fill="{tokens.quiet}">belief</text>'
        f'<path d="M{left} 178H{width - 8}" stroke="{tokens.quiet}"/>'
        f'<path d="M{left} 68H{width - 8}" stroke="{tokens.grid}" stroke-dasharray="3 4"/>'
        f'<text x="{left - 6}" y="72" text-anchor="end" fill="{tokens.quiet}">1</text>{bars}{label}'
        f'<text x="2" y="196" fill="{tokens.quiet}">district</text>'
        f'<path d="M{mark} 201l6 9h-12z" fill="{tokens.text}"/>'
        f'<text x="{mark + (10 if found.home < DISTRICTS - 2 else -10)}" y="212" fill="{tokens.text}" '
        f'text-anchor="{"start" if found.home < DISTRICTS - 2 else "end"}">home</text>'
        f"<title>{days} days</title></svg>"
    )


def watch_frames(found: Watch, *, memory_days: int) -> list[str]:
    """Return the sentence of each day."""
    texts = []
    for day, district in enumerate(found.reported.tolist()):
        belief = float(found.beliefs[day, found.home])
        new = day % memory_days == 0
        best = int(found.beliefs[day].argmax())
        texts.append(
            f"Day {day + 1}: the report names district {district + 1}"
            + (", with fresh coins" if new else ", the kept answer again, which adds nothing")
            + f". The observer holds home for {percent(belief)}; likeliest is district {best + 1}"
            + (", which is right." if best == found.home else ", which is wrong.")
        )
    return texts
