// The table of runs: filter, choose columns, choose runs to compare, and live states.
import { element } from "./chart.js";
import { sortable } from "./tables.js";

const EVERY = 2000; // milliseconds
const table = document.getElementById("runs");

// "cnn accuracy>0.9 seed=1" → tests of a row
export function tests(text, columns) {
  return text.split(/\s+/).filter(Boolean).map((word) => {
    const [, name, sign, wanted] = /^([\w-]+)(<=|>=|=|<|>)(.+)$/.exec(word) ?? [];
    const column = columns.findIndex((c) => c && c.replaceAll(" ", "_") === (name ?? "").replaceAll("-", "_"));
    if (!name || column < 0) return (row) => row.textContent.toLowerCase().includes(word.toLowerCase());
    return (row) => {
      const cell = row.cells[column];
      const value = cell.dataset.value ?? cell.textContent.trim();
      if (sign === "=") return value.toLowerCase() === wanted.toLowerCase() || (value !== "" && Number(value) === Number(wanted));
      if (value === "" || Number.isNaN(Number(value))) return false;
      return { "<": Number(value) < Number(wanted), ">": Number(value) > Number(wanted), "<=": Number(value) <= Number(wanted), ">=": Number(value) >= Number(wanted) }[sign];
    };
  });
}

function start() {
  sortable(table);
  const heads = [...table.tHead.rows[0].cells];
  const names = heads.map((head) => (head.dataset.column ?? "").replaceAll(" ", "_"));
  const field = document.getElementById("filter");
  const rows = () => [...table.tBodies[0].rows];

  function filter() {
    const all = tests(field.value, names);
    let shown = 0;
    for (const row of rows()) {
      row.hidden = !all.every((test) => test(row));
      shown += !row.hidden;
    }
    document.getElementById("shown").textContent = `${shown} of ${rows().length} runs`;
  }
  field.addEventListener("input", filter);

  const most = { asked: 8, metric: 4, setting: 8 }; // columns of a kind that are shown at first
  const hidden = new Set();
  heads.forEach((head, i) => { if (head.dataset.kind && most[head.dataset.kind]-- <= 0) hidden.add(i); });
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [sheet];
  const hide = () => sheet.replaceSync([...hidden].map((i) => `#runs tr > :nth-child(${i + 1}) { display: none }`).join("\n"));
  document.getElementById("columns").replaceChildren(...heads.flatMap((head, i) => head.dataset.kind ? [element("label", {},
    Object.assign(element("input", { type: "checkbox", onchange: (event) => { event.target.checked ? hidden.delete(i) : hidden.add(i); hide(); } }), { checked: !hidden.has(i) }),
    ` ${head.dataset.column.replaceAll("_", " ")}`)] : []));
  hide();

  const form = document.getElementById("compare");
  const chosen = () => rows().filter((row) => row.querySelector("input").checked);
  table.addEventListener("change", () => { form.querySelector("button").disabled = chosen().length < 2; });
  form.addEventListener("submit", () => {
    for (const old of form.querySelectorAll("input")) old.remove();
    for (const row of chosen()) form.append(element("input", { type: "hidden", name: "run", value: row.dataset.run }));
  });

  async function follow() {
    try {
      const answer = await fetch("/runs.json");
      const byRun = new Map((await answer.json()).map((row) => [row.run, row]));
      for (const row of rows()) {
        const now = byRun.get(row.dataset.run);
        if (!now) { row.remove(); continue; }
        const cell = row.cells[2];
        if (cell.textContent !== now.state + now.progress) {
          cell.className = `state ${now.state}`;
          cell.replaceChildren(now.state, now.progress ? element("small", {}, now.progress) : "");
          if (now.state === "finished") { location.reload(); return; }
        }
        byRun.delete(row.dataset.run);
      }
      if (byRun.size && !field.value) { location.reload(); return; }
    } catch { /* the server has ended; the table stays */ }
    setTimeout(follow, EVERY);
  }
  setTimeout(follow, EVERY);
}

if (table) start();
