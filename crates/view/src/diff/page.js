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

function trustOfDiff() {
  const term = (title, ...content) => [el("dt", {}, title), el("dd", {}, ...content)];
  const side = (title, { profiles, argv, runs }) => term(title, name(commandLine(argv), "code"), el("div", { class: "muted name" }, `${plural(runs, "run")}: ${profiles.join(", ")}`));
  const spread = diff.spread.basis === "assumed" && diff.spread.assumed !== null
    ? `One run each does not tell how much runs of one program differ: a standard deviation of ${diff.spread.assumed.toFixed(1)} of the logarithm of the odds is assumed. Record several with --runs to measure it.`
    : "The intervals have the differences between runs in them.";
  return el("section", { "aria-label": "How far to trust it" },
    el("div", { class: "head" }, el("h2", {}, "How far to trust it")),
    diff.warnings.map((warning) => el("p", { class: "warning" }, el("strong", {}, "Note "), name(warning.text))),
    el("dl", { class: "card trust" }, ...side("Before", diff.before), ...side("After", diff.after), ...term("Differences between runs", spread),
      ...term("A change", "is called one where runs of an unchanged program would show it in fewer than 5% of comparisons.")));
}

const main = framed("diff", commandLine(diff.after.argv), diff.verdict);
main.append(...[...diff.gate.reasons.map((reason) => el("p", { class: "warning" }, el("strong", {}, "Failed: "), ...inlineCode(reason))),
  diff.share && shareCompared(diff.share), diff.reuse && reuseCompared(diff.reuse), trustOfDiff(), footer(diff.carom)].filter(Boolean));
