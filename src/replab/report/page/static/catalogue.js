// Models with their counts and layers, data sets with their classes and images. Each is asked for once.
import { element } from "./chart.js";
import { ask, token } from "./ask.js";
import { diagram } from "./diagram.js";
import { tile } from "./images.js";
import { sortable } from "./tables.js";

const asked = new Map();
function once(address) {
  if (!asked.has(address)) asked.set(address, ask(address));
  return asked.get(address);
}

const dialog = document.getElementById("closer");
const inside = document.getElementById("closer-more");
async function open(title, address, draw) {
  document.getElementById("closer-title").textContent = title;
  inside.replaceChildren(element("p", { role: "status" }, "It is made ready …"));
  dialog.showModal();
  try { draw(await once(address)); } catch (error) { inside.replaceChildren(element("p", { class: "warning" }, error.message)); }
}

function layers(model) {
  const holder = element("div");
  inside.replaceChildren(element("p", { class: "note" }, `${model.parameters.toLocaleString("en")} parameters, ${model.macs.toLocaleString("en")} multiply-adds per image of ${model.for}`), holder);
  diagram(holder, model.diagram);
}

function look(data) {
  const fact = ([name, text]) => element("div", {}, element("dt", {}, name), element("dd", {}, text));
  const most = data.counts.reduce((most, [, train]) => Math.max(most, train), 1);
  const images = (sprite, names) => element("div", { class: "images" }, ...names.map((name, i) => element("div", { class: "thumb" }, tile(sprite, i, name ? "" : `image ${i + 1}`), name)));
  inside.replaceChildren(
    element("dl", { class: "facts one" }, ...data.lines.map(fact)),
    ...(data.counts.length ? [element("h3", {}, "Images per class"), element("ol", { class: "probabilities" }, ...data.counts.map(([name, train, test]) => {
      const bar = element("span", { class: "bar-of" });
      bar.style.setProperty("--share", `${(100 * train) / most}%`);
      return element("li", {}, element("span", { class: "of" }, name), bar, element("span", { class: "number" }, `${train.toLocaleString("en")} + ${test.toLocaleString("en")}`));
    }))] : []),
    element("h3", {}, "Random training images"), images(data.images, data.names.length ? data.names : Array(48).fill("")),
    ...(data.copies ? [element("h3", {}, "Training images that come more than once"), images(data.copies.images, data.copies.numbers.map((n) => `image ${n}`))] : []),
  );
}

document.addEventListener("click", (event) => {
  const row = event.target.closest("button.link")?.closest("tr");
  if (!row || !token) return;
  const name = row.dataset.name;
  const models = row.closest("#models");
  open(name, `/${models ? "models" : "data"}/${encodeURIComponent(name)}`, models ? layers : look);
});

// the counts of one model after another
async function count() {
  for (const row of document.querySelectorAll("#models tbody tr")) {
    try {
      const model = await once(`/models/${encodeURIComponent(row.dataset.name)}`);
      [model.parameters, model.macs].forEach((value, i) => {
        row.cells[1 + i].textContent = value.toLocaleString("en");
        row.cells[1 + i].dataset.value = value;
      });
    } catch { row.cells[1].textContent = "–"; }
  }
}
sortable(document.getElementById("models"));
if (token) count();
