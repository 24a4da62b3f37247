// Memory over time, the phases coloured.

const bytes = (value) => byteSize(Math.max(0, value));

/** Times below a second in milliseconds: phases may be short. */
const moment = (value) => (value > 0 && value < 1 ? `${(value * 1e3).toFixed(1)} ms` : seconds(value));

function phasesSection() {
  const { memory, phases, trace } = report.phases;
  const value = (point) => (memory === "resident" ? point.resident : point.reserved);
  const length = Math.max(...trace.map((point) => point.at_s), 1e-9);
  const most = Math.max(...trace.map(value), 1);
  const left = PLOT.left + 30;
  const x = (at) => left + ((PLOT.width - left - PLOT.right) * at) / length;
  const y = heightScale(most, 0, false);
  const axis = [0.25, 0.5, 0.75, 1].map((part) => [
    svg("line", { class: "grid", x1: left, x2: PLOT.width - PLOT.right, y1: y(part * most), y2: y(part * most) }),
    svg("text", { x: left - 8, y: y(part * most) + 4, "text-anchor": "end" }, bytes(part * most)),
  ]);
  const times = [0, 0.25, 0.5, 0.75, 1].map((part) => svg("text", { x: x(part * length), y: PLOT.height - PLOT.bottom + 19, "text-anchor": "middle" }, moment(part * length)));
  const told = (phase, index) => `phase ${index + 1}: ${moment(phase.end_s - phase.start_s)}, from ${bytes(phase.first_bytes)} to ${bytes(phase.last_bytes)}, ${phase.slope_bytes_per_s < 0 ? "-" : "+"}${bytes(Math.abs(phase.slope_bytes_per_s))}/s`;
  const parts = phases.map((phase, index) => {
    const inside = trace.filter((point) => point.at_s >= phase.start_s && point.at_s <= phase.end_s);
    const area = [`${x(phase.start_s)},${y(0)}`, ...inside.map((point) => `${x(point.at_s)},${y(value(point))}`), `${x(phase.end_s)},${y(0)}`];
    return svg("g", { class: `kind-${index % 4}` }, svg("polygon", { points: area.join(" "), opacity: 0.55 }, svg("title", {}, told(phase, index))),
      svg("line", { x1: x(phase.start_s), y1: y(Math.max(0, phase.first_bytes)), x2: x(phase.end_s), y2: y(Math.max(0, phase.last_bytes)), stroke: "currentColor", "stroke-dasharray": "5 3" }),
      svg("text", { x: (x(phase.start_s) + x(phase.end_s)) / 2, y: PLOT.top - 8, "text-anchor": "middle" }, String(index + 1)));
  });
  const heads = ["Phase", "From", "To", "Duration", "Memory at first", "At last", "Growth per second", "Swings by"];
  const row = (phase, index) => titled(el("tr", {}, [String(index + 1), moment(phase.start_s), moment(phase.end_s), moment(phase.end_s - phase.start_s),
    bytes(phase.first_bytes), bytes(phase.last_bytes), `${phase.slope_bytes_per_s < 0 ? "-" : ""}${bytes(Math.abs(phase.slope_bytes_per_s))}`, bytes(phase.deviation_bytes)].map((content) => el("td", {}, content))), heads);
  return el("section", { "aria-label": "Phases" }, el("div", { class: "head" }, el("h2", {}, `Phases of ${memory} memory`)),
    el("figure", { class: "card plot" }, svg("svg", { class: "chart", viewBox: `0 0 ${PLOT.width} ${PLOT.height}`, role: "img", "aria-label": "memory over time" }, ...axis.flat(), ...times, ...parts)),
    el("div", { class: "card scroll" }, el("table", { class: "stacked dense" }, el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, phases.map(row)))));
}

