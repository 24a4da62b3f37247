// Miss-ratio curves: threads and shared caches to choose, the machine's caches, a band where not all was followed.

const SERIES_HUES = [250, 40, 150, 320, 90, 200, 0, 280];
const SERIES_AT_FIRST = 4;

const curveName = (curve) =>
  curve.scope === "thread" ? threadName(curve.thread) : curve.scope === "all" ? "all threads" : sharedCacheName(curve.domain);

/** The cache in which threads meet, by its number where there are several. */
function sharedCacheName(domain) {
  const level = Math.max(0, ...reuse.caches.filter((cache) => cache.shared).map((cache) => cache.level));
  const cache = level > 0 ? `L${level}` : "shared cache";
  const several = reuse.curves.some((curve) => curve.domain !== null && curve.domain !== domain);
  return several ? `${cache} #${domain}, its threads together` : `${cache}, all threads together`;
}

const modelName = (curve) => ({ statstack: "StatStack", footprint: "Footprint" })[curve.model] ?? (curve.basis === "exact" ? "Exact" : "Sampled");
const isMissCurve = (curve) => curve.kind === "any" && curve.miss_ratio.length > 1 && curve.reused_by !== "other-thread";

/** The point at the largest size that is not above this one. */
function pointAt(curve, bytes) {
  let found = null;
  for (const point of curve.miss_ratio) if (point.bytes <= bytes * 1.0001) found = point;
  return found;
}

function curvesSection() {
  const all = reuse.curves.filter(isMissCurve);
  if (all.length === 0) return null;
  const how = [...new Set(all.map(modelName))];
  const places = [...new Set(all.map((curve) => curve.granularity_bytes))].sort((a, b) => a - b);
  const state = { how: how.includes("Exact") ? "Exact" : how[0], places: places.includes(64) ? 64 : places[0], log: false, at: null };
  const series = [...new Set(all.map(curveName))].map((text, index) => ({ text, shown: index < SERIES_AT_FIRST, hue: SERIES_HUES[index % SERIES_HUES.length] }));
  const colour = (each) => `--series: light-dark(oklch(.52 .15 ${each.hue}), oklch(.78 .13 ${each.hue}))`;
  const holder = el("div");
  const readout = el("div", { class: "readout", "aria-live": "polite" });
  const key = el("ul", { class: "series-key" });

  const shown = () => series.filter((each) => each.shown).flatMap((each) => {
    const curve = all.find((curve) => curveName(curve) === each.text && modelName(curve) === state.how && curve.granularity_bytes === state.places);
    return curve ? [{ ...each, curve }] : [];
  });

  function draw() {
    const list = shown();
    const points = list.flatMap(({ curve }) => curve.miss_ratio);
    if (points.length === 0) { holder.replaceChildren(el("p", { class: "empty" }, "Choose a thread.")); return; }
    const [low, high] = [Math.min(...points.map((p) => p.bytes)), Math.max(...points.map((p) => p.bytes))];
    const positive = points.map((p) => p.ratio).filter((ratio) => ratio > 0);
    const most = Math.max(...points.map((p) => p.high ?? p.ratio ?? 0), 1e-4);
    const least = Math.max(Math.min(...positive, most) / 2, 1e-7);
    const scale = logScale(low, high);
    const y = heightScale(most, least, state.log);
    const line = (curve, value) => curve.miss_ratio.map((p, index) => `${index === 0 ? "M" : "L"}${scale.x(p.bytes).toFixed(1)} ${y(value(p)).toFixed(1)}`).join(" ");
    const band = (curve) => `${line(curve, (p) => p.high)} ${[...curve.miss_ratio].reverse().map((p) => `L${scale.x(p.bytes).toFixed(1)} ${y(p.low).toFixed(1)}`).join(" ")} Z`;
    const marks = svg("g");
    const mark = (x) => {
      state.at = x;
      marks.replaceChildren(...(x === null ? [] : [svg("line", { class: "at", x1: x, x2: x, y1: PLOT.top, y2: PLOT.height - PLOT.bottom }),
        ...list.map((each) => svg("circle", { class: "dot", style: colour(each), cx: x, cy: y(pointAt(each.curve, scale.value(x))?.ratio ?? 0), r: 4 }))]));
      describe(list, x === null ? reuse.cache_bytes : scale.value(x));
    };
    holder.replaceChildren(plot("Miss ratio by cache size", mark,
      ...fractionAxis(y, most, least, state.log), ...powerAxis(scale, low, high, byteSize), ...cacheMarks(scale, low, high, (bytes) => bytes),
      ...list.filter(({ curve }) => curve.basis !== "exact").map((each) => svg("path", { class: "band", style: colour(each), d: band(each.curve) })),
      ...list.map((each) => svg("path", { class: "curve", style: colour(each), d: line(each.curve, (p) => p.ratio) })), marks));
    mark(state.at);
  }

  function describe(list, bytes) {
    const term = ({ text, curve }) => {
      const point = pointAt(curve, bytes);
      const width = point && point.low !== point.high ? ` (${percent(point.low)} to ${percent(point.high)})` : "";
      return el("div", {}, name(text, "dt"), el("dd", {}, point ? `${percent(point.ratio)}${width}` : "?"));
    };
    readout.replaceChildren(el("h3", {}, `Misses of a cache of ${byteSize(bytes)}`), el("dl", {}, list.map(term)));
  }

  series.forEach((each) => {
    const button = el("button", { type: "button", "aria-pressed": String(each.shown) }, name(each.text));
    button.style.cssText = colour(each);
    button.addEventListener("click", () => { each.shown = !each.shown; button.setAttribute("aria-pressed", String(each.shown)); draw(); });
    key.append(el("li", {}, button));
  });
  const change = (what) => (value) => { state[what] = value; draw(); };
  draw();
  return el("section", { "aria-label": "Misses by cache size" },
    el("div", { class: "head" }, el("h2", {}, "Misses by cache size"), el("span", { class: "spring" }),
      el("div", { class: "controls" },
        how.length > 1 && segments("How stack distances came about", how.map((each) => [each, each]), state.how, change("how")),
        places.length > 1 && segments("Bytes of a place", places.map((each) => [each, byteSize(each)]), state.places, change("places")),
        segments("Scale", [[false, "Linear"], [true, "Log"]], state.log, change("log"))),
      el("p", {}, "Fully associative caches that replace the least recently used line. Threads each have a cache of their own; a shared cache holds what its threads access together. ",
        all.some((curve) => curve.basis === "modelled") ? "Modelled from a sample; bands hold 95%." : all.some((curve) => curve.basis === "sampled") ? "From a sample of the places; bands hold 95%." : "Exact: every access was followed.")),
    el("div", { class: "card plot" }, holder, key, readout));
}
