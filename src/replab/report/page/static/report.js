// A run's report: draws what the page's data block holds. The same script serves report.html and the live page.
import { charts, element } from "./chart.js";
import { sortable } from "./tables.js";
import { opener, thumb, tile } from "./images.js";
import { diagram } from "./diagram.js";
import { confusion } from "./confusion.js";

const FIRST = 48; // mistakes that are shown at once

export function mistakes(data, open) {
  const order = document.getElementById("mistake-order");
  const more = document.getElementById("more-mistakes");
  const wrong = data.examples.items.map((item, place) => ({ item, place })).filter(({ item }) => item[1] !== item[2]);
  const keys = { sure: (i) => -i[3], unsure: (i) => i[3], true: (i) => i[1], answer: (i) => i[2] };
  let shown = FIRST;
  function draw() {
    const key = keys[order.value];
    const sorted = [...wrong].sort((a, b) => key(a.item) - key(b.item) || b.item[3] - a.item[3]);
    document.getElementById("mistake-images").replaceChildren(...sorted.slice(0, shown).map(({ place }) => thumb(data, place, open)));
    document.getElementById("mistake-count").textContent = wrong.length ? `${Math.min(shown, wrong.length)} of ${wrong.length} kept mistakes` : "No mistakes were kept.";
    more.hidden = shown >= wrong.length;
  }
  order.addEventListener("change", draw);
  more.addEventListener("click", () => { shown += 4 * FIRST; draw(); });
  draw();
}

export function samples(frames) {
  const slider = document.getElementById("frame");
  const image = document.getElementById("frame-image");
  function show() {
    const frame = frames[Number(slider.value)];
    image.src = frame.url;
    image.alt = `Samples after epoch ${frame.epoch}`;
    slider.setAttribute("aria-valuetext", `epoch ${frame.epoch}`);
    document.getElementById("frame-epoch").textContent = frame.epoch;
  }
  slider.addEventListener("input", show);
  show();
}

// One slider moves all walks, from their first image to their last.
export function walks(spec) {
  const slider = document.getElementById("walk");
  const place = document.getElementById("walks");
  function show() {
    const step = Number(slider.value);
    place.replaceChildren(...Array.from({ length: spec.count }, (_, i) => element("div", { class: "thumb" }, tile(spec, i * spec.steps + step, `walk ${i + 1}, step ${step + 1}`))));
    document.getElementById("walk-step").textContent = `${step + 1} of ${spec.steps}`;
  }
  slider.addEventListener("input", show);
  show();
}

export function reconstructions(spec) {
  document.getElementById("reconstructions").replaceChildren(...Array.from({ length: spec.count }, (_, i) =>
    element("div", { class: "thumb" }, tile(spec, 2 * i, `image ${i + 1}`), tile(spec, 2 * i + 1, `reconstruction of image ${i + 1}`))));
}

export function report(data) {
  for (const holder of document.querySelectorAll("[data-charts]")) charts(holder, data[holder.dataset.charts] ?? []);
  for (const table of document.querySelectorAll("table.sortable")) sortable(table);
  const open = data.examples ? opener(data) : () => {};
  const matrix = document.querySelector("table.matrix");
  if (matrix) confusion(matrix, data, open);
  if (data.examples) mistakes(data, open);
  if (data.frames?.length) samples(data.frames);
  if (data.walks) walks(data.walks);
  if (data.reconstructions) reconstructions(data.reconstructions);
  if (data.diagram) diagram(document.getElementById("diagram"), data.diagram);
}

const block = document.getElementById("data");
if (block) report(JSON.parse(block.textContent));
