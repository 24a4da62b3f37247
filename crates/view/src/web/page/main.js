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

const leading = questions.find((each) => each.name === report.command);
const page = document.getElementById("page");
document.title = `carom ${report.command}: ${report.program.argv.join(" ")}`;
page.append(
  el("header", {}, el("div", { class: "brand" }, "carom ", el("span", {}, report.command)),
    name(report.program.argv.join(" "), "code", "command"), themeToggle()),
  el("main", {}, el("h1", { class: "verdict name" }, ...inlineCode(report.verdict)), el("div", { class: "facts" }, leading?.facts() ?? [])));
const main = page.querySelector("main");
for (const question of [leading, ...questions.filter((each) => each !== leading)]) {
  for (const part of question?.sections() ?? []) {
    if (part) main.append(part.section ?? part);
    part?.update?.();
  }
}
main.append(trustSection());
page.append(el("footer", {}, `carom ${report.carom.version} · report schema ${report.carom.schema}`));
