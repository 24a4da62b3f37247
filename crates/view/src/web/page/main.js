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

/** The question that was asked comes first, then those of the findings, the worst first. */
const rank = ({ name }) => {
  const found = (report.findings ?? []).findIndex((finding) => finding.question === name);
  return name === report.command ? -1 : found < 0 ? Infinity : found;
};
questions.sort((a, b) => (rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0));
const leading = questions.find((each) => each.name === report.command);
const parts = questions
  .map((question) => ({ ...question, sections: question.sections().filter(Boolean) }))
  .filter(({ sections }) => sections.length > 0);
const factsOf = (question) => question?.facts && el("div", { class: "facts" }, question.facts());
const page = document.getElementById("page");
page.append(
  el("header", {}, el("div", { class: "brand" }, "carom ", el("span", {}, report.command)),
    name(commandLine(report.program.argv), "code", "command"), themeToggle()),
  el("main", {}, el("h1", { class: "verdict name" }, ...inlineCode(report.verdict)), factsOf(leading)));
const main = page.querySelector("main");
if (report.command === "profile" && parts.length > 1) {
  const { list, panels, open } = tabbed(parts.map((part) => ({ ...part, sections: [factsOf(part), ...part.sections].filter(Boolean) })));
  openTab = (name) => open(name, true);
  main.append(list, ...panels);
  // A link may ask for a tab: report.html#reuse.
  open(location.hash.slice(1), false) || open(parts[0].name, false);
} else {
  for (const part of parts.flatMap(({ sections }) => sections)) {
    main.append(part.section ?? part);
    part.update?.();
  }
}
main.append(trustSection());
page.append(el("footer", {}, `carom ${report.carom.version} · report schema ${report.carom.schema}`));
