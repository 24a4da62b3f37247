// Exact counts: the totals, and every thread's and process's share of them.

/** With two decimals, never rounded up. */
const coveragePercent = (fraction) => (fraction === null ? "not known" : fraction >= 1 ? "100%" : `${(Math.floor(fraction * 1e4) / 100).toFixed(2)}%`);

/** Names of tracepoints and of events of PMUs are the kernel's. */
const eventLabel = (what) => (/[:/]/.test(what) ? what : what.replaceAll("-", " "));

const exact = (value) => (value === null ? "" : value.toLocaleString("en-US"));

/** Counts are those of the first run of a series. Profiles that are merged have the sum of all. */
const whoseCounts = () => (report.program.runs > 1 && (counts.series ?? counts.regression ?? counts.prediction) ? " of the first run" : "");

/** The totals of one run; of runs that differ on purpose, what differs. */
function countFacts() {
  const { coverage, events, regression, prediction } = counts;
  const native = `${seconds((coverage.native_ns + coverage.unbooked_ns) / 1e9)} of thread CPU time${whoseCounts()} are in no count`;
  const covered = fact("Coverage", coveragePercent(coverage.fraction), native);
  if (prediction) return [fact(prediction.parameter, String(prediction.at), "the size that was asked for"), covered];
  if (regression) {
    const given = ({ name: what, values }) => fact(what, `${values[0]} to ${values.at(-1)}`, `${values.length} values; ${plural(report.program.runs, "run")} in all`);
    const following = regression.laws.filter((law) => law.depends).length;
    return [...regression.parameters.map(given), fact("Laws", `${following} of ${regression.laws.length}`, "events follow by more than chance"), covered];
  }
  const figures = events.slice(0, 3).map((event) =>
    fact(event.name, event.total === null ? "not counted" : compact(event.total), event.total === null ? "" : `${exact(event.total)}${whoseCounts()}`));
  return [...figures, covered];
}

/** Every quantity in every run. */
function seriesSection({ events }) {
  const heads = ["Event", "Mean", "Deviation", "Least", "Most", "Unit", "Known by"];
  const number = (value, unit) => (unit === "s" ? `${+(value * 1e3).toPrecision(4)} ms` : unit === "bytes" ? byteSize(value) : unit === "J" ? `${+value.toPrecision(3)}` : compact(value));
  const known = { counted: "exact counts", simulated: "simulated caches (modelled)", native: "the kernel, without carom", machine: "the kernel, for the whole machine" };
  const turns = (share) => (share < 0.995 ? `, counted ${percent(share)} of the time` : "");
  const row = ({ name: what, unit, basis, values, mean, deviation, time_share: share }) => titled(el("tr", {}, [eventLabel(what), number(mean, unit),
    values.length === 1 ? "one run" : mean > 0 && deviation > 0 ? `±${percent(deviation / mean)}`.replace("±<", "<") : "constant", number(Math.min(...values), unit), number(Math.max(...values), unit), unit,
    `${known[basis]}${turns(share)}`].map((content, column) => el("td", { class: column > 0 && column < 5 && "number" }, content))), heads);
  const table = (rows) => el("div", { class: "card scroll" }, el("table", { class: "stacked dense" },
    el("thead", {}, el("tr", {}, heads.map((head, column) => el("th", { scope: "col", class: column > 0 && column < 5 && "number" }, head)))), el("tbody", {}, rows.map(row))));
  const kind = ({ values }) => (values.some((value) => value !== values[0]) ? "told" : values[0] === 0 ? "zero" : values.length > 1 ? "constant" : "told");
  const [told, zero, constant] = ["told", "zero", "constant"].map((wanted) => events.filter((event) => kind(event) === wanted));
  return el("section", { "aria-label": "Runs" }, el("div", { class: "head" }, el("h2", {}, "Runs")), table(told),
    zero.length > 0 && unfolding(`0 in all runs (${zero.length})`, () => table(zero)),
    constant.length > 0 && unfolding(`The same in all runs (${constant.length})`, () => table(constant)));
}

/** Names in the first column, numbers in all others. */
const countTable = (heads, rows) => el("div", { class: "card scroll" }, el("table", { class: "stacked dense" },
  el("thead", {}, el("tr", {}, heads.map((head, column) => el("th", { scope: "col", class: column > 0 && "number" }, head)))),
  el("tbody", {}, rows.map((row) => titled(el("tr", {}, row.map((content, column) => el("td", { class: column > 0 && "number" }, content))), heads)))));

