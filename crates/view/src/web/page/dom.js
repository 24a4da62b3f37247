// Elements are made, never parsed: text from the profiled program becomes text nodes and nothing else.

/** An element. `options`: properties; `class`, `data-…`, `aria-…`, `role` and `style` become attributes. */
function el(tag, options, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(options ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "style") Object.assign(node.style, value);
    else if (key === "class" || key === "role" || key.includes("-") || key === "colspan") node.setAttribute(key, value);
    else node[key] = value;
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false && child !== ""));
  return node;
}

/** An SVG element. */
function svg(tag, attributes, ...children) {
  const node = document.createElementNS("http" + "://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes ?? {})) if (value !== null && value !== undefined) node.setAttribute(key, value);
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** A name that the profiled program chose. */
const name = (text, tag = "span", more = "") => el(tag, { class: `name ${more}` }, text);

/** Buttons of which one is pressed. `choices`: [value, label]. Calls `pick` on change. */
function segments(label, choices, chosen, pick) {
  const group = el("div", { class: "segments", role: "group", "aria-label": label });
  for (const [value, text] of choices) {
    const button = el("button", { type: "button", "aria-pressed": String(value === chosen) }, text);
    button.addEventListener("click", () => {
      for (const each of group.children) each.setAttribute("aria-pressed", String(each === button));
      pick(value);
    });
    group.append(button);
  }
  return group;
}

/** A bar for a fraction with its confidence interval. */
function intervalBar(interval, scale = 1, kind = "") {
  const at = (value) => `${Math.max(0, Math.min(100, (100 * (value ?? 0)) / scale))}%`;
  return el("div", { class: `interval ${kind}`, title: `95% interval ${percent(interval.low)} to ${percent(interval.high)}` },
    el("i", { style: { width: at(interval.high) } }),
    el("i", { style: { width: at(interval.low) } }),
    el("b", { style: { left: at(interval.estimate) } }));
}

/** Text with `names` between backquotes as code. A line does not break within an option. */
const inlineCode = (text) => text.split("`").flatMap((part, index) => (index % 2 === 1 ? name(part, "code")
  : part.split(/(--[a-z-]+)/).map((word, at) => (at % 2 === 1 ? el("span", { class: "option" }, word) : word))));

/** What is made when it is first opened. */
function unfolding(title, make) {
  const details = el("details", {}, el("summary", {}, title));
  details.addEventListener("toggle", () => {
    if (details.childElementCount === 1) details.append(...[make()].flat().filter(Boolean));
  });
  return details;
}

/** The first `most` of these elements in their holder, and a button that adds the others. */
function firstOf(most, elements, holder) {
  holder.append(...elements.slice(0, most));
  if (elements.length > most) {
    const more = el("button", { type: "button", class: "quiet" }, `Show ${thousands(elements.length - most)} more`);
    more.addEventListener("click", () => { holder.append(...elements.slice(most)); more.remove(); });
    return [holder, more];
  }
  return [holder];
}

/** The row, each cell of which knows its column's title: on a narrow screen cells stand below each other. */
function titled(row, titles) {
  [...row.children].forEach((cell, index) => cell.setAttribute("data-title", titles[index] ?? ""));
  return row;
}

/** A call path from the program's own code on: what it calls of libraries says little. The whole where none is the program's. */
function ownPath(frames) {
  const own = frames.findIndex((frame) => !frame.library && frame.function !== null);
  return own < 0 ? frames : frames.slice(own);
}

/** Innermost function first; callers below it. */
function callPath(frames) {
  if (frames.length === 0) return el("span", { class: "muted" }, "not known");
  const step = (frame) => [name(frame.function ?? frame.address, "code"), " ",
    el("span", { class: "where", title: [frame.file, frame.module].filter(Boolean).join("\n") }, place(frame) ?? (frame.module ? basename(frame.module) : "")),
    frame.inlined && el("span", { class: "where" }, " (inlined)")];
  const [innermost, ...callers] = frames;
  return el("div", {}, el("div", {}, ...step(innermost)),
    ...callers.map((frame) => el("div", { class: "path" }, "↖ ", ...step(frame))));
}
