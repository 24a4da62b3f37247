// The contended lines: a table to search and sort, each row opening to its bytes, its code and its remedy.

const COLUMNS = [
  ["#", (line) => line.rank, "ascending"],
  ["Object", (line) => line.object.name, "ascending"],
  [`Share of ${wholeName}`, (line) => line.share_of_samples, "descending"],
  ["False and true sharing", (line) => line.false / (line.true + line.false) || 0, "descending"],
  ["Threads", (line) => threadsOf(line).length, "descending"],
];

function linesSection() {
  const lines = share.lines.map((line, index) => ({ ...line, rank: index + 1 }));
  const largest = Math.max(...lines.map((line) => line.share_interval.high ?? 0), 1e-9);
  const opened = new Set(lines.length > 0 ? [1] : []);
  const { table, search } = sortedTable(COLUMNS, lines, haystack, (line) => lineRows(line, largest, opened),
    { wanted: "Object, function, file, thread…", search: "Search lines", none: "No line matches." });
  return el("section", { "aria-label": "Contended lines" },
    el("div", { class: "head" }, el("h2", {}, "Contended lines"), el("span", { class: "spring" }), search), el("div", { class: "card scroll" }, table),
    share.other_lines > 0 && el("p", { class: "muted" }, `${plural(share.other_lines, "more line")} with too few events to judge.`));
}

function haystack(line) {
  line.words ??= [line.object.name, line.object.kind, line.object.declared?.file, line.address,
    ...line.layout.map((range) => range.field), ...threadsOf(line).map(threadName),
    ...line.sites.flatMap((site) => site.call_path.flatMap((frame) => [frame.function, frame.file]))].join("\n").toLowerCase();
  return line.words;
}

function lineRows(line, largest, opened) {
  const button = el("button", { type: "button", class: "open", "aria-label": `Details of line ${line.rank}` }, "▸");
  const threads = threadsOf(line);
  const row = el("tr", { class: "line" },
    el("td", { class: "number" }, button, String(line.rank)),
    el("td", {}, name(line.object.name, "code", "object"), el("span", { class: "chip" }, line.object.kind),
      el("div", { class: "where" }, [place(line.object.declared), whereInObject(line)].filter(Boolean).join(" · "))),
    el("td", {}, el("span", { class: "label-small" }, el("b", {}, percent(line.share_of_samples)), " ", el("span", { class: "muted" }, error(line.share_interval))),
      intervalBar(line.share_interval, largest)),
    el("td", {}, el("span", { class: `label-small ${line.false > line.true ? "is-false" : "is-true"}` }, classOf(line)), splitBar(line.true, line.false)),
    el("td", { title: threads.slice(0, 40).map(threadName).join("\n") }, name(threadList(threads))));
  const detail = el("tr", { class: "detail" });
  const show = () => {
    const open = opened.has(line.rank);
    row.toggleAttribute("data-open", open);
    button.setAttribute("aria-expanded", String(open));
    detail.hidden = !open;
    // Made when first opened: a report may have thousands of lines.
    if (open && detail.childElementCount === 0) detail.append(el("td", { colspan: COLUMNS.length }, lineDetail(line)));
  };
  row.addEventListener("click", () => {
    if (String(getSelection()) !== "") return;
    if (!opened.delete(line.rank)) opened.add(line.rank);
    show();
  });
  show();
  return [row, detail];
}

/** What kind of sharing, with what weakens the claim: few events, or events weighted by time. */
function classOf(line) {
  const text = sharingClass(line.true, line.false);
  if (line.false_fraction === null) return `${text}, few events`;
  return line.basis === "step" ? text : `${text} by time`;
}

function whereInObject(line) {
  const { offset_bytes: offset, size_bytes: size } = line.object;
  const position = offset < 0 ? `begins at byte ${-offset} of the line` : offset > 0 ? `from offset ${offset}` : null;
  const process = line.process === 0 ? null : `process ${line.process}`;
  if (line.shared) {
    const places = line.shared.processes.map((place) => `process ${place.process}${place.address ? ` at ${place.address}` : ""}`);
    const shown = places.length > 3 ? `${places.length} processes` : places.join(", ");
    return [position ?? "from offset 0", size === null ? null : plural(size, "byte"), plural(line.events, "event"), shown].filter(Boolean).join(" · ");
  }
  return [line.address, position, size === null ? null : plural(size, "byte"), plural(line.events, "event"), process].filter(Boolean).join(" · ");
}

function lineDetail(line) {
  return [
    el("div", { class: "remedy" }, el("strong", {}, ...inlineCode(line.remedy.text)), name(line.remedy.evidence)),
    line.layout.length > 0 && [el("h4", {}, "The line’s 64 bytes"), bytePicture(line)],
    line.sites.length > 0 && [el("h4", {}, "Code that touches it"), siteTable(line)],
    line.object.allocation.length > 0 && [el("h4", {}, "Allocated at"), callPath(line.object.allocation)],
  ].flat().filter(Boolean);
}
