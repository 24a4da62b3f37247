// The parts of a report on reuse that are neither plot nor table of pairs.

const fitName = (fit) => (fit.scope === "thread" ? threadName(fit.thread) : fit.scope === "all" ? "all threads" : sharedCacheName(fit.domain));

function cacheName(bytes) {
  const cache = reuse.caches.find((each) => each.bytes === bytes);
  return cache ? `${byteSize(bytes)} of ${cache.shared ? "shared" : "private"} L${cache.level}` : byteSize(bytes);
}

function reuseFacts() {
  const list = [];
  const fit = reuse.fits.find((each) => each.scope === "all") ?? reuse.fits[0];
  if (fit) {
    const { estimate, low, high } = fit.miss_ratio;
    list.push(fact(`Misses at ${cacheName(reuse.cache_bytes)}`, percent(estimate), low === high ? "of the accesses; exact" : `of the accesses; 95% band ${percent(low)} to ${percent(high)}`, intervalBar(fit.miss_ratio)));
    list.push(fact("Unavoidable", percent(fit.compulsory), "first accesses, and those after another thread’s write"));
    list.push(fact("Cache size needed", fit.enough_bytes === null ? "none" : byteSize(fit.enough_bytes), fit.enough_bytes === null ? "hardly any capacity misses" : "removes 90% of the capacity misses"));
  }
  const { exact_accesses: exactly, watched, offered } = reuse.quality;
  list.push(exactly > 0 ? fact("Accesses followed", compact(exactly), reuse.quality.place_rate < 1 ? `to ${percent(reuse.quality.place_rate)} of the places` : "every one") : fact("Uses followed", thousands(watched), `of ${thousands(offered)} sampled`));
  return list;
}

