// The 64 bytes of a line: its ranges with their fields, and who reads and writes them.

const LINE_BYTES = 64;
const LANES = 12;

function bytePicture(line, remedy = line.remedy) {
  const grid = el("div", { class: "bytes", role: "group", "aria-label": "The bytes of the line" });
  const column = (offset, width) => `${Math.min(offset, LINE_BYTES - 1) + 2} / span ${Math.max(1, Math.min(width, LINE_BYTES - offset))}`;
  const put = (row, offset, width, options, ...text) =>
    grid.append(el("div", { ...options, style: { gridRow: row, gridColumn: column(offset, width) } }, ...text));
  for (let offset = 0; offset < LINE_BYTES; offset += 8) put(1, offset, 8, { class: "tick" }, String(offset));

  const bytes = (range) => byteRange(range.offset_bytes, range.width_bytes);
  // A narrow screen has no room for a letter in fewer bytes than four, and for two in fewer than eight.
  const size = (range, least) => (range.width_bytes < least ? "small" : "");
  const lane = (row, text) => grid.append(el("div", { class: "lane name", title: text, style: { gridRow: row } }, text));
  const pads = new Set(remedy.at_line_offsets_bytes);
  lane(2, "field");
  let covered = 0;
  const letters = [];
  for (const range of line.layout) {
    if (range.offset_bytes >= LINE_BYTES) continue;
    const letter = String.fromCharCode(65 + (letters.length % 26));
    letters.push(el("li", {}, el("b", {}, letter), " ", name([bytes(range), range.field].filter(Boolean).join(" "), "code")));
    if (range.offset_bytes > covered) put(2, covered, range.offset_bytes - covered, { class: "rest", title: "not seen to be touched" });
    const title = `${range.field ?? "bytes"} ${bytes(range)}`;
    put(2, range.offset_bytes, range.width_bytes,
      { class: `range name mono ${size(range, 4)} ${pads.has(range.offset_bytes) ? "pad" : ""}`, "data-letter": letter, title: pads.has(range.offset_bytes) ? `${title}: align here` : title },
      range.field && range.width_bytes >= 4 ? shortField(range.field, range.width_bytes) : bytes(range));
    covered = Math.max(covered, range.offset_bytes + range.width_bytes);
  }
  if (covered < LINE_BYTES) put(2, covered, LINE_BYTES - covered, { class: "rest", title: "not seen to be touched" });

  const threads = threadsOf(line);
  const shown = threads.length > LANES ? threads.slice(0, LANES - 1) : threads;
  const lanes = shown.map((id) => [threadName(id), [id]]);
  if (shown.length < threads.length) lanes.push([`${threads.length - shown.length} more threads`, threads.slice(shown.length)]);
  lanes.forEach(([text, ids], index) => {
    lane(index + 3, text);
    for (const range of line.layout) {
      const writes = ids.some((id) => range.writers.includes(id));
      const reads = ids.some((id) => range.readers.includes(id));
      if (range.offset_bytes < LINE_BYTES && (writes || reads)) {
        put(index + 3, range.offset_bytes, range.width_bytes,
          { class: `touch ${size(range, 8)} ${writes ? "writes" : "reads"}`, title: `${text} ${writes ? "writes" : "reads"}${writes && reads ? " and reads" : ""} bytes ${byteRange(range.offset_bytes, range.width_bytes)}` },
          writes ? (reads && range.width_bytes > 1 ? "RW" : "W") : "R");
      }
    }
  });
  const key = el("p", { class: "key" }, el("b", { class: "is-false" }, "W"), " writes, ", el("b", { class: "is-true" }, "R"), " only reads",
    pads.size > 0 && "; a dashed edge marks where to align");
  // Where names do not fit into the picture, letters stand for them.
  return el("div", { class: "picture" }, el("div", { class: "scroll" }, grid), el("ul", { class: "letters" }, letters), key);
}

/** `stats.misses` becomes `misses` where the room is small. */
const shortField = (field, width) => (field.length > width * 2 ? field.slice(field.lastIndexOf(".") + 1) : field);
