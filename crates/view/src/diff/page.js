// A comparison: what was before, what is after, and what became of each finding.

const diff = JSON.parse(document.getElementById("report").textContent);

const FATES = { gone: "is-good", smaller: "is-good", new: "is-false", larger: "is-false" };

/** `+2.7`, `-48`, `0`: percentage points with a decimal below ten. */
function signedPoints(part) {
  const value = part * 100;
  if (Math.abs(value) < 0.05) return "0";
  const text = Math.abs(value) < 9.95 ? value.toFixed(1).replace(/\.0$/, "") : value.toFixed(0);
  return value > 0 ? `+${text}` : text;
}

const known = (interval) => [el("b", {}, percent(interval.estimate)), interval.low !== interval.high && el("span", { class: "muted" }, ` ${error(interval)}`)];
/** What became of a total, in a word. */
function became({ significant, difference: { estimate, low, high } }) {
  if (significant) return estimate < 0 ? "smaller" : "larger";
  return low > 0 || high < 0 ? "undecided" : "unchanged";
}

const rowOf = (fate, what, change) => ({ fate, what, change });

/** The totals and the findings of a question: before and after, to one scale, and the change. */
function compared(title, totals, findings, note) {
  const rows = [...totals.map(([what, change]) => rowOf(became(change), what, change)), ...findings];
  const largest = Math.max(...rows.flatMap(({ change }) => [change.before.high ?? 0, change.after.high ?? 0]), 1e-9);
  const heads = ["Became", "What", "Before", "After", "Change in points (95% interval)"];
  const row = ({ fate, what, change }) => titled(el("tr", {},
    el("td", { class: `fate ${FATES[fate] ?? ""}` }, fate), el("td", {}, what),
    ...[change.before, change.after].map((interval) => el("td", {}, el("span", { class: "label-small" }, known(interval)), intervalBar(interval, largest))),
    el("td", {}, el("b", {}, signedPoints(change.difference.estimate)), el("span", { class: "muted" }, ` ${signedPoints(change.difference.low)} to ${signedPoints(change.difference.high)}`))), heads);
  return el("section", { "aria-label": title },
    el("div", { class: "head" }, el("h2", {}, title)),
    el("div", { class: "card scroll" }, el("table", { class: "stacked compared" },
      el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, rows.map(row)))),
    note && el("p", { class: "muted" }, note));
}

function objectFinding(found) {
  const { object, before, after } = found;
  const volumes = found.false_sharing_fate && `false sharing ${found.false_sharing_fate}: ${compact(before.false)} before, ${compact(after.false)} after; true sharing: ${compact(before.true)} before, ${compact(after.true)} after`;
  return rowOf(found.fate, [name(object.name, "code", "object"), el("span", { class: "chip" }, object.kind),
    el("div", { class: "where name" }, [place(object.declared), volumes].filter(Boolean).join(" · "))], found.share);
}

function pairFinding(found) {
  const at = ([frame]) => (frame ? place(frame) ?? frame.function ?? frame.address : "not known");
  const [use, reuse] = [at(found.use), at(found.reuse)];
  return rowOf(found.fate, [found.object ? name(found.object.name, "code", "object") : "a reuse",
    el("div", { class: "where name" }, use === reuse ? `at ${use}` : `between ${use} and ${reuse}`)], found.misses);
}

function shareCompared({ unit, contended_share: contended, false_fraction: fraction, findings, too_small: small, smallest }) {
  const whole = unit === "samples" ? "thread time" : "memory accesses";
  const totals = [["contended lines", contended], fraction && ["false sharing, of all sharing", fraction]].filter(Boolean);
  return compared(`Sharing, in shares of ${whole}`, totals, findings.map(objectFinding),
    small > 0 && `${plural(small, "smaller finding")}, below ${percent(smallest)} on both sides: not compared.`);
}

function reuseCompared({ cache_bytes: bytes, miss_ratio: ratio, findings, too_small: small }) {
  return compared(`Misses in a cache of ${byteSize(bytes)}, in shares of all accesses`, [[`miss ratio at ${byteSize(bytes)}`, ratio]], findings.map(pairFinding),
    small > 0 && `${plural(small, "pair")} of code places with few of the misses on both sides: not compared.`);
}

/** A probability, as the terminal has it. */
const chance = (p) => (p === null ? "" : p < 0.001 ? "<0.001" : p < 0.0995 ? p.toFixed(3).replace(/0+$/, "") : p.toFixed(2));

/** A factor from twice on, else a percentage. */
const changed = (relative) => (relative === null ? "?" : relative >= 1 ? `${+(relative + 1).toPrecision(3)} times` : `${relative > 0 ? "+" : ""}${+(relative * 100).toPrecision(Math.abs(relative) >= 0.995 ? 4 : 2)}%`);

