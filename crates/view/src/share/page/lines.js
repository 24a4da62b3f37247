// The cache lines of a finding, each opening to its own bytes, code and remedy.

const LINES_AT_FIRST = 20;

/** The line of a finding that has one: what the finding has not shown of it. */
const onlyLine = (line) => unfolding(["The cache line: ", el("span", { class: "name" }, whereInObject(line))],
  () => line.sites.length > 0 ? [el("h4", {}, "All code that touches it"), siteTable(line)] : el("p", { class: "muted" }, "No code was seen to touch it."));

/** All lines of a finding. */
function linesOf(finding) {
  const title = `${plural(finding.lines.length, "cache line")}${finding.other_lines > 0 ? ` of ${thousands(finding.lines.length + finding.other_lines)}` : ""}, the worst first`;
  return unfolding(title, () => firstOf(LINES_AT_FIRST, finding.lines.map(oneOfLines), el("div", { class: "lines" })));
}

function oneOfLines(line) {
  const title = [el("b", {}, percent(line.share_of_samples)), " ", el("span", {}, error(line.share_interval)), " · ",
    el("span", { class: line.false > line.true ? "is-false" : "is-true" }, lineClass(line)), " · ",
    el("span", { class: "name" }, whereInObject(line)), " · ", name(threadList(threadsOf(line)))];
  return unfolding(title, () => [
    remedyBox(line.remedy),
    line.layout.length > 0 && [el("h4", {}, "Its 64 bytes"), bytePicture(line)],
    line.sites.length > 0 && [el("h4", {}, "Code that touches it"), siteTable(line)],
  ].flat());
}

/** What kind of sharing, with what weakens the claim. */
function lineClass(line) {
  const text = sharingClass(line.true, line.false);
  if (line.false_fraction === null) return `${text}, few events`;
  return line.basis === "step" ? text : `${text} by time`;
}

const lineWords = (line) => [line.address, ...line.layout.map((range) => range.field),
  ...line.sites.flatMap((site) => site.call_path.flatMap((frame) => [frame.function, frame.file]))].join("\n");

function whereInObject(line) {
  const { offset_bytes: offset, size_bytes: size } = line.object;
  const isWholeHeap = line.object.kind === "heap" && size === null;
  const position = isWholeHeap ? null : offset < 0 ? `begins at byte ${-offset} of the line` : offset > 0 ? `begins at byte ${offset} of the object` : null;
  const process = line.process === 0 ? null : `process ${line.process}`;
  if (line.shared) {
    const places = line.shared.processes.map((place) => `process ${place.process}${place.address ? ` at ${place.address}` : ""}`);
    const shown = places.length > 3 ? `${places.length} processes` : places.join(", ");
    return [position ?? "from offset 0", size === null ? null : plural(size, "byte"), plural(line.events, "event"), shown].filter(Boolean).join(" · ");
  }
  return [line.address, position, size === null ? null : plural(size, "byte"), plural(line.events, "event"), process].filter(Boolean).join(" · ");
}
