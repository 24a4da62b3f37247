// The code that touches a line. Threads that run the same code there share a row.

const SITES_AT_FIRST = 12;
const SITE_COLUMNS = ["Samples", "Threads", "Kind", "Bytes", "Code"];

/** Sites with the same kind and call path, together. */
function sameCode(sites) {
  const groups = new Map();
  for (const site of sites) {
    const key = JSON.stringify([site.kind, site.call_path.map(({ module, address, function: f, line }) => [module, address, f, line])]);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(site);
  }
  const total = (group) => group.reduce((sum, site) => sum + (site.share_of_samples ?? 0), 0);
  return [...groups.values()].map((group) => ({ group, share: total(group) })).sort((a, b) => b.share - a.share);
}

function siteTable(line) {
  const body = el("tbody");
  const groups = sameCode(line.sites);
  const rows = groups.map(({ group, share }) => titled(siteRow(group, share), SITE_COLUMNS));
  body.append(...rows.slice(0, SITES_AT_FIRST));
  const table = el("table", { class: "sites stacked" },
    el("thead", {}, el("tr", {}, ...SITE_COLUMNS.map((text) => el("th", { scope: "col" }, text)))), body);
  const holder = el("div", { class: "scroll" }, table);
  if (rows.length > SITES_AT_FIRST) {
    const more = el("button", { type: "button", class: "quiet" }, `Show ${rows.length - SITES_AT_FIRST} more`);
    more.addEventListener("click", () => { body.append(...rows.slice(SITES_AT_FIRST)); more.remove(); });
    holder.append(more);
  }
  return holder;
}

function siteRow(group, share) {
  const [site] = group;
  const threads = [...new Set(group.map((each) => each.thread))];
  const ranges = [...new Set(group.map((each) => byteRange(each.offset_bytes, each.width_bytes)))];
  const fields = [...new Set(group.map((each) => each.field).filter(Boolean))];
  const own = group.map((each) => `${threadName(each.thread)}: ${percent(each.share_of_samples)} at ${byteRange(each.offset_bytes, each.width_bytes)}`);
  return el("tr", {},
    el("td", { class: "number", title: `seen ${plural(group.reduce((sum, each) => sum + each.seen, 0), "time")}` }, percent(share)),
    el("td", { title: own.slice(0, 40).join("\n") }, name(threadList(threads))),
    el("td", {}, el("span", { class: `kind kind-${site.kind}` }, site.kind === "rmw" ? "read-modify-write" : site.kind)),
    el("td", { class: "mono" }, ranges.length > 3 ? `${ranges.length} ranges` : ranges.join(", "),
      fields.length > 0 && el("div", { class: "where name" }, fields.length > 2 ? `${fields.length} fields` : fields.join(", "))),
    el("td", {}, callPath(site.call_path)));
}