const amount = (value, unit) => (unit === "s" ? (value < 1 ? `${+(value * 1e3).toPrecision(3)} ms` : `${+value.toPrecision(3)} s`) : unit === "bytes" ? byteSize(value) : unit === "J" ? `${+value.toPrecision(3)} J` : compact(value));

/** The values of both sides as dots on one scale. */
function dots({ before, after, unit }) {
  const all = [...before, ...after];
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const at = (value) => 4 + (high > low ? (92 * (value - low)) / (high - low) : 46);
  const row = (values, side, y) => values.map((value) => svg("circle", { cx: at(value), cy: y, r: 2.5, fill: "currentColor" }, svg("title", {}, `${side}: ${amount(value, unit)}`)));
  return svg("svg", { viewBox: "0 0 100 20", width: 150, height: 30, role: "img", "aria-label": `values of all runs, from ${amount(low, unit)} to ${amount(high, unit)}` },
    ...row(before, "before", 6), ...row(after, "after", 14));
}

const OUTCOMES = { more: "is-false", less: "is-good" };

function countCompared({ events, decided_by: decided }) {
  const heads = ["", "Event", "Before", "After", "Runs (above: before)", "Change (95% interval)", "p"];
  const mean = (values) => (values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length);
  const value = (values, unit) => (values.length === 0 ? "not known" : amount(mean(values), unit));
  const row = (event) => titled(el("tr", {},
    el("td", { class: `fate ${OUTCOMES[event.outcome] ?? ""}` }, event.outcome.replace("-", " ")),
    el("td", {}, /[:/]/.test(event.name) ? event.name : event.name.replaceAll("-", " "), el("span", { class: "chip" }, event.basis)),
    el("td", {}, value(event.before, event.unit)), el("td", {}, value(event.after, event.unit)), el("td", {}, dots(event)),
    el("td", {}, el("b", {}, event.relative_change === null ? (mean(event.before) === 0 ? "from 0" : "") : changed(event.relative_change)),
      event.low !== null && event.low !== event.high && el("span", { class: "muted" }, ` ${changed(event.low)} to ${changed(event.high)}`)),
    el("td", {}, chance(event.p_adjusted))), heads);
  const table = (rows) => el("div", { class: "card scroll" }, el("table", { class: "stacked dense compared" },
    el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, rows.map(row))));
  const constant = events.filter((event) => event.outcome === "constant");
  return el("section", { "aria-label": "Counts" },
    el("div", { class: "head" }, el("h2", {}, "Counts")), table(events.filter((event) => event.outcome !== "constant")),
    constant.length > 0 && unfolding(`The same in all runs (${constant.length})`, () => table(constant)),
    el("p", { class: "muted" }, `Counted: exactly, in runs under carom. Simulated: modelled, by simulated caches with the accesses of such runs. Native: by the kernel, in runs without carom in the program. A change must be found by ${decided === "welch" ? "Welch's test" : "Welch's test and by the rank-sum test"}; p is corrected for the number of events (Holm).`));
}

function trustOfDiff() {
  const term = (title, ...content) => [el("dt", {}, title), el("dd", {}, ...content)];
  const side = (title, { profiles, argv, runs }) => term(title, name(commandLine(argv), "code"), el("div", { class: "muted name" }, `${plural(runs, "run")}: ${profiles.join(", ")}`));
  const spread = diff.spread.basis === "assumed" && diff.spread.assumed !== null
    ? `One run each does not tell how much runs of one program differ: a standard deviation of ${diff.spread.assumed.toFixed(1)} of the logarithm of the odds is assumed. Record several with --runs to measure it.`
    : "The intervals have the differences between runs in them.";
  return el("section", { "aria-label": "How far to trust it" },
    el("div", { class: "head" }, el("h2", {}, "How far to trust it")),
    diff.warnings.map((warning) => el("p", { class: "warning" }, el("strong", {}, "Note "), name(warning.text))),
    el("dl", { class: "card trust" }, ...side("Before", diff.before), ...side("After", diff.after), ...(diff.share || diff.reuse ? term("Differences between runs", spread) : []),
      ...term("A change", "is called one where runs of an unchanged program would show it in fewer than 5% of comparisons.")));
}

const main = framed("diff", commandLine(diff.after.argv), diff.verdict);
main.append(...[...diff.gate.reasons.map((reason) => el("p", { class: "warning" }, el("strong", {}, "Failed: "), ...inlineCode(reason))),
  diff.share && shareCompared(diff.share), diff.reuse && reuseCompared(diff.reuse), diff.count && countCompared(diff.count), trustOfDiff(), footer(diff.carom)].filter(Boolean));
