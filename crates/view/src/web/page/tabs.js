// Tabs: one panel at a time, chosen by pointer or by keyboard (arrows, Home, End).

/**
 * `parts`: `name`, `title` and `sections` of each tab. A section is an element, or `{ section, update }`: an element and a
 * function to call when it is first seen. Returns the elements, and a function that opens the tab of a name.
 */
function tabbed(parts) {
  const tabs = parts.map(({ name, title }) =>
    el("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}` }, title));
  const panels = parts.map(({ name, sections }) =>
    el("div", { role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, tabIndex: 0 }, sections.map((part) => part.section ?? part)));
  const list = el("div", { role: "tablist", class: "tabs", "aria-label": "Questions" }, tabs);
  const seen = new Set();

  function select(chosen, focus) {
    tabs.forEach((tab, index) => {
      tab.setAttribute("aria-selected", String(index === chosen));
      tab.tabIndex = index === chosen ? 0 : -1;
      panels[index].hidden = index !== chosen;
    });
    if (focus) tabs[chosen].focus();
    if (!seen.has(chosen)) parts[chosen].sections.forEach((part) => part.update?.());
    seen.add(chosen);
  }
  const open = (name, focus) => {
    const index = parts.findIndex((part) => part.name === name);
    if (index >= 0) select(index, focus);
    return index >= 0;
  };
  tabs.forEach((tab, index) => tab.addEventListener("click", () => select(index, false)));
  list.addEventListener("keydown", (event) => {
    const [at, last] = [tabs.indexOf(document.activeElement), tabs.length - 1];
    const to = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at === 0 ? last : at - 1, Home: 0, End: last }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    select(to, true);
  });
  return { list, panels, open };
}
