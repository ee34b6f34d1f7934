// The ledger's tables sort, and a row's name opens what it rests on: published source, recipe, runs.
import { element } from "./chart.js";
import { sortable } from "./tables.js";

const data = JSON.parse(document.getElementById("ledger-data").textContent);
for (const table of document.querySelectorAll("table.sortable")) sortable(table);

const live = location.protocol.startsWith("http") && document.querySelector("header.site"); // runs are there to lead to
const line = (name, ...inside) => element("div", {}, element("dt", {}, name), element("dd", {}, ...inside));

function more(row) {
  const source = row.url ? element("a", { href: row.url, rel: "noopener noreferrer" }, row.source) : row.source;
  const seeds = row.seeds.map((seed) => element("li", {}, `seed ${seed.seed}: ${seed.text} `,
    ...(live ? seed.runs.map((run) => element("a", { href: `/runs/${encodeURIComponent(run)}` }, `run ${run} `)) : [])));
  return [
    element("dl", { class: "facts one" }, line("published in", source, row.citation ? `. ${row.citation}` : ""),
      ...row.notes.map((text) => line("note", text)),
      line("recipe", row.recipe.map(([name, text]) => `${name} ${text}`).join(", ")),
      line("make it", element("code", {}, row.command))),
    element("h3", {}, seeds.length ? "Measured" : "Not measured"),
    element("ul", { class: "findings" }, ...seeds),
  ];
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-row]");
  if (!button) return;
  const row = data.rows[Number(button.dataset.row)];
  document.getElementById("row-title").textContent = row.title;
  document.getElementById("row-more").replaceChildren(...more(row));
  document.getElementById("row").showModal();
});
