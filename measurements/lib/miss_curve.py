"""Miss ratios by cache size as SVG: sizes on a logarithmic axis, the machine's caches marked under it."""

import math
from html import escape

from .svg import BOTTOM, COLOURS, GREY, HEIGHT, LEFT, RIGHT, TOP, WIDTH, text, ticks

UNITS = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")]
# Doublings of the size from one label to the next.
LABEL_EVERY = 2


def size(count):
    """`32 KiB`"""
    for unit, name in UNITS:
        if count >= unit:
            return f"{count / unit:g} {name}"
    return f"{count} B"


def plot(title, curves, caches=(), bands=None):
    """`curves`: {name: [(bytes, ratio), ...]}, `bands`: {name: [(bytes, low, high), ...]}, `caches`: [(name, bytes)]."""
    bands = bands or {}
    points = [point for curve in curves.values() for point in curve]
    low, high = (edge(math.log2(bytes_) for bytes_, _ in points) for edge in (min, max))
    tops = [ratio for _, ratio in points] + [top for band in bands.values() for _, _, top in band]
    ratios = ticks(0, max(tops) or 1)

    def at(bytes_, ratio):
        return (LEFT + (math.log2(bytes_) - low) / ((high - low) or 1) * (WIDTH - LEFT - RIGHT),
                HEIGHT - BOTTOM - ratio / ratios[-1] * (HEIGHT - TOP - BOTTOM))

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
           f'height="{HEIGHT}" font-family="sans-serif" font-size="11" role="img">',
           f"<title>{escape(title)}</title>", text(WIDTH / 2, 16, title, "middle", 13)]
    for ratio in ratios:
        level = at(2 ** low, ratio)[1]
        out.append(f'<path d="M{LEFT} {level:.1f}H{WIDTH - RIGHT}" stroke="{GREY}" stroke-opacity=".35"/>')
        out.append(text(LEFT - 6, level + 4, f"{ratio:.0%}" if ratios[1] >= 0.01 else f"{ratio:.1%}", "end"))
    for power in range(math.ceil(low), math.floor(high) + 1):
        if (power - math.ceil(low)) % LABEL_EVERY == 0:
            out.append(text(at(2 ** power, 0)[0], HEIGHT - BOTTOM + 14, size(2 ** power).replace("iB", ""), "middle", 10))
    for name, bytes_ in caches:
        if low <= math.log2(bytes_) <= high:
            left = at(bytes_, 0)[0]
            out.append(f'<path d="M{left:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="{GREY}" stroke-dasharray="3 3"/>')
            out.append(text(left, HEIGHT - BOTTOM + 27, name, "middle"))
    out.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, "cache size", "middle"))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    out.append(text(14, middle, "miss ratio", "middle", turn=f' transform="rotate(-90 14 {middle})"'))
    for index, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[index % len(COLOURS)]
        if name in bands:
            upper = [at(bytes_, top) for bytes_, _, top in bands[name]]
            lower = [at(bytes_, bottom) for bytes_, bottom, _ in reversed(bands[name])]
            out.append(f'<path d="{path(upper + lower)}Z" fill="{colour}" fill-opacity=".2"/>')
        out.append(f'<path d="{path([at(*point) for point in curve])}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        out.append(text(WIDTH - RIGHT - 8, TOP + 10 + 14 * index, name, "end", colour=colour))
    out.append("</svg>")
    return "\n".join(out) + "\n"


def path(points):
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
