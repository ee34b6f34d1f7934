// The confusion matrix: shades, movement by arrow keys, and the images behind a cell.
import { element } from "./chart.js";
import { thumb } from "./images.js";

export function confusion(table, data, open) {
  const buttons = [...table.querySelectorAll("button")];
  for (const cell of table.querySelectorAll("td[data-shade]")) cell.style.setProperty("--share", cell.dataset.shade);
  const name = (c) => data.classes[c] ?? `class ${c}`;
  for (const button of buttons) {
    button.setAttribute("aria-label", `${button.dataset.count} of true class ${name(button.dataset.true)}, answered ${name(button.dataset.answer)}`);
    button.setAttribute("aria-pressed", "false");
  }
  if (buttons.length) buttons[0].tabIndex = 0;

  table.addEventListener("keydown", (event) => {
    const move = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    const from = event.target.closest("td");
    if (!move || !from) return;
    event.preventDefault();
    let [row, column] = [from.parentElement.rowIndex + move[0], from.cellIndex + move[1]];
    while (row > 0 && column > 0 && row < table.rows.length && column < table.rows[row].cells.length) {
      const button = table.rows[row].cells[column].querySelector("button");
      if (button) {
        for (const other of buttons) other.tabIndex = -1;
        button.tabIndex = 0;
        button.focus();
        return;
      }
      [row, column] = [row + move[0], column + move[1]];
    }
  });

  table.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
    const [truth, answer] = [Number(button.dataset.true), Number(button.dataset.answer)];
    const places = (data.examples?.items ?? []).map((item, place) => [item, place])
      .filter(([item]) => item[1] === truth && item[2] === answer).sort(([a], [b]) => b[3] - a[3]).map(([, place]) => place);
    const total = Number(button.dataset.count);
    const words = truth === answer ? `${name(truth)}, rightly answered` : `${name(truth)}, answered ${name(answer)}`;
    const kept = !places.length ? "this run kept none of its images" : places.length < total ? `the surest ${places.length} of ${total}` : total === 1 ? "1 image" : `all ${total}`;
    document.getElementById("cell").replaceChildren(
      element("h3", {}, `${words}: ${kept}`),
      element("div", { class: "images" }, ...places.map((place) => thumb(data, place, open))),
    );
  });
}
