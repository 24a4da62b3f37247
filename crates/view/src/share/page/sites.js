// The code that touches a line. Threads that run the same code there share a row.

const SITES_AT_FIRST = 12;
const FRAMES_AT_FIRST = 3;
const SITE_COLUMNS = ["Samples", "Threads", "Kind", "Bytes", "Code"];

/** Sites with the same kind and call path in the program's own code, together. */
function sameCode(sites) {
  const groups = new Map();
  for (const site of sites) {
    const key = JSON.stringify([site.kind, ownPath(site.call_path).map(({ module, address, function: f, line }) => [module, address, f, line])]);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(site);
  }
  const total = (group) => group.reduce((sum, site) => sum + (site.share_of_samples ?? 0), 0);
  return [...groups.values()].map((group) => ({ group, share: total(group) })).sort((a, b) => b.share - a.share);
}

function siteTable(line) {
  const rows = sameCode(line.sites).map((code) => titled(siteRow(code), SITE_COLUMNS));
  const body = el("tbody");
  const [, more] = firstOf(SITES_AT_FIRST, rows, body);
  return el("div", { class: "scroll" }, el("table", { class: "sites stacked" },
    el("thead", {}, el("tr", {}, ...SITE_COLUMNS.map((text) => el("th", { scope: "col" }, text)))), body), more);
}

const threadsAt = (group) => [...new Set(group.map((each) => each.thread))];
const rangesAt = (group) => [...new Set(group.map((each) => byteRange(each.offset_bytes, each.width_bytes)))];
const fieldsAt = (group) => [...new Set(group.map((each) => each.field).filter(Boolean))];
const kindOf = (site) => el("span", { class: `kind kind-${site.kind}` }, site.kind === "rmw" ? "read-modify-write" : site.kind);

function siteRow({ group, share }) {
  const [site] = group;
  const [ranges, fields] = [rangesAt(group), fieldsAt(group)];
  const own = group.map((each) => `${threadName(each.thread)}: ${percent(each.share_of_samples)} at ${byteRange(each.offset_bytes, each.width_bytes)}`);
  return el("tr", {},
    el("td", { class: "number", title: `seen ${plural(group.reduce((sum, each) => sum + each.seen, 0), "time")}` }, percent(share)),
    el("td", { title: own.slice(0, 40).join("\n") }, name(threadList(threadsAt(group)))),
    el("td", {}, kindOf(site)),
    el("td", { class: "mono" }, ranges.length > 3 ? `${ranges.length} ranges` : ranges.join(", "),
      fields.length > 0 && el("div", { class: "where name" }, fields.length > 2 ? `${fields.length} fields` : fields.join(", "))),
    el("td", {}, callPath(site.call_path)));
}

const TELLING_SITES = 2;

/** The places in the code that tell most of a finding's lines, as in the terminal, with their source. */
function tellingCode(lines) {
  const places = new Set();
  const isNew = ({ group: [site] }) => {
    const [own] = ownPath(site.call_path);
    const at = JSON.stringify([own?.function ?? null, place(own)]);
    return !places.has(at) && places.add(at);
  };
  const telling = sameCode(lines.flatMap((line) => line.sites.map((site) => ({ ...site, of: line })))).filter(isNew).slice(0, TELLING_SITES);
  return telling.length > 0 && el("div", { class: "telling" }, telling.map(codeSite));
}

function codeSite({ group, share }) {
  const [site] = group;
  const lines = new Set(group.map((each) => each.of)).size;
  const touched = [...new Set(group.map((each) => [byteRange(each.offset_bytes, each.width_bytes), each.field, each.splits_line && "over two lines"].filter(Boolean).join(" ")))];
  return el("figure", {},
    el("figcaption", {}, el("b", {}, percent(share)), " ", kindOf(site), " ",
      name(lines > 1 ? plural(lines, "line") : touched.length > 1 ? `${touched.length} ranges` : touched[0], "code"), name(` by ${threadList(threadsAt(group))}`, "span", "muted")),
    callPath(ownPath(site.call_path).slice(0, FRAMES_AT_FIRST)),
    sourceOf(ownPath(site.call_path)));
}
