// What is contended: a table to search and sort, each row opening to what to do, the code, the bytes and the cache lines.

const OPEN_AT_FIRST = 3;

const FINDING_COLUMNS = [
  ["#", (finding) => finding.rank, "ascending"],
  ["Data", (finding) => finding.object.name, "ascending"],
  [`Share of ${wholeName}`, (finding) => finding.share_interval.estimate, "descending"],
  ["What it is", (finding) => finding.false / (finding.true + finding.false) || 0, "descending"],
  ["Threads", (finding) => finding.threads.length, "descending"],
];

function contendedSection() {
  const findings = share.findings.map((finding, index) => {
    const lines = finding.lines.map((number) => share.lines[number]);
    return { ...finding, lines, rank: index + 1, threads: [...new Set(lines.flatMap(threadsOf))].sort((a, b) => a - b) };
  });
  const largest = Math.max(...findings.map((finding) => finding.share_interval.high ?? 0), 1e-9);
  const opened = new Set(findings.slice(0, OPEN_AT_FIRST).map(({ rank }) => rank));
  const { table, search } = sortedTable(FINDING_COLUMNS, findings, findingWords, (finding) => findingRows(finding, largest, opened),
    { wanted: "Data, function, file, thread…", search: "Search findings", none: "No finding matches." });
  const few = share.other_lines > 0 && `${plural(share.other_lines, "more line")} with too few events to judge.`;
  return el("section", { "aria-label": "Contended data" },
    el("div", { class: "head" }, el("h2", {}, "Contended data"), el("span", { class: "spring" }), search),
    el("div", { class: "card scroll" }, table),
    el("p", { class: "muted elsewhere" }, `Elsewhere: ${percent(1 - share.contended_share.estimate)} of ${wholeName}. `, few));
}

function findingWords(finding) {
  finding.words ??= [finding.object.name, finding.object.kind, finding.object.declared?.file, whatItIs(finding),
    ...finding.threads.map(threadName), ...finding.lines.map(lineWords)].join("\n").toLowerCase();
  return finding.words;
}

function findingRows(finding, largest, opened) {
  const { rank, object, threads } = finding;
  const button = el("button", { type: "button", class: "open", "aria-label": `Details of finding ${rank}` }, "▸");
  const row = el("tr", { class: "line" },
    el("td", { class: "number" }, button, String(rank)),
    el("td", {}, name(object.name, "code", "object"), el("span", { class: "chip" }, object.kind),
      el("div", { class: "where name" }, [place(object.declared), cacheLines(finding)].filter(Boolean).join(" · "))),
    el("td", {}, el("span", { class: "label-small" }, el("b", {}, percent(finding.share_interval.estimate)), " ", el("span", { class: "muted" }, error(finding.share_interval))),
      intervalBar(finding.share_interval, largest)),
    el("td", {}, el("span", { class: `label-small ${finding.false > finding.true ? "is-false" : "is-true"}` }, whatItIs(finding)), splitBar(finding.true, finding.false)),
    el("td", { title: threads.slice(0, 40).map(threadName).join("\n") }, name(threadList(threads))));
  const detail = el("tr", { class: "detail" });
  const show = () => {
    const open = opened.has(rank);
    row.toggleAttribute("data-open", open);
    button.setAttribute("aria-expanded", String(open));
    detail.hidden = !open;
    // Made when first opened: a report may have thousands of findings.
    if (open && detail.childElementCount === 0) detail.append(el("td", { colspan: FINDING_COLUMNS.length }, findingDetail(finding)));
  };
  row.addEventListener("click", () => {
    if (String(getSelection()) !== "") return;
    if (!opened.delete(rank)) opened.add(rank);
    show();
  });
  show();
  return [row, detail];
}

/** What threads contend for, or the kind of sharing with what weakens the claim: few events, or events weighted by time. */
function whatItIs(finding) {
  const [worst] = finding.lines;
  const { of } = finding.remedy;
  if (of && finding.remedy.kind === "contend") return `contention for a ${primitiveName(of.primitive)}`;
  const text = sharingClass(finding.true, finding.false);
  if (worst.false_fraction === null) return `${text}, ${plural(finding.events, "event")}`;
  return worst.basis === "step" ? text : `${text} by time`;
}

const cacheLines = (finding) => `${plural(finding.lines.length + finding.other_lines, "cache line")}${finding.spread ? " or more" : ""}`;

/** What to do, the evidence for it, and what a simulation says of it: a withdrawn remedy says so itself. */
const remedyBox = ({ text, evidence, check }) => el("div", { class: "remedy" },
  el("strong", { class: "name" }, ...inlineCode(text)), name(evidence),
  check && check.outcome !== "withdrawn" && el("div", {}, name(check.text)));

function findingDetail(finding) {
  const { object, lines, remedy } = finding;
  const [worst] = lines;
  const only = lines.length + finding.other_lines === 1;
  return [
    remedyBox(remedy),
    finding.spread && finding.following !== null && el("p", {}, `${percent(finding.following)} of ${wholeName} follow another thread's write of it, each to one of many lines: the share above is only that of the lines that were seen to be shared.`),
    tellingCode(lines),
    worst.layout.length > 0 && [el("h4", {}, only ? "The 64 bytes of its cache line" : "The 64 bytes of its worst cache line"), bytePicture(worst, remedy)],
    object.allocation.length > 0 && [el("h4", {}, "Allocated at"), callPath(object.allocation)],
    only ? onlyLine(worst) : linesOf(finding),
  ].flat().filter(Boolean);
}
