// Uses and reuses by instruction: a table to search and sort, each row opening to its call paths.

const PAIR_COLUMNS = [
  ["#", (pair) => pair.rank, "ascending"],
  ["Data", (pair) => pair.object?.name ?? "", "ascending"],
  ["Use → reuse", (pair) => siteName(pair.use) + siteName(pair.reuse), "ascending"],
  ["Of the misses", (pair) => pair.share_of_misses ?? 0, "descending"],
  ["Of the accesses", (pair) => pair.share ?? 0, "descending"],
  ["Distance", (pair) => pair.stack_bytes?.median ?? pair.time?.median ?? 0, "descending"],
  ["Missing", (pair) => pair.miss_ratio ?? 0, "descending"],
];

const siteName = (site) => place(site) ?? site.function ?? site.call_path[0]?.address ?? "not known";

const inAccesses = (number) => `${compact(number)} access${compact(number) === "1" ? "" : "es"}`;

/** The value of the quantile beside its name: `3.1 MiB`, `49k accesses`. */
function distanceText(pair, which = "median") {
  if (pair.stack_bytes) return byteSize(pair.stack_bytes[which]);
  if (!pair.time) return "?";
  return pair.time_unit === "ns" ? duration(pair.time[which]) : inAccesses(pair.time[which]);
}

function pairsSection() {
  if (reuse.pairs.length === 0) return null;
  const pairs = reuse.pairs.map((pair, index) => ({ ...pair, rank: index + 1 }));
  const { table, search } = sortedTable(PAIR_COLUMNS, pairs, pairWords, pairRows,
    { wanted: "Data, function, file…", search: "Search pairs", none: "No pair matches." });
  return el("section", { "aria-label": "Uses and their reuses" },
    el("div", { class: "head" }, el("h2", {}, "Uses and their reuses"), el("span", { class: "spring" }), search,
      el("p", {}, `Misses are those of a cache of ${byteSize(reuse.cache_bytes)}. A distance is what is accessed between use and reuse: what a cache would have to hold, and what a smaller tile or another order would bring down.`)),
    el("div", { class: "card scroll" }, table),
    reuse.other_pairs > 0 && el("p", { class: "muted" }, `${plural(reuse.other_pairs, "more pair")} not listed.`));
}

function pairWords(pair) {
  return [pair.object?.name, ...[pair.use, pair.reuse].flatMap((site) => site.call_path.flatMap((frame) => [frame.function, frame.file]))].join("\n").toLowerCase();
}

function pairRows(pair) {
  const button = el("button", { type: "button", class: "open", "aria-label": `Details of pair ${pair.rank}`, "aria-expanded": "false" }, "▸");
  const row = el("tr", { class: "line pair" },
    el("td", { class: "number" }, button, String(pair.rank)),
    el("td", {}, pair.object ? [name(pair.object.name, "code", "object"), el("span", { class: "chip" }, pair.object.kind)] : el("span", { class: "muted" }, "not known"),
      pair.scope === "shared" && el("span", { class: "chip" }, "shared cache")),
    el("td", {}, name(siteName(pair.use), "code"), " → ", name(siteName(pair.reuse), "code"), el("div", { class: "where name" }, pair.reuse.function ?? "")),
    el("td", { class: "number" }, el("b", {}, percent(pair.share_of_misses))),
    el("td", { class: "number" }, percent(pair.share)),
    el("td", { class: "number" }, distanceText(pair), pair.basis === "modelled" && el("div", { class: "where" }, "model")),
    el("td", { class: "number" }, percent(pair.miss_ratio)));
  const detail = el("tr", { class: "detail", hidden: true });
  row.addEventListener("click", () => {
    if (String(getSelection()) !== "") return;
    detail.hidden = !detail.hidden;
    row.toggleAttribute("data-open", !detail.hidden);
    button.setAttribute("aria-expanded", String(!detail.hidden));
    if (detail.childElementCount === 0) detail.append(el("td", { colspan: PAIR_COLUMNS.length }, pairDetail(pair)));
  });
  return [row, detail];
}

/** `loop at mm.c:17, in steps of 4,096 bytes` */
function loopText(loop) {
  if (!loop) return null;
  const bytes = loop.step_bytes ?? null;
  const step = bytes === null ? null : bytes === 0 ? "at one place" : `in steps of ${plural(Math.abs(bytes), "byte")}${bytes < 0 ? " backwards" : ""}`;
  const parts = [place(loop), step].filter(Boolean);
  return parts.length > 0 && `loop ${parts.join(", ")}`;
}

function pairDetail(pair) {
  const kinds = REUSE_KINDS.map((kind, index) => [kind, pair.by_kind[index]]).filter(([, part]) => part > 0).map(([kind, part]) => `${kind} ${percent(part)}`);
  const facts = [`distance ${distanceText(pair, "p10")} to ${distanceText(pair, "p90")} (8 of 10)`,
    pair.stack_bytes && pair.time && (pair.time_unit === "ns" ? duration(pair.time.median) : inAccesses(pair.time.median)),
    loopText(pair.loop), ...kinds, pair.temporal !== null && (pair.temporal === 0 ? "never the same bytes" : `${percent(pair.temporal)} of the same bytes`), threadList(pair.threads), `followed ${plural(pair.seen, "time")}`];
  return [pair.remedy && el("div", { class: "remedy name" }, ...inlineCode(pair.remedy)),
    el("p", { class: "name" }, facts.filter(Boolean).join("; ")),
    el("h4", {}, "Use"), callPath(pair.use.call_path), el("h4", {}, "Reuse"), callPath(pair.reuse.call_path)].filter(Boolean);
}
