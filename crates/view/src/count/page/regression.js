// How counts follow a parameter: the law of a chosen event, with its runs and the interval of a further one.

const quantity = (value, unit) => (unit === "s" ? `${+(value * 1e3).toPrecision(3)} ms` : unit === "bytes" ? byteSize(Math.max(0, value)) : compact(value));

/** The plot of one law. */
function lawPlot({ name: what, unit, parameter, points, curve, formula }) {
  const [xs, ys] = [points.map(([x]) => x), [...points.map(([, y]) => y), ...curve.flatMap(({ low, high }) => [low, high])]];
  const [left, right] = [Math.min(...xs), Math.max(...xs)];
  const most = Math.max(...ys, 1e-12);
  const x = (value) => PLOT.left + 30 + ((PLOT.width - PLOT.left - PLOT.right - 30) * (value - left)) / (right - left || 1);
  const y = heightScale(most, 0, false);
  const line = (pick) => curve.map((point) => `${x(point.at)},${y(Math.max(0, pick(point)))}`);
  const axis = roundTicks(most).map((tick) => [
    svg("line", { class: "grid", x1: PLOT.left + 30, x2: PLOT.width - PLOT.right, y1: y(tick), y2: y(tick) }),
    svg("text", { x: PLOT.left + 22, y: y(tick) + 4, "text-anchor": "end" }, quantity(tick, unit)),
  ]);
  const marks = [...new Set(xs)].map((value) => svg("text", { x: x(value), y: PLOT.height - PLOT.bottom + 19, "text-anchor": "middle" }, String(value)));
  const band = [...line((point) => point.high), ...line((point) => point.low).reverse()].join(" ");
  return el("figure", { class: "card plot" },
    svg("svg", { class: "chart kind-0", viewBox: `0 0 ${PLOT.width} ${PLOT.height}`, role: "img", "aria-label": `${what} by ${parameter}`, style: "--series: currentColor" },
      ...axis.flat(), ...marks, svg("polygon", { class: "band", points: band }), svg("polyline", { class: "curve", points: line((point) => point.estimate).join(" ") }),
      ...points.map(([at, value]) => svg("circle", { class: "dot", cx: x(at), cy: y(value), r: 4 }, svg("title", {}, `${parameter} ${at}: ${quantity(value, unit)}`)))),
    el("figcaption", { class: "muted" }, `${eventLabel(what)} = ${formula}; band: where a further run would lie in 95% of cases`));
}

function regressionSection({ parameters, laws }) {
  const drawn = laws.filter((law) => law.curve.length > 0);
  const holder = el("div", {});
  const show = (index) => holder.replaceChildren(lawPlot(drawn[index]));
  const choice = el("select", { class: "quiet", "aria-label": "Event" }, drawn.map((law, index) => el("option", { value: index },
    `${eventLabel(law.name)} by ${law.parameter}${law.depends ? "" : " (does not follow)"}`)));
  choice.addEventListener("change", () => show(Number(choice.value)));
  if (drawn.length > 0) show(0);
  const heads = ["Event", "By", "At first", "At last", "Law", "R²", "p"];
  const row = (law) => titled(el("tr", {}, [eventLabel(law.name), law.parameter, quantity(law.first, law.unit), quantity(law.last, law.unit),
    law.depends ? law.formula : "does not follow", law.r_squared === null ? "" : law.r_squared.toFixed(3), law.p_adjusted < 0.001 ? "<0.001" : law.p_adjusted.toFixed(3)]
    .map((content) => el("td", {}, content))), heads);
  return el("section", { "aria-label": "Laws" },
    el("div", { class: "head" }, el("h2", {}, `By ${parameters.map(({ name: what }) => what).join(", ")}`), drawn.length > 1 && choice), holder,
    el("div", { class: "card scroll" }, el("table", { class: "stacked" },
      el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, laws.map(row)))));
}