/** Whether cores wait for each other. */
function coherenceSection({ cores }) {
  const row = (core) => [name(`core ${core.core}${core.bottleneck ? " (may be limited)" : ""}`), compact(core.accesses), compact(core.bus_transactions), percent(core.transfer_share),
    compact(core.load_transfers), compact(core.store_transfers), compact(core.upgrades), compact(core.invalidations)];
  return el("section", { "aria-label": "Coherence" }, el("div", { class: "head" }, el("h2", {}, "What cores ask of each other")),
    countTable(["Core", "Accesses", "Bus", "From cores", "For loads", "For stores", "Upgrades", "Invalidations"], cores.map(row)),
    el("p", { class: "muted" }, "Modelled, by simulated caches; mean of the runs."));
}

/** Counts by line of source or by function: what any place knows. */
function placesSection({ by, places: all, unnamed, unmapped }) {
  const columns = [["Instructions", "instructions"], ["Loads", "loads"], ["Stores", "stores"], ["Bytes loaded", "loaded_bytes"], ["Bytes stored", "stored_bytes"],
    ["Branches", "branches"], ["Taken", "branches_taken"], ["Calls", "calls"], ["Returns", "returns"], ["Atomics", "atomics"], ["System calls", "system_calls"],
    ["L1 misses", "l1_misses"], ["L2 misses", "l2_misses"], ["LLC misses", "llc_misses"], ["Invalidations", "invalidations"]].filter(([, key]) => all.some((place) => place[key] !== null));
  const row = (who, sums) => [who, ...columns.map(([, key]) => (sums[key] === null ? "" : compact(sums[key])))];
  const named = (place) => row([name(place.function ?? (place.module ? `no function in ${place.module.split("/").pop()}` : place.address)), place.line && el("div", { class: "where name" }, `${place.file.split("/").pop()}:${place.line}`)], place);
  const rest = columns.some(([, key]) => unmapped[key] > 0) ? [row("Of no place", unmapped)] : [];
  const modelled = columns.some(([, key]) => key === "l1_misses") ? " Misses and invalidations are modelled." : "";
  return el("section", { "aria-label": "Places" }, el("div", { class: "head" }, el("h2", {}, by === "line" ? "Lines of source" : "Functions")),
    countTable(["Place", ...columns.map(([head]) => head)], [...all.slice(0, 25).map(named), ...rest]),
    el("p", { class: "muted" }, `Counted exactly, in the first run.${modelled} ${thousands(Math.max(all.length - 25, 0) + unnamed)} more.`));
}

function countsSection() {
  const { events } = counts;
  const heads = ["", ...events.map((event) => event.name.replaceAll("-", " "))];
  const row = (who, values) => [who, ...values.map((value) => exact(value))];
  return el("section", { "aria-label": "Counts" },
    el("div", { class: "head" }, el("h2", {}, `Counts${whoseCounts()}`)),
    el("div", { class: "card scroll" }, el("table", { class: "snug" },
      el("thead", {}, el("tr", {}, ["Event", "Total", "Unit"].map((head, column) => el("th", { scope: "col", class: column === 1 && "number" }, head)))),
      el("tbody", {}, events.map((event) => el("tr", {},
        [event.name.replaceAll("-", " "), event.total === null ? "not counted" : exact(event.total), event.unit].map((content, column) => el("td", { class: column === 1 && "number" }, content))))))),
    folded(`By thread (${report.threads.length})`, heads,
      report.threads.map((thread, index) => row(name(threadName(thread.id)), events.map((event) => event.values[index])))),
    folded(`By process (${report.processes.length})`, heads,
      report.processes.map((process, index) => row(name(`${process.pid} ${process.argv[0] ?? ""}`), events.map((event) => event.by_process[index])))));
}

/** How much of the run is in the counts. */
function countMeasured(term) {
  const { coverage } = counts;
  const leaves = coverage.leaves.filter((each) => each.times > 0).sort((a, b) => b.times - a.times);
  return term("Coverage", coverage.fraction === null ? "not known" : `${coveragePercent(coverage.fraction)} of the threads' CPU time`,
    coverage.unbooked_ns > 0 && `, ${seconds(coverage.unbooked_ns / 1e9)} of native code found by the timer alone`,
    coverage.unwitnessed_threads > 0 && `, not witnessed by a timer in ${plural(coverage.unwitnessed_threads, "thread")}`,
    coverage.uncounted_threads > 0 && `, ${plural(coverage.uncounted_threads, "thread")} not counted`,
    ...leaves.map((each) => el("div", { class: "muted" }, `not observed: ${thousands(each.times)} × ${each.text}`)));
}

questions.push({ name: "count", title: "Counts", facts: countFacts, sections: () => [counts.prediction && predictionSection(counts.prediction), counts.regression && regressionSection(counts.regression), counts.places && placesSection(counts.places), counts.coherence && coherenceSection(counts.coherence), counts.series && seriesSection(counts.series), countsSection()].filter(Boolean), measured: countMeasured });
