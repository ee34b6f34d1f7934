// The structure of a model: boxes from top to bottom, shapes between them, tinted by their share of the parameters.
import { element } from "./chart.js";

export function diagram(holder, spec) {
  const flow = (shape) => element("li", { class: "flow" }, shape);
  const box = (one) => {
    const made = element("li", { class: "box" }, element("b", {}, one.title), element("span", {}, [one.name, one.text].filter(Boolean).join(" · ")));
    made.style.setProperty("--share", one.share);
    return [made, flow(one.shape)];
  };
  holder.replaceChildren(element("ol", { class: "diagram" }, flow(spec.input), ...spec.groups.flatMap((group) => {
    const boxes = group.boxes.flatMap(box);
    if (group.times === 1) return boxes;
    return [element("li", { class: "times" }, element("span", { class: "count", "aria-label": `${group.times} times` }, `×${group.times}`), element("ol", {}, ...boxes))];
  })));
}
