// What a larger run will take: the run time over the size, with the interval, and what it is made of.

function predictionSection({ parameter, at, time_s: time, points, curve, indicators, constant_s: constant, held_out: heldOut }) {
  const told = time && lawPlot({ name: "time", unit: "s", parameter, points, curve, formula: `the sum of what explains it; up to ${parameter} ${at}` });
  const range = ({ estimate, low, high }, unit) => [quantity(estimate, unit), `${quantity(low, unit)} to ${quantity(high, unit)}`];
  const cost = (each) => (each.cost_s !== null ? `${+(each.cost_s * 1e9).toPrecision(3)} ns` : each.like !== null ? `as ${each.like.replaceAll("-", " ")}` : "explains nothing more");
  const table = (heads, rows) => el("div", { class: "card scroll" }, el("table", { class: "stacked" },
    el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", {}, rows.map((row) => titled(el("tr", {}, row.map((content) => el("td", {}, content))), heads)))));
  const made = [
    ...(time ? [["time", ...range(time, "s"), "", ""]] : []),
    ...indicators.map((each) => [each.name.replaceAll("-", " "), ...range(each.there, each.unit), each.formula, cost(each)]),
    ["always", quantity(constant, "s"), "", "", ""],
  ];
  const tests = heldOut.map((each) => [each.known_to, each.size, quantity(each.predicted_s, "s"), quantity(each.measured_s, "s"),
    `${((each.predicted_s / each.measured_s - 1) * 100).toFixed(1)}%`].map(String));
  return el("section", { "aria-label": "Prediction" },
    el("div", { class: "head" }, el("h2", {}, `At ${parameter} = ${at}`)), told,
    table(["Event", "Value", "95% interval", "Law", "Cost of one"], made),
    tests.length > 0 && unfolding("The larger sizes, predicted from the smaller ones", () => table(["Known up to", parameter, "Predicted", "Measured", "Off by"], tests)));
}
