// Plots in SVG: scales, axes, and what the pointer is at.

// A narrow screen would make letters of a wide plot too small to read.
const PLOT = { width: innerWidth < 640 ? 400 : 900, height: 320, left: 52, right: 14, top: 26, bottom: 34 };

/** Round numbers from 0 to `most`: steps of 1, 2 or 5 times a power of ten, at most five of them. */
function roundTicks(most) {
  const decade = 10 ** Math.floor(Math.log10(most / 5));
  const step = [1, 2, 5, 10].map((factor) => factor * decade).find((each) => most / each < 5.001);
  return Array.from({ length: Math.floor((most / step) * 1.0001) + 1 }, (_, index) => index * step);
}

/** Maps log2 of `low` to `high` onto the plot's width; distances begin at 0, so one is added where asked. */
function logScale(low, high, plus = 0) {
  const [from, to] = [Math.log2(low + plus), Math.log2(high + plus)];
  const inner = PLOT.width - PLOT.left - PLOT.right;
  return {
    x: (value) => PLOT.left + (inner * (Math.log2(value + plus) - from)) / Math.max(to - from, 1e-9),
    value: (x) => 2 ** (from + ((to - from) * (x - PLOT.left)) / inner) - plus,
  };
}

/** Maps 0 (or the least, on a logarithmic axis) to `most` onto the plot's height. */
function heightScale(most, least, isLog) {
  const inner = PLOT.height - PLOT.top - PLOT.bottom;
  const part = isLog ? (value) => Math.log(Math.max(value, least) / least) / Math.log(most / least || 2) : (value) => value / most;
  return (value) => PLOT.top + inner * (1 - Math.max(0, Math.min(1, part(value))));
}

/** Lines and labels of fractions. */
function fractionAxis(y, most, least, isLog) {
  const ticks = isLog
    ? Array.from({ length: 8 }, (_, index) => 10 ** -index).filter((tick) => tick <= most * 1.001 && tick >= least * 0.999)
    : roundTicks(most);
  return ticks.map((tick) => [
    svg("line", { class: "grid", x1: PLOT.left, x2: PLOT.width - PLOT.right, y1: y(tick), y2: y(tick) }),
    svg("text", { x: PLOT.left - 8, y: y(tick) + 4, "text-anchor": "end" }, percent(tick)),
  ]);
}

/** Labels at powers of two, as many as there is room for. */
function powerAxis(scale, low, high, text) {
  const count = Math.floor(PLOT.width / 100);
  const [from, to] = [Math.ceil(Math.log2(Math.max(low, 1))), Math.floor(Math.log2(Math.max(high, 1)))];
  const step = Math.max(1, Math.ceil((to - from) / count));
  const powers = [];
  for (let power = from; power <= to; power += step) powers.push(2 ** power);
  return powers.map((value) => [
    svg("line", { class: "grid", x1: scale.x(value), x2: scale.x(value), y1: PLOT.height - PLOT.bottom, y2: PLOT.height - PLOT.bottom + 5 }),
    svg("text", { x: scale.x(value), y: PLOT.height - PLOT.bottom + 19, "text-anchor": "middle" }, text(value)),
  ]);
}

/** The machine's caches as upright lines. */
function cacheMarks(scale, low, high, toValue) {
  return reuse.caches.map((cache) => ({ cache, value: toValue(cache.bytes) })).filter(({ value }) => value >= low && value <= high).map(({ cache, value }, index) => [
    svg("line", { class: "cache", x1: scale.x(value), x2: scale.x(value), y1: PLOT.top, y2: PLOT.height - PLOT.bottom }),
    svg("text", { class: "cache-name", x: scale.x(value), y: PLOT.top - 8, "text-anchor": "middle" }, `L${cache.level}`,
      svg("title", {}, `${byteSize(cache.bytes)}, ${cache.shared ? "shared" : "private"}`)),
  ]);
}

/** A plot that calls `point` with the x coordinate under the pointer, and with null when it leaves. */
function plot(label, point, ...children) {
  const picture = svg("svg", { class: "chart", viewBox: `0 0 ${PLOT.width} ${PLOT.height}`, role: "img", "aria-label": label }, ...children);
  const at = (event) => {
    const box = picture.getBoundingClientRect();
    return ((event.clientX - box.left) * PLOT.width) / box.width;
  };
  picture.addEventListener("pointermove", (event) => point(Math.max(PLOT.left, Math.min(PLOT.width - PLOT.right, at(event)))));
  picture.addEventListener("pointerleave", () => point(null));
  return picture;
}
