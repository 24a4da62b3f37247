// Histograms of distances on a logarithmic axis, split by what use and reuse do.

const REUSE_KINDS = ["read after read", "read after write", "write after write", "write after read"];
const REUSED_BY = { "same-thread": "by the same thread", "other-thread": "by another thread", "any-thread": "by any thread" };
const LOCALITY = { temporal: "the same bytes", spatial: "other bytes of the line", any: "any bytes" };

/** What distinguishes a histogram from the others of the same threads. */
function histogramName(curve) {
  const place = curve.granularity_bytes === 1 ? "" : `, ${byteSize(curve.granularity_bytes)} places`;
  const how = curve.model ? `, ${modelName(curve)}` : "";
  return `${curve.distance} distance, ${LOCALITY[curve.kind]} ${REUSED_BY[curve.reused_by]}${place}${how}`;
}

function duration(ns) {
  return ns < 1000 ? `${Math.round(ns)} ns` : ns < 1e6 ? `${(ns / 1e3).toFixed(1)} us` : ns < 1e9 ? `${(ns / 1e6).toFixed(1)} ms` : `${(ns / 1e9).toFixed(1)} s`;
}

function histogramSection() {
  const all = reuse.curves.filter((curve) => curve.histogram.length > 0);
  if (all.length === 0) return null;
  const who = [...new Set(all.map(curveName))];
  const main = all.find((curve) => curve.distance === "stack" && curve.kind === "any" && curve.granularity_bytes === 64) ?? all[0];
  const state = { who: curveName(main), what: histogramName(main), log: false };
  const holder = el("div");
  const readout = el("div", { class: "readout", "aria-live": "polite" });
  const options = (list, chosen) => list.map((each) => el("option", { value: each, selected: each === chosen }, each));
  const whoSelect = el("select", { class: "quiet", "aria-label": "Whose reuses" }, options(who, state.who));
  const whatSelect = el("select", { class: "quiet", "aria-label": "Which distances" });

  function choices() {
    const list = all.filter((curve) => curveName(curve) === state.who).map(histogramName);
    if (!list.includes(state.what)) state.what = list[0];
    whatSelect.replaceChildren(...options(list, state.what));
  }

  function draw() {
    const curve = all.find((each) => curveName(each) === state.who && histogramName(each) === state.what);
    if (!curve) return;
    const text = (distance) => (curve.unit === "places" ? byteSize(distance * curve.granularity_bytes) : curve.unit === "ns" ? duration(distance) : compact(distance));
    const bins = curve.histogram.map((bin) => ({ ...bin, high: bin.high ?? bin.low * 2 }));
    const [low, high] = [bins[0].low, bins[bins.length - 1].high];
    const most = Math.max(...bins.map((bin) => bin.fraction));
    const least = Math.max(Math.min(...bins.map((bin) => bin.fraction)) / 2, 1e-7);
    const scale = logScale(low, high, 1);
    const y = heightScale(most, least, state.log);
    const floor = PLOT.height - PLOT.bottom;
    const bar = (bin) => {
      const [left, right] = [scale.x(bin.low), scale.x(bin.high)];
      const top = y(bin.fraction);
      // Parts of a bar by kind are parts of its height, also on a logarithmic axis.
      let from = floor;
      const known = bin.by_kind.reduce((sum, part) => sum + (part ?? 0), 0);
      const parts = known > 0 ? bin.by_kind : [bin.fraction, 0, 0, 0];
      return parts.map((part, kind) => {
        const height = ((part ?? 0) / Math.max(known || bin.fraction, 1e-12)) * (floor - top);
        from -= height;
        return height > 0 ? svg("rect", { class: `kind-${kind}`, x: left, y: from, width: Math.max(1, right - left - 1), height }) : null;
      });
    };
    const pointed = svg("rect", { class: "hit pointed", y: PLOT.top, height: floor - PLOT.top, width: 0, x: 0 });
    const point = (x) => {
      const bin = x === null ? null : bins.find((each) => scale.value(x) >= each.low && scale.value(x) < each.high);
      pointed.setAttribute("width", bin ? scale.x(bin.high) - scale.x(bin.low) : 0);
      if (bin) pointed.setAttribute("x", scale.x(bin.low));
      describe(curve, bin, text);
    };
    const marks = curve.unit === "places" ? cacheMarks(scale, low, high, (bytes) => bytes / curve.granularity_bytes) : [];
    holder.replaceChildren(plot("Histogram of distances", point, pointed, ...fractionAxis(y, most, least, state.log),
      ...powerAxis(scale, low, high, text), ...marks, ...bins.map(bar)));
    describe(curve, null, text);
  }

  function describe(curve, bin, text) {
    const term = (title, value) => el("div", {}, el("dt", {}, title), el("dd", {}, value));
    if (bin) {
      readout.replaceChildren(el("h3", {}, `${text(bin.low)} to ${text(bin.high)}${curve.unit === "accesses" ? " accesses" : ""}: ${percent(bin.fraction)} of the reuses`),
        el("dl", {}, REUSE_KINDS.map((kind, index) => bin.by_kind[index] > 0 && term(kind, percent(bin.by_kind[index])))));
      return;
    }
    readout.replaceChildren(el("h3", {}, `${curve.basis}${curve.model ? ` by ${modelName(curve)}` : ""}: ${compact(curve.accesses)} accesses, ${thousands(curve.observations)} followed`),
      el("dl", {}, term("reused", percent(curve.reused)), term("invalidated by a write", percent(curve.invalidated)), term("never reused", percent(curve.once))));
  }

  whoSelect.addEventListener("change", () => { state.who = whoSelect.value; choices(); draw(); });
  whatSelect.addEventListener("change", () => { state.what = whatSelect.value; draw(); });
  choices();
  draw();
  return el("section", { "aria-label": "Distances" },
    el("div", { class: "head" }, el("h2", {}, "Distances"), el("span", { class: "spring" }),
      el("div", { class: "controls" }, whoSelect, whatSelect,
        segments("Scale", [[false, "Linear"], [true, "Log"]], state.log, (value) => { state.log = value; draw(); })),
      el("p", {}, "Accesses, or different places, strictly between a use and its reuse. Fractions are of the reuses.")),
    el("div", { class: "card plot" }, holder,
      el("div", { class: "kinds-key" }, REUSE_KINDS.map((kind, index) => el("span", {}, svg("svg", { viewBox: "0 0 10 10" }, svg("rect", { class: `kind-${index}`, width: 10, height: 10, rx: 2 })), kind))),
      readout));
}