function fitsSection() {
  if (reuse.fits.length === 0) return null;
  const sizes = [...new Set([...reuse.caches.map((cache) => cache.bytes), reuse.cache_bytes])].sort((a, b) => a - b);
  const ratio = (fit, bytes) => {
    const curves = reuse.curves.filter((curve) => curve.scope === fit.scope && curve.thread === fit.thread && curve.domain === fit.domain && isMissCurve(curve) && curve.granularity_bytes === 64);
    const curve = curves.find((each) => each.basis === "exact") ?? curves[0];
    const point = curve?.miss_ratio.find((each) => each.bytes === bytes);
    const sets = fit.by_geometry.find((each) => each.bytes === bytes);
    return point ? [percent(point.ratio), point.low !== point.high && el("span", { class: "muted" }, ` ${error({ estimate: point.ratio, ...point })}`),
      sets && el("div", { class: "muted" }, `${percent(sets.ratio)} with ${sets.ways} ways (model)`)] : "";
  };
  const cycles = (bytes) => reuse.caches.find((cache) => cache.bytes === bytes)?.miss_cycles ?? null;
  const costs = sizes.some((bytes) => cycles(bytes) !== null) && el("tr", {}, el("td", { class: "muted" }, "Cycles by access, all threads (model)"),
    sizes.map((bytes) => el("td", { class: "muted" }, cycles(bytes) === null ? "" : cycles(bytes).toFixed(1))), el("td"), el("td"));
  return el("section", { "aria-label": "Misses in this machine’s caches" },
    el("div", { class: "head" }, el("h2", {}, "Misses in this machine’s caches"), el("p", {}, "Misses by accesses in the machine’s caches, each as if it were fully associative, and with the sets that it has; the part that no size avoids; and the cache size needed to remove 90% of the others, which are capacity misses.")),
    el("div", { class: "card scroll" }, el("table", {},
      el("thead", {}, el("tr", {}, ["", ...sizes.map(cacheName), "Unavoidable", "Size needed"].map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, reuse.fits.map((fit) => el("tr", {}, el("td", {}, name(fitName(fit))),
        sizes.map((bytes) => el("td", {}, ratio(fit, bytes))), el("td", {}, percent(fit.compulsory)),
        el("td", {}, fit.enough_bytes === null ? "–" : byteSize(fit.enough_bytes)))), costs))));
}

const partText = (part) => [byteRange(part.offset_bytes, part.width_bytes), part.field && name(` ${part.field}`, "code")].filter(Boolean);

function reuseSharingSection() {
  if (reuse.false_sharing.length === 0) return null;
  return el("section", { "aria-label": "False sharing in the shared cache" },
    el("div", { class: "head" }, el("h2", {}, "False sharing in the shared cache"), el("p", {}, "Each reuse by another thread after a write moves the line from core to core; these are of other bytes than the written.")),
    el("div", { class: "card scroll" }, el("table", {},
      el("thead", {}, el("tr", {}, ["Data", "Of the moves", "Of the accesses", "Reads after a write", "Writes after a write", "Bytes", "Use → reuse", "Threads"].map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, reuse.false_sharing.map((each) => el("tr", {},
        el("td", {}, name(each.object.name, "code", "object"), el("div", { class: "where" }, each.address)),
        el("td", {}, percent(each.share)), el("td", {}, percent(each.share_of_accesses)), el("td", {}, compact(each.raw)), el("td", {}, compact(each.waw)),
        el("td", {}, ...partText(each.use_bytes), " against ", ...partText(each.reuse_bytes)),
        el("td", {}, name(siteName(each.use), "code"), " → ", name(siteName(each.reuse), "code")), el("td", {}, name(threadList(each.threads)))))))));
}

function prefetchSection() {
  const advice = reuse.prefetch;
  if (advice === null) return null;
  return el("section", { "aria-label": "Fetching neighbouring lines" },
    el("div", { class: "head" }, el("h2", {}, "Fetching neighbouring lines")),
    el("div", { class: "remedy" }, el("strong", {}, Math.abs(advice.gain_by_cpu_time ?? 1) < 0.005 ? "Is predicted to make next to no difference." : advice.pays ? "Is predicted to pay." : "Is predicted to cost more than it brings."),
      el("span", {}, `G = ${advice.gain_s?.toPrecision(3)} s of latencies, estimated: ${compact(advice.memory_reuses)} spatial reuses reach memory (${Math.round(advice.memory_ns)} ns each), ${compact(advice.sharing_reuses)} by another thread after a write come within ${thousands(advice.cut_off)} accesses (${Math.round(advice.transfer_ns)} ns each).`)));
}

/** What was followed and lost, for the section on how it was measured. */
function reuseTerms(term) {
  const { quality } = reuse;
  const part = (uses) => percent(uses / Math.max(1, quality.watched));
  const watched = quality.offered > 0 && `${thousands(quality.offered)} sampled, ${thousands(quality.watched)} followed: ${part(quality.reused)} reused, ${part(quality.invalidated)} invalidated, ${part(quality.ended)} never reused, ${part(quality.replaced)} dropped for newer samples`;
  const followed = quality.exact_accesses > 0 && `${thousands(quality.exact_accesses)} accesses followed`;
  const set = quality.threads_armed + quality.threads_unarmed;
  const lost = [`${plural(report.quality.dropped, "record")} dropped`, quality.window_ns !== null && `${duration(quality.window_ns)} from sample to watch on average`,
    set > 0 && `${thousands(quality.threads_unarmed)} of ${thousands(set)} watches in other threads not set`, quality.early_touches > 0 && `${plural(quality.early_touches, "use")} touched by others only while their thread was held`, quality.cells_lost > 0 && `${plural(quality.cells_lost, "count")} without room`];
  return [...term("Uses", [followed, watched, leftOut(), quality.in_episodes && "accesses looked up at first, later in a tenth of the run"].filter(Boolean).join("; ") || "none"), ...term("Lost", lost.filter(Boolean).join("; "))];
}

questions.push({ name: "reuse", title: "Reuse", facts: reuseFacts,
  sections: () => (reuse.not_enough === null ? [curvesSection(), fitsSection(), histogramSection(), pairsSection(), reuseSharingSection(), prefetchSection()] : []), measured: reuseTerms });
