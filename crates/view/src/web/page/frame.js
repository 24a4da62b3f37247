// What every page has around its content.

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

/** The page, with what it is about, and what it says in a sentence; its main part. */
function framed(command, subject, verdict) {
  const main = el("main", {}, el("h1", { class: "verdict name" }, ...inlineCode(verdict)));
  document.getElementById("page").append(
    el("header", {}, el("div", { class: "brand" }, "carom ", el("span", {}, command)), name(subject, "code", "command"), themeToggle()), main);
  return main;
}

const footer = (carom) => el("footer", {}, `carom ${carom.version} · report schema ${carom.schema}`);
