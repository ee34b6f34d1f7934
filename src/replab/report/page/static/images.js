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

// A gray map in colours (viridis, as in the figures) over its image.
const HEAT = [[68, 1, 84], [71, 44, 122], [59, 81, 139], [44, 113, 142], [33, 144, 141], [39, 173, 129], [92, 200, 99], [170, 220, 50], [253, 231, 37]];

export function heated(images, at, maps, place, label) {
  const canvas = element("canvas", { width: Math.max(images.width, 112), height: Math.round(Math.max(images.width, 112) * images.height / images.width), role: "img", "aria-label": label });
  Promise.all([picture(images), picture(maps)]).then(([image, map]) => {
    const pen = canvas.getContext("2d");
    const cut = (sprite, i) => [(i % sprite.columns) * sprite.width, Math.floor(i / sprite.columns) * sprite.height, sprite.width, sprite.height];
    const small = element("canvas", { width: maps.width, height: maps.height });
    const brush = small.getContext("2d");
    brush.drawImage(map, ...cut(maps, place), 0, 0, maps.width, maps.height);
    const heat = brush.getImageData(0, 0, maps.width, maps.height);
    for (let i = 0; i < heat.data.length; i += 4) {
      const value = (heat.data[i] / 255) * (HEAT.length - 1);
      const [low, high] = [HEAT[Math.floor(value)], HEAT[Math.ceil(value)]];
      for (const c of [0, 1, 2]) heat.data[i + c] = low[c] + (high[c] - low[c]) * (value % 1);
    }
    brush.putImageData(heat, 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(image, ...cut(images, at), 0, 0, canvas.width, canvas.height);
    pen.imageSmoothingEnabled = true;
    pen.globalAlpha = 0.6;
    pen.drawImage(small, 0, 0, canvas.width, canvas.height);
    canvas.dataset.ready = "yes";
  });
  return canvas;
}

export function thumb(data, place, open) {
  const [number, truth, answer, share] = data.examples.items[place];
  const name = (c) => data.classes[c] ?? `class ${c}`;
  const maps = data.examples.maps?.items[number] || data.examples.small?.at[number] !== undefined;
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
    const small = data.examples.small;
    const alone = !maps.length && small?.at[number] !== undefined ? [small.at[number]] : [];
    dialog.querySelector("h3").textContent = `Test image ${number}: ${data.classes[truth]}, answered ${data.classes[answer]} (${(100 * share).toFixed(2)} %)`;
    document.getElementById("closer-images").replaceChildren(
      element("div", {}, tile(data.examples.images, place, "the image"), "the image"),
      ...maps.map((map) => element("div", {}, tile(data.examples.maps, map.at, `map ${map.name}`), `${map.name}: ${map.text}`)),
      ...alone.map((at) => element("div", {}, heated(data.examples.images, place, small, at, `map ${small.name}`), small.name)),
    );
    document.getElementById("closer-note").textContent = maps.length
      ? "Bright parts matter most for the answer. in, out: mean probability while the most important pixels are uncovered or covered first."
      : alone.length ? "Bright parts matter most for the answer. replab explain makes more maps, of any image."
      : "The run keeps no map of this image; replab explain makes maps of any image.";
    dialog.showModal();
  };
}