/** What the kernel counted: in each second over time, coloured as the phases, and by phase. */
function phaseCountersSection() {
  const { phases, counters, trace } = report.phases;
  const length = Math.max(...trace.map((point) => point.at_s), 1e-9);
  const left = PLOT.left + 30;
  const x = (at) => left + ((PLOT.width - left - PLOT.right) * at) / length;
  const number = (value) => (value > 0 && value < 10 ? String(+value.toPrecision(3)) : compact(value));
  const title = (counter) => (counter.name.includes(":") ? counter.name : counter.name.replaceAll("-", " "));
  const plot = (counter) => {
    // Counts are readings of a sum: a bar has its growth between two moments.
    const bars = 120, width = length / bars;
    const until = (at) => counter.trace.findLast((point) => point.at_s <= at)?.count ?? 0;
    const rates = Array.from({ length: bars }, (_, bar) => {
      const end = bar + 1 === bars ? Infinity : (bar + 1) * width;
      return (until(end) - (bar === 0 ? 0 : until(bar * width))) / width;
    });
    const most = Math.max(...rates, 1e-9);
    const y = heightScale(most, 0, false);
    const axis = [0.5, 1].map((part) => [svg("line", { class: "grid", x1: left, x2: PLOT.width - PLOT.right, y1: y(part * most), y2: y(part * most) }),
      svg("text", { x: left - 8, y: y(part * most) + 4, "text-anchor": "end" }, `${number(part * most)}/s`)]);
    const times = [0, 0.25, 0.5, 0.75, 1].map((part) => svg("text", { x: x(part * length), y: PLOT.height - PLOT.bottom + 19, "text-anchor": "middle" }, moment(part * length)));
    const all = rates.map((rate, bar) => {
      const phase = Math.max(0, phases.findLastIndex((each) => each.start_s <= (bar + 0.5) * width));
      return svg("g", { class: `kind-${phase % 4}` }, svg("rect", { x: x(bar * width), width: Math.max(1, x(width) - x(0) - 0.5), y: y(rate), height: Math.max(0, y(0) - y(rate)), opacity: 0.75 },
        svg("title", {}, `${moment(bar * width)}: ${number(rate)} per second, phase ${phase + 1}`)));
    });
    return el("figure", { class: "card plot" }, el("figcaption", {}, `${title(counter)}: ${number(counter.total)}${counter.unit === "s" ? " s" : ""}`),
      svg("svg", { class: "chart", viewBox: `0 0 ${PLOT.width} ${PLOT.height}`, role: "img", "aria-label": `${title(counter)} over time` }, ...axis.flat(), ...times, ...all));
  };
  const heads = ["Phase", ...counters.flatMap((counter) => [title(counter), "per second"])];
  const row = (_, index) => titled(el("tr", {}, [String(index + 1), ...counters.flatMap(({ by_phase: of }) => [number(of[index].total), number(of[index].per_second)])].map((content) => el("td", {}, content))), heads);
  return el("section", { "aria-label": "Counters" }, el("div", { class: "head" }, el("h2", {}, "What the kernel counted")),
    ...counters.filter((counter) => counter.total > 0).map(plot),
    el("div", { class: "card scroll" }, el("table", { class: "stacked dense" }, el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, phases.map(row)))));
}

function phasesFacts() {
  const { phases, trace, readings } = report.phases;
  const most = (pick) => Math.max(0, ...trace.map(pick));
  return [fact("Phases", String(phases.length), ""), fact("Most resident", bytes(most((point) => point.resident)), ""),
    fact("Most reserved", bytes(most((point) => point.reserved)), ""), fact("Readings", thousands(readings), "of /proc")];
}

questions.push({ name: "phases", title: "Phases", facts: phasesFacts, sections: () => [phasesSection(), ...(report.phases.counters.length > 0 && report.phases.phases.length > 0 ? [phaseCountersSection()] : [])], measured: (term) => term("Readings", `${thousands(report.phases.readings)} of /proc, ${report.command === "phases" ? "without carom in the program" : "the memory of carom in the program included"}`) });
