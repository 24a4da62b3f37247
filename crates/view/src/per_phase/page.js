// The answer in each phase of the run.

const FINDINGS_OF_PHASE = 5;

/** What is contended in a phase, the worst first. */
function phaseFindings({ findings, lines, other_lines: few }) {
  const items = findings.slice(0, FINDINGS_OF_PHASE).map((finding) => {
    const whole = { ...finding, lines: finding.lines.map((number) => lines[number]) };
    return el("li", {}, el("b", {}, percent(finding.share_interval.estimate)), " ", el("span", { class: "muted" }, error(finding.share_interval)), " ",
      name(finding.object.name, "code"), " ", el("span", { class: finding.false > finding.true ? "is-false" : "is-true" }, whatItIs(whole)));
  });
  const more = findings.length - items.length;
  return [items.length > 0 && el("ol", {}, items), more > 0 && el("p", { class: "muted" }, `… and ${plural(more, "more finding")}.`),
    items.length === 0 && few > 0 && el("p", { class: "muted" }, `${plural(few, "line")} with too few events to judge.`)];
}

/** What the machine's caches would miss in a phase, all threads together. */
function phaseMisses({ curves, caches, not_enough: few }) {
  const curve = few === null && curves.find((each) => each.scope === "all" && each.granularity_bytes === 64 && isMissCurve(each));
  if (!curve) return [];
  const sizes = [...new Map(caches.map((cache) => [cache.bytes, cache.level]))].sort(([a], [b]) => a - b);
  const items = sizes.map(([bytes, level]) => {
    const point = pointAt(curve, bytes);
    return point && el("li", {}, el("b", {}, percent(point.ratio)), " ", point.low !== point.high && el("span", { class: "muted" }, error({ estimate: point.ratio, ...point })), ` at ${byteSize(bytes)} (L${level})`);
  });
  return [el("ul", {}, items.filter(Boolean))];
}

function perPhaseSection() {
  const heads = ["Phase", "From", "To", "Memory", "Answer"];
  const row = (answer, index) => titled(el("tr", {}, [String(index + 1), moment(answer.start_s), moment(answer.end_s),
    `${answer.slope_bytes_per_s < 0 ? "-" : "+"}${bytes(Math.abs(answer.slope_bytes_per_s))}/s`,
    [el("p", { class: "name" }, ...inlineCode(answer.verdict)), ...(answer.share ? phaseFindings(answer.share) : []), ...(answer.reuse ? phaseMisses(answer.reuse) : [])].filter(Boolean),
  ].map((content) => el("td", {}, content))), heads);
  return el("section", { "aria-label": "In each phase" },
    el("div", { class: "head" }, el("h2", {}, "In each phase"), el("p", {}, "The phases are told by how the memory of the program grows, that of carom in it included.")),
    el("div", { class: "card scroll" }, el("table", { class: "stacked" }, el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, report.per_phase.map(row)))));
}

questions.push({ name: "per-phase", title: "In each phase", sections: () => [perPhaseSection()] });
