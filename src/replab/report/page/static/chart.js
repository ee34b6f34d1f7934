// One chart for curves and searches, in SVG: hover or arrow keys read values, drag or + zooms, the legend hides series.

const NS = "http://www.w3.org/2000/svg";
const EDGE = { left: 54, right: 14, top: 8, bottom: 36 };
const HEIGHT = 250;

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function shape(parent, name, attributes, text) {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

export function spelled(value) {
  if (value == null) return "not finite";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e");
  return String(Number(value.toPrecision(4)));
}

function ticks(low, high, wanted) {
  const raw = (high - low) / wanted || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(Number((i * step).toPrecision(12)));
  return found;
}

function logTicks(low, high) {
  const found = [];
  const decades = Math.log10(high / low);
  const factors = decades > 3 ? [1] : decades > 1 ? [1, 3] : [1, 2, 3, 5, 7];
  for (let p = Math.floor(Math.log10(low)); p <= Math.log10(high); p++)
    for (const f of factors) if (f * 10 ** p >= low * 0.999 && f * 10 ** p <= high * 1.001) found.push(Number((f * 10 ** p).toPrecision(6)));
  return found;
}

// (x, y, text, ring) of a series of lines or of marks
function pointsOf(series) {
  return series.marks ?? series.points.map(([x, y]) => ({ x, y }));
}

// `seen` is told of each point that is read: (x, y, text …)
export function chart(holder, first, seen = () => {}) {
  let spec = first;
  let zoom = null; // [low, high] on the x axis
  let cursor = null; // an x value
  const hidden = new Set();
  const reset = element("button", { type: "button", hidden: true, onclick: () => zoomTo(null) }, "Reset zoom");
  const title = element("div", { class: "chart-title" }, element("span"), reset);
  const plot = element("div", { class: "plot", tabindex: "0", role: "group" });
  const readout = element("div", { class: "readout", "aria-live": "polite" });
  const legend = element("div", { class: "legend", role: "group", "aria-label": "Series" });
  const values = element("details", {}, element("summary", {}, "Values as a table"));
  holder.append(element("div", { class: "chart" }, title, plot, readout, legend, values));
  let view = null; // how values become pixels, as last drawn
  let over = null; // what is drawn over the series: the cursor, and the points it reads

  function scales() {
    const width = Math.max(240, plot.clientWidth || 480);
    const shown = spec.series.filter((s) => !hidden.has(s.name));
    const all = shown.flatMap(pointsOf);
    let xs = all.map((p) => p.x);
    if (!xs.length) xs = [1];
    let [low, high] = zoom ?? [xs.reduce((a, b) => Math.min(a, b)), xs.reduce((a, b) => Math.max(a, b))];
    const log = Boolean(spec.log);
    if (!zoom) {
      if (spec.kinds?.length) [low, high] = [-0.5, spec.kinds.length - 0.5];
      else if (log) [low, high] = [low / 1.25, high * 1.25];
      else if (low === high) [low, high] = [low - 0.5, high + 0.5];
      else if (shown.some((s) => s.marks)) [low, high] = [low - 0.05 * (high - low), high + 0.05 * (high - low)];
    }
    let ys = all.filter((p) => p.x >= low && p.x <= high && p.y != null).map((p) => p.y);
    if (!ys.length) ys = [0, 1];
    const sorted = [...ys].sort((a, b) => a - b);
    let [bottom, top] = [sorted[0], sorted[sorted.length - 1]];
    // A few exploded values must not flatten the others: they leave by the top edge.
    const usual = sorted[Math.floor(0.8 * (sorted.length - 1))];
    const reach = bottom + 40 * Math.max(usual - bottom, Math.abs(bottom), 1e-12);
    if (sorted.length > 4 && top > reach && !spec.bare) top = sorted.filter((y) => y <= reach).pop();
    const room = 0.07 * (top - bottom) || 0.05 * Math.abs(top) || 0.5;
    [bottom, top] = [bottom - room, spec.unit === "%" && top <= 100 ? Math.min(top + room, 100.5) : top + room];
    const at = log ? Math.log : (v) => v;
    const inner = width - EDGE.left - EDGE.right;
    const height = spec.tall ?? HEIGHT;
    const depth = height - EDGE.top - EDGE.bottom;
    return {
      width, height, low, high, bottom, top, log,
      x: (v) => EDGE.left + ((at(v) - at(low)) / (at(high) - at(low))) * inner,
      y: (v) => (v == null ? EDGE.top : Math.max(EDGE.top, EDGE.top + ((top - v) / (top - bottom)) * depth)),
      back: (px) => {
        const share = Math.min(1, Math.max(0, (px - EDGE.left) / inner));
        const v = at(low) + share * (at(high) - at(low));
        return log ? Math.exp(v) : v;
      },
    };
  }

  function draw() {
    view = scales();
    const svg = document.createElementNS(NS, "svg");
    svg.setAttribute("viewBox", `0 0 ${view.width} ${view.height}`);
    svg.setAttribute("aria-hidden", "true");
    for (const v of spec.bare ? [] : ticks(view.bottom, view.top, 5)) {
      shape(svg, "line", { class: "axis", x1: EDGE.left, x2: view.width - EDGE.right, y1: view.y(v), y2: view.y(v) });
      shape(svg, "text", { class: "tick", x: EDGE.left - 7, y: view.y(v) + 4, "text-anchor": "end" }, spelled(v));
    }
    const base = view.height - EDGE.bottom;
    const across = spec.bare ? [] : spec.kinds?.length ? spec.kinds.map((_, i) => i)
      : view.log ? logTicks(view.low, view.high)
      : ticks(view.low, view.high, Math.max(2, Math.floor(view.width / 80))).filter((v) => spec.x !== "epoch" || Number.isInteger(v));
    for (const v of across) {
      shape(svg, "line", { class: "axis", x1: view.x(v), x2: view.x(v), y1: base, y2: base + 4 });
      const text = spec.kinds?.length ? spec.kinds[v].slice(0, 14) : spelled(v);
      shape(svg, "text", { class: "tick", x: view.x(v), y: base + 16, "text-anchor": "middle" }, text);
    }
    shape(svg, "text", { class: "tick", x: view.width - EDGE.right, y: view.height - 4, "text-anchor": "end" }, spec.x);
    const clip = shape(svg, "clipPath", { id: `clip-${chart.count = (chart.count ?? 0) + 1}` });
    shape(clip, "rect", { x: EDGE.left - 6, y: 0, width: view.width - EDGE.left - EDGE.right + 12, height: base + 4 });
    const area = shape(svg, "g", { "clip-path": `url(#${clip.id})` });
    for (const series of spec.series) if (!hidden.has(series.name)) drawSeries(area, series);
    over = shape(area, "g", {});
    plot.replaceChildren(svg);
    if (cursor != null) point();
  }

  // Only the cursor moves when a person looks: the series stay as they are drawn.
  function point(near) {
    over.replaceChildren();
    if (near?.text) {
      shape(over, "circle", { class: "ring", cx: view.x(near.x), cy: view.y(near.y), r: spec.small ? 6 : 8 });
      return;
    }
    shape(over, "line", { class: "cursor", x1: view.x(cursor), x2: view.x(cursor), y1: EDGE.top, y2: view.height - EDGE.bottom });
    for (const series of spec.series) {
      if (hidden.has(series.name) || series.marks) continue;
      const group = shape(over, "g", { class: `c${series.colour % 10}` });
      for (const [x, y] of series.points) if (x === cursor && y != null) shape(group, "circle", { class: "mark", cx: view.x(x), cy: view.y(y), r: 4 });
    }
  }

  function drawSeries(area, series) {
    const group = shape(area, "g", { class: `c${series.colour % 10}` });
    if (series.marks) {
      for (const p of series.marks) {
        const [x, y] = [view.x(p.x), view.y(p.y)];
        const mark = p.cross ? shape(group, "path", { class: "cross", d: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8` })
          : shape(group, "circle", { class: "mark", cx: x, cy: y, r: spec.small ? 3 : 4.5 });
        shape(mark, "title", {}, p.text);
        if (p.ring) shape(group, "circle", { class: "ring", cx: view.x(p.x), cy: view.y(p.y), r: 8 });
      }
      return;
    }
    let path = "";
    let pen = "M";
    for (const [x, y] of series.points) {
      if (y == null) { pen = "M"; continue; }
      path += `${pen}${view.x(x).toFixed(1)} ${view.y(y).toFixed(1)}`;
      pen = "L";
    }
    shape(group, "path", { class: "line", d: path || "M0 0", ...(series.dashed ? { "stroke-dasharray": "6 4" } : {}) });
    if (series.points.length > 40) return;
    for (const [x, y] of series.points) if (y != null) shape(group, "circle", { class: "mark", cx: view.x(x), cy: view.y(y), r: 2.5 });
  }

  function read(x, px, py) {
    const shown = spec.series.filter((s) => !hidden.has(s.name));
    const all = shown.flatMap((s) => pointsOf(s).map((p) => ({ ...p, series: s })));
    if (!all.length) return;
    const far = (p) => (p.text && py != null ? Math.hypot(view.x(p.x) - px, view.y(p.y) - py) : Math.abs(view.x(p.x) - view.x(x)));
    const near = all.reduce((best, p) => (far(p) < far(best) ? p : best));
    cursor = near.x;
    if (near.text) readout.textContent = near.text;
    else {
      const parts = all.filter((p) => p.x === near.x).map((p) => `${p.series.name} ${spelled(p.y)}${spec.unit && p.y != null ? " " + spec.unit : ""}`);
      readout.textContent = `${spec.x} ${spelled(near.x)}: ${parts.join(", ")}`;
    }
    point(near);
    seen(near);
  }

  function zoomTo(range) {
    zoom = range;
    reset.hidden = !range;
    draw();
  }

  function step(direction) {
    const xs = [...new Set(spec.series.filter((s) => !hidden.has(s.name)).flatMap((s) => pointsOf(s).map((p) => p.x)))]
      .filter((x) => x >= view.low && x <= view.high).sort((a, b) => a - b); // marks that share an x are read by pointer
    const place = cursor == null ? (direction > 0 ? -1 : xs.length) : xs.indexOf(cursor);
    const next = xs[Math.min(xs.length - 1, Math.max(0, place + direction))];
    if (next !== undefined) read(next);
  }

  function zoomBy(factor) {
    if (spec.kinds?.length) return;
    const middle = view.x(cursor ?? view.back((EDGE.left + view.width - EDGE.right) / 2));
    const half = ((view.width - EDGE.left - EDGE.right) / 2) * factor;
    zoomTo([view.back(Math.max(EDGE.left, middle - half)), view.back(Math.min(view.width - EDGE.right, middle + half))]);
  }

  let start = null;
  const place = (event) => {
    const box = plot.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  plot.addEventListener("pointerdown", (event) => { [start] = place(event); });
  plot.addEventListener("pointermove", (event) => {
    const [px, py] = place(event);
    read(view.back(px), px, py);
    if (start != null && Math.abs(px - start) > 8) {
      shape(over, "rect", { class: "selection", x: Math.min(px, start), y: EDGE.top, width: Math.abs(px - start), height: view.height - EDGE.top - EDGE.bottom });
    }
  });
  plot.addEventListener("pointerup", (event) => {
    const [px] = place(event);
    if (start != null && Math.abs(px - start) > 8) zoomTo([start, px].sort((a, b) => a - b).map(view.back));
    start = null;
  });
  plot.addEventListener("pointerleave", () => { start = null; cursor = null; readout.textContent = ""; over.replaceChildren(); });
  plot.addEventListener("dblclick", () => zoomTo(null));
  plot.addEventListener("keydown", (event) => {
    const act = { ArrowRight: () => step(1), ArrowLeft: () => step(-1), "+": () => zoomBy(0.5), "-": () => zoomTo(null), 0: () => zoomTo(null) }[event.key];
    if (act) { event.preventDefault(); act(); }
  });

  function drawLegend() {
    const focused = [...legend.children].indexOf(document.activeElement);
    legend.replaceChildren(...spec.series.map((series) => {
      const last = series.points?.filter(([, y]) => y != null).pop();
      const text = last ? `${series.name} ${spelled(last[1])}${spec.unit ? " " + spec.unit : ""}` : `${series.name} (${series.marks?.length ?? 0})`;
      const look = series.marks ? "dot" : series.dashed ? "dashed" : "";
      const swatch = element("span", { class: `swatch ${look} c${series.colour % 10}` });
      if (series.marks) swatch.style.background = "currentColor";
      return element("button", {
        type: "button", "aria-pressed": String(!hidden.has(series.name)),
        onclick: () => { if (!hidden.delete(series.name)) hidden.add(series.name); drawLegend(); draw(); },
      }, swatch, text);
    }));
    if (focused >= 0) legend.children[focused]?.focus();
  }

  values.addEventListener("toggle", () => {
    values.querySelector("div")?.remove();
    if (!values.open) return;
    const rows = spec.series.flatMap((s) => s.marks ? s.marks.map((p) => [s.name, p.text]) : s.points.map(([x, y]) => [s.name, spelled(x), spelled(y)]));
    const heads = spec.series.some((s) => s.marks) ? ["state", "trial"] : ["series", spec.x, spec.title];
    values.append(element("div", { class: "wide tall", tabindex: "0", role: "region", "aria-label": "Values" }, element("table", {},
      element("thead", {}, element("tr", {}, ...heads.map((h) => element("th", { scope: "col" }, h)))),
      element("tbody", {}, ...rows.map((r) => element("tr", {}, ...r.map((c) => element("td", {}, c))))))));
  });

  function update(next) {
    spec = next;
    title.firstChild.textContent = spec.title + (spec.unit ? ` (${spec.unit})` : "");
    plot.setAttribute("aria-label", `Chart of ${spec.title}${spec.x ? ` over ${spec.x}` : ""}. Arrow keys read values, plus zooms in, 0 shows all.`);
    drawLegend();
    draw();
  }
  update(first);
  new ResizeObserver(() => { if (Math.abs(plot.clientWidth - view.width) > 1) draw(); }).observe(plot);
  return { update };
}

export function charts(holder, specs) {
  const drawn = holder.drawn ?? (holder.drawn = new Map());
  specs.forEach((spec, i) => {
    const key = `${i} ${spec.title} ${spec.x}`;
    if (drawn.has(key)) drawn.get(key).update(spec);
    else drawn.set(key, chart(holder, spec));
  });
  if (!specs.length && !drawn.size) holder.textContent = "No epoch has ended yet.";
  else if (holder.firstChild?.nodeType === 3) holder.firstChild.remove();
}
