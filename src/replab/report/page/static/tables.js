// Tables that sort: a click on a column's head, by data-value where a cell has one, else by text.

export function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    if (head.querySelector("button") || !head.textContent.trim()) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      sortRows(table, column, down);
    });
  });
}

function valueOf(row, column) {
  const cell = row.cells[column];
  const value = cell?.dataset.value ?? cell?.textContent.trim() ?? "";
  return value !== "" && Number.isFinite(Number(value)) ? Number(value) : value;
}

export function sortRows(table, column, down) {
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [valueOf(row, column), row]);
  const sign = down ? -1 : 1;
  rows.sort(([a], [b]) => {
    if (a === "" || b === "") return a === b ? 0 : a === "" ? 1 : -1; // what is missing is last, either way
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return sign * (typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true }));
  });
  body.append(...rows.map(([, row]) => row));
}
