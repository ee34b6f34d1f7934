// Runs beside each other: curves over each other, and images on which two runs disagree.
import { charts, element } from "./chart.js";
import { sortable } from "./tables.js";
import { tile } from "./images.js";

const data = JSON.parse(document.getElementById("compare-data").textContent);
for (const holder of document.querySelectorAll("[data-charts]")) charts(holder, data[holder.dataset.charts] ?? []);
for (const table of document.querySelectorAll("table.sortable")) sortable(table);
const place = document.getElementById("disagree");
if (place) {
  place.replaceChildren(...data.disagree.items.map((item, at) => element("div", { class: "thumb" },
    tile(data.disagree.images, at, `test image ${item.number}, ${item.true}`),
    element("b", {}, item.true),
    ...item.answers.map(([name, share], i) => element("div", {}, `${"AB"[i]} ${name === item.true ? "✓" : "✗"} ${name} ${(100 * share).toFixed(0)}\u00a0%`)))));
}
