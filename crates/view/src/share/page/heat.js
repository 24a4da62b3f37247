// The heat map. One canvas for 2 to 1000 threads; drag to zoom, arrow keys to walk.

const NAMED_CELL = 15; // A row this high (in CSS pixels) has room for its name.
const LARGEST_CELL = 84;
const POOLED_BELOW = 3; // Smaller cells share dots, of which each shows its largest.
const DOT = 1.5;

function heatSection() {
  const matrices = {
    threads: makeMatrix(share.matrix.labels, cells.threads, threadName),
    cores: makeMatrix(share.matrix.cores.labels, cells.cores, (cpu) => `cpu ${cpu}`),
  };
  const state = { who: "threads", kind: "all", directed: false, log: false, focus: null, zoom: null, drag: null };
  const canvas = el("canvas", { tabIndex: 0, role: "application", "aria-roledescription": "heat map", "aria-label": "Communication matrix; arrow keys walk over cells, Escape zooms out" });
  const legend = el("canvas", { width: 256, height: 1, "aria-hidden": "true" });
  const [least, most] = [el("span"), el("span")];
  const reset = el("button", { type: "button", class: "quiet", hidden: true }, "Zoom out");
  const cell = el("div", { class: "cell", "aria-live": "polite" });
  const pairs = el("div");
  let view = null;
  let geometry = null;
  const base = document.createElement("canvas"); // All but the marks, so that pointing at cells stays cheap.

  const matrix = () => matrices[state.who];
  const range = () => state.zoom ?? { row: 0, column: 0, rows: matrix().size, columns: matrix().size };
  const scaled = (value) => (state.log ? Math.log1p(value) / Math.log1p(view.largest) : value / view.largest);

  function update() {
    view = viewCells(matrix(), state.kind, state.directed);
    reset.hidden = state.zoom === null;
    paint();
    listPairs();
    describe();
  }

  function paint() {
    const box = canvas.clientWidth;
    if (box === 0 || matrix().size === 0) return;
    const { row: top, column: left, rows, columns } = range();
    const style = getComputedStyle(document.documentElement);
    const ratio = window.devicePixelRatio || 1;
    const longest = Math.max(...Array.from({ length: Math.min(rows, 60) }, (_, index) => matrix().label(top + index).length));
    const margin = Math.min(130, 14 + 7 * longest);
    const side = Math.min(box - margin, LARGEST_CELL * Math.max(rows, columns));
    const [width, height] = [side / columns, side / rows];
    geometry = { margin, width, height, top, left, rows, columns };
    canvas.style.height = `${side + margin}px`;
    base.width = canvas.width = Math.round(box * ratio);
    base.height = canvas.height = Math.round((side + margin) * ratio);
    const pen = base.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = style.getPropertyValue("--sunken");
    pen.fillRect(margin, margin, side, side);

    const colour = scale(state.kind, isDark());
    const inside = view.found.filter(([row, column]) => row >= top && row < top + rows && column >= left && column < left + columns);
    if (width < POOLED_BELOW) drawPooled(pen, inside, colour, side);
    else drawCells(pen, inside, colour);
    if (width > 38) drawNumbers(pen, inside, colour);
    drawLabels(pen, style);
    drawLegend(colour);
    draw();
  }

  function draw() {
    const pen = canvas.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.drawImage(base, 0, 0);
    pen.scale(window.devicePixelRatio || 1, window.devicePixelRatio || 1);
    if (geometry) drawMarks(pen, getComputedStyle(document.documentElement));
  }

  function drawCells(pen, inside, colour) {
    const { margin, width, height, top, left } = geometry;
    const gap = width > 6 ? 1 : 0;
    for (const [row, column, value] of inside) {
      pen.fillStyle = `rgb(${colour(scaled(value)).join(" ")})`;
      pen.fillRect(margin + (column - left) * width, margin + (row - top) * height, width - gap, height - gap);
    }
  }

  function drawPooled(pen, inside, colour, side) {
    const { margin, top, left, rows } = geometry;
    const dots = Math.min(rows, Math.floor(side / DOT));
    const largest = new Float64Array(dots * dots);
    for (const [row, column, value] of inside) {
      const at = Math.floor(((row - top) * dots) / rows) * dots + Math.floor(((column - left) * dots) / rows);
      largest[at] = Math.max(largest[at], value);
    }
    const image = new ImageData(dots, dots);
    largest.forEach((value, at) => { if (value > 0) image.data.set([...colour(scaled(value)), 255], at * 4); });
    const buffer = document.createElement("canvas");
    buffer.width = buffer.height = dots;
    buffer.getContext("2d").putImageData(image, 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(buffer, margin, margin, side, side);
  }

  function drawNumbers(pen, inside, colour) {
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (const [row, column, value] of inside) {
      const [r, g, b] = colour(scaled(value));
      pen.fillStyle = 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#15181e" : "#ffffff";
      const { margin, width, height, top, left } = geometry;
      pen.fillText(compact(value), margin + (column - left + 0.5) * width, margin + (row - top + 0.5) * height);
    }
  }

  function drawLabels(pen, style) {
    const { margin, width, height, top, left, rows, columns } = geometry;
    pen.fillStyle = style.getPropertyValue("--muted");
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    const fit = (text) => (pen.measureText(text).width <= margin - 8 ? text : `${text.slice(0, 15)}…`);
    const step = (size) => Math.max(1, Math.ceil(NAMED_CELL / size));
    pen.textAlign = "right";
    for (let row = 0; row < rows; row += step(height)) pen.fillText(fit(matrix().label(top + row)), margin - 7, margin + (row + 0.5) * height);
    pen.textAlign = "left";
    for (let column = 0; column < columns; column += step(width)) {
      pen.save();
      pen.translate(margin + (column + 0.5) * width, margin - 7);
      pen.rotate(-Math.PI / 2);
      pen.fillText(fit(matrix().label(left + column)), 0, 0);
      pen.restore();
    }
  }

  function drawMarks(pen, style) {
    const { margin, width, height, top, left } = geometry;
    pen.strokeStyle = style.getPropertyValue("--focus");
    pen.lineWidth = 2;
    if (state.focus) {
      const [row, column] = state.focus;
      const [x, y] = [margin + (column - left) * width, margin + (row - top) * height];
      const [w, h] = [Math.max(width, 5), Math.max(height, 5)];
      pen.strokeRect(x + (width - w) / 2, y + (height - h) / 2, w, h);
    }
    if (state.drag?.to) {
      const { from, to } = state.drag;
      pen.setLineDash([4, 3]);
      pen.strokeRect(Math.min(from.x, to.x), Math.min(from.y, to.y), Math.abs(to.x - from.x), Math.abs(to.y - from.y));
      pen.setLineDash([]);
    }
  }

  function drawLegend(colour) {
    const pen = legend.getContext("2d");
    for (let step = 0; step < 256; step++) {
      pen.fillStyle = `rgb(${colour(step / 255).join(" ")})`;
      pen.fillRect(step, 0, 1, 1);
    }
    least.textContent = "0";
    most.textContent = `${compact(view.largest)} ${share.matrix.unit}${share.matrix.unit === "samples" ? "" : ", estimated"}`;
  }

  const between = (row, column) => `${matrix().label(row)} ${state.directed ? "→" : "↔"} ${matrix().label(column)}`;

  function describe() {
    cell.replaceChildren();
    if (!state.focus) {
      cell.append(el("p", { class: "muted" }, state.directed ? "Rows wrote first, columns accessed later." : "Both directions together.", " Point at a cell, or drag over an area to zoom in."));
      return;
    }
    const [row, column] = state.focus;
    const source = state.directed ? matrix().directed : matrix().symmetric;
    const parts = source.get(row * matrix().size + column) ?? [0, 0];
    const back = matrix().directed.get(column * matrix().size + row) ?? [0, 0];
    const entry = (term, value) => [el("dt", {}, term), el("dd", {}, compact(value))];
    cell.append(el("h3", {}, name(between(row, column))),
      el("dl", {}, ...entry("All", parts[0] + parts[1]), ...entry("True sharing", parts[0]), ...entry("False sharing", parts[1]),
        ...(state.directed && row !== column ? entry("The other way", back[0] + back[1]) : []),
        el("dt", { class: "muted" }, "Of this view"), el("dd", { class: "muted" }, percent(view.total > 0 ? amount(parts, state.kind) / view.total : 0))));
  }

  function listPairs() {
    const busiest = view.found.filter(([row, column]) => state.directed || row <= column).sort((a, b) => b[2] - a[2]).slice(0, 8);
    pairs.replaceChildren(el("h4", {}, "Busiest pairs"), el("ol", {}, busiest.map(([row, column, value]) => {
      const button = el("button", { type: "button" }, name(between(row, column)), el("span", { class: "volume" }, compact(value)), el("span", { class: "part muted" }, percent(value / view.total)));
      button.addEventListener("click", () => focus(row, column, true));
      return el("li", {}, button);
    })), ...(busiest.length === 0 ? [el("p", { class: "muted" }, "Nothing of this kind was seen.")] : []));
  }

  function focus(row, column, reveal) {
    const { row: top, column: left, rows, columns } = range();
    if (reveal && (row < top || row >= top + rows || column < left || column >= left + columns)) { state.zoom = null; reset.hidden = true; paint(); }
    state.focus = [row, column];
    draw();
    describe();
  }

  const point = (event) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const cellAt = ({ x, y }) => {
    if (!geometry) return null;
    const { margin, width, height, top, left, rows, columns } = geometry;
    const [row, column] = [Math.floor((y - margin) / height), Math.floor((x - margin) / width)];
    return row >= 0 && row < rows && column >= 0 && column < columns ? [top + row, left + column] : null;
  };
  canvas.addEventListener("pointermove", (event) => {
    const to = point(event);
    if (state.drag) {
      state.drag.to = Math.hypot(to.x - state.drag.from.x, to.y - state.drag.from.y) > 6 ? to : null;
      draw();
    } else {
      const found = cellAt(to);
      if (found && String(found) !== String(state.focus)) focus(...found);
    }
  });
  canvas.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button === 0) {
      state.drag = { from: point(event), to: null };
      canvas.setPointerCapture(event.pointerId);
    }
  });
  canvas.addEventListener("pointerup", (event) => {
    const [from, to] = state.drag?.to ? [cellAt(state.drag.from), cellAt(point(event))] : [null, null];
    state.drag = null;
    if (from && to) zoomTo(from, to);
    else draw();
  });
  canvas.addEventListener("pointercancel", () => { state.drag = null; draw(); });
  canvas.addEventListener("dblclick", () => zoomTo(null));

  function zoomTo(from, to) {
    if (from) {
      const [row, column] = [Math.min(from[0], to[0]), Math.min(from[1], to[1])];
      const size = Math.max(Math.abs(from[0] - to[0]), Math.abs(from[1] - to[1])) + 1;
      state.zoom = { row, column, rows: Math.min(size, matrix().size - row), columns: Math.min(size, matrix().size - column) };
    } else state.zoom = null;
    update();
  }
  reset.addEventListener("click", () => zoomTo(null));
  canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const { row: top, column: left, rows, columns } = range();
    if (event.key === "Escape") zoomTo(null);
    else if (event.key in steps) {
      const [row, column] = state.focus ?? [top, left];
      const clamp = (value, low, size) => Math.max(low, Math.min(low + size - 1, value));
      focus(clamp(row + steps[event.key][0], top, rows), clamp(column + steps[event.key][1], left, columns));
    } else return;
    event.preventDefault();
  });

  const change = (key, reset) => (value) => { state[key] = value; if (reset) { state.zoom = null; state.focus = null; } update(); };
  const pattern = describePattern(share.pattern);
  const section = el("section", { "aria-label": "Who communicates with whom" },
    el("div", { class: "head" }, el("h2", {}, "Who communicates with whom"), el("span", { class: "spring" }),
      el("div", { class: "controls" },
        segments("Kind of sharing", [["all", "All"], ["true", "True"], ["false", "False"]], state.kind, change("kind")),
        segments("Rows and columns", [["threads", "Threads"], ["cores", "Cores"]], state.who, change("who", true)),
        segments("Direction", [[false, "Symmetric"], [true, "Directed"]], state.directed, change("directed")),
        segments("Colour scale", [[false, "Linear"], [true, "Log"]], state.log, change("log"))),
      pattern && el("p", { class: "name" }, pattern)),
    el("div", { class: "card heat" }, el("div", {}, canvas, el("div", { class: "legend" }, least, legend, most, reset)),
      el("div", { class: "side" }, cell, pairs)));
  // Painting changes the height: in the next frame, or the observer would be told of its own change.
  new ResizeObserver(() => { if (view) requestAnimationFrame(paint); }).observe(section);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => paint());
  document.addEventListener("themechange", () => paint());
  return { section, update };
}
