// The page from top to bottom.

function themeToggle() {
  const button = el("button", { type: "button", class: "quiet" });
  const set = (theme) => {
    document.documentElement.dataset.theme = theme;
    show();
    document.dispatchEvent(new Event("themechange"));
  };
  const show = () => { button.textContent = isDark() ? "Light" : "Dark"; button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`); };
  button.addEventListener("click", () => set(isDark() ? "light" : "dark"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  // A link may ask for a theme: report.html#dark.
  if (["#dark", "#light"].includes(location.hash)) document.documentElement.dataset.theme = location.hash.slice(1);
  show();
  return button;
}

function fact(title, figure, note, bar) {
  return el("div", { class: "fact" }, el("h3", {}, title), el("div", { class: "figure" }, figure), bar, el("p", {}, note));
}

function facts() {
  const { quality, program } = report;
  if (reuse) return el("div", { class: "facts" }, reuseFacts());
  if (!share) return el("div", { class: "facts" }, countFacts());
  const list = [];
  if (share && share.lines.length > 0) {
    const { contended_share: taken, false_fraction: fraction } = share;
    list.push(fact(`On ${plural(share.lines.length, "contended line")}`, percent(taken.estimate), `of the ${wholeName}; 95% interval ${percent(taken.low)} to ${percent(taken.high)}`, intervalBar(taken)));
    list.push(fraction
      ? fact("False sharing", percent(fraction.estimate), `of all sharing; 95% interval ${percent(fraction.low)} to ${percent(fraction.high)}`, intervalBar(fraction, 1, "false"))
      : fact("False sharing", "not known", "too few events for a fraction"));
  }
  list.push(fact("Events of sharing", thousands(quality.events), share?.not_enough ? `${share.not_enough.needed} are needed for fractions` : "seen on the board and by watchpoints"));
  list.push(fact("Samples", thousands(quality.samples), `in ${seconds(program.wall_s)} by the ${report.engine.name} engine`));
  return el("div", { class: "facts" }, list);
}

const page = document.getElementById("page");
document.title = `carom ${report.command}: ${report.program.argv.join(" ")}`;
page.append(
  el("header", {}, el("div", { class: "brand" }, "carom ", el("span", {}, report.command)),
    name(report.program.argv.join(" "), "code", "command"), themeToggle()),
  el("main", {}, el("h1", { class: "verdict name" }, ...inlineCode(report.verdict)), facts()));
const main = page.querySelector("main");
if (share && share.lines.length > 0) main.append(linesSection());
if (share && cells.threads.length > 0 && !share.not_enough) {
  const { section, update } = heatSection();
  main.append(section);
  update();
}
if (reuse && reuse.not_enough === null) main.append(...[curvesSection(), fitsSection(), histogramSection(), pairsSection(), reuseSharingSection(), prefetchSection()].filter(Boolean));
if (counts) main.append(countsSection());
main.append(trustSection());
page.append(el("footer", {}, `carom ${report.carom.version} · report schema ${report.carom.schema}`));
