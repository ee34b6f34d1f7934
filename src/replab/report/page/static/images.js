// Images out of a sprite: each is drawn on a canvas of its own, because a page's policy allows no other addresses.
import { element } from "./chart.js";

const loaded = new Map();

function picture(sprite) {
  if (!loaded.has(sprite.url)) {
    const image = new Image();
    image.src = sprite.url;
    loaded.set(sprite.url, image.decode().then(() => image));
  }
  return loaded.get(sprite.url);
}

export function tile(sprite, at, label) {
  const words = label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" }; // the text beside it says it
  const canvas = element("canvas", { width: sprite.width, height: sprite.height, ...words });
  picture(sprite).then((image) => {
    const x = (at % sprite.columns) * sprite.width;
    const y = Math.floor(at / sprite.columns) * sprite.height;
    canvas.getContext("2d").drawImage(image, x, y, sprite.width, sprite.height, 0, 0, sprite.width, sprite.height);
    canvas.dataset.ready = "yes";
  });
  return canvas;
}

export function thumb(data, place, open) {
  const [number, truth, answer, share] = data.examples.items[place];
  const name = (c) => data.classes[c] ?? `class ${c}`;
  const maps = data.examples.maps?.items[number];
  const right = truth === answer;
  const words = right ? [element("b", {}, name(truth))] : [element("b", {}, name(truth)), " → ", element("b", {}, name(answer))];
  return element("button", { type: "button", class: "thumb", "data-number": number, title: `test image ${number}`, onclick: () => open(place) },
    tile(data.examples.images, place, ""), ...words, ` ${(100 * share).toFixed(1)}\u00a0%`, maps ? element("span", { class: "badge" }, " · maps") : "");
}

export function opener(data) {
  const dialog = document.getElementById("closer");
  return (place) => {
    const [number, truth, answer, share] = data.examples.items[place];
    const maps = data.examples.maps?.items[number] ?? [];
    dialog.querySelector("h3").textContent = `Test image ${number}: ${data.classes[truth]}, answered ${data.classes[answer]} (${(100 * share).toFixed(2)} %)`;
    document.getElementById("closer-images").replaceChildren(
      element("div", {}, tile(data.examples.images, place, "the image"), "the image"),
      ...maps.map((map) => element("div", {}, tile(data.examples.maps, map.at, `map ${map.name}`), `${map.name}: ${map.text}`)),
    );
    document.getElementById("closer-note").textContent = maps.length
      ? "Bright parts matter most for the answer. in, out: mean probability while the most important pixels are uncovered or covered first."
      : `The run keeps maps of its surest answers only; replab explain makes those of any image.`;
    dialog.showModal();
  };
}
