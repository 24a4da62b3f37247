"""Line plots as SVG, by hand: no dependency, readable on a light and on a dark page."""

import math
from html import escape

WIDTH, HEIGHT = 480, 320
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 34, 46
# Okabe and Ito's palette, told apart with any colour vision, where it has contrast on black and on white.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a07800", "#56b4e9"]
GREY = "#808080"
STEPS = (1, 2, 2.5, 5, 10)


def ticks(low, high, wanted=5):
    """Round numbers from `low` to at least `high`."""
    span = (high - low) or 1
    power = 10 ** math.floor(math.log10(span / wanted))
    step = next(power * step for step in STEPS if span / (power * step) <= wanted)
    return [round(low + step * index, 12) for index in range(math.ceil((high - low) / step - 1e-9) + 1)]


def plot(title, x_label, y_label, series, dots=True):
    """A plot as text. `series`: {name: [(x, y), ...]}; lines through the points, y from 0. `dots`: whether each point is marked."""
    points = [point for line in series.values() for point in line]
    xs = ticks(0, max(x for x, _ in points))
    ys = ticks(0, max(y for _, y in points) or 1)

    def at(x, y):
        return (LEFT + (x - xs[0]) / (xs[-1] - xs[0]) * (WIDTH - LEFT - RIGHT),
                HEIGHT - BOTTOM - (y - ys[0]) / (ys[-1] - ys[0]) * (HEIGHT - TOP - BOTTOM))

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
           f'height="{HEIGHT}" font-family="sans-serif" font-size="11" role="img">',
           f"<title>{escape(title)}</title>", text(WIDTH / 2, 16, title, "middle", 13)]
    for y in ys:
        left, level = at(xs[0], y)
        out.append(f'<path d="M{left:.1f} {level:.1f}H{WIDTH - RIGHT}" stroke="{GREY}" stroke-opacity=".35"/>')
        out.append(text(left - 6, level + 4, f"{y:g}", "end"))
    for x in xs:
        out.append(text(at(x, 0)[0], HEIGHT - BOTTOM + 16, f"{x:g}", "middle"))
    out.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x_label, "middle"))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    out.append(text(14, middle, y_label, "middle", turn=f' transform="rotate(-90 14 {middle})"'))
    for index, (name, line) in enumerate(series.items()):
        colour = COLOURS[index % len(COLOURS)]
        path_data = "M" + "L".join("{:.1f} {:.1f}".format(*at(*point)) for point in line)
        out.append(f'<path d="{path_data}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        out += [] if not dots else ['<circle cx="{:.1f}" cy="{:.1f}" r="2.6" fill="{}"/>'.format(*at(*point), colour) for point in line]
        out.append(text(LEFT + 10, TOP + 10 + 14 * index, name, "start", colour=colour))
    out.append("</svg>")
    return "\n".join(out) + "\n"


def text(x, y, words, anchor, size=11, colour=GREY, turn=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}"{turn}>'
            f"{escape(words)}</text>")
