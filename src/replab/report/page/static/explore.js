// A trained model at work: draw or drop an image, walk its latent space, look at its test images as points.
import { chart, element } from "./chart.js";
import { ask, latest, token } from "./ask.js";
import { tile } from "./images.js";

const data = JSON.parse(document.getElementById("explore-data").textContent);
const run = document.getElementById("explore").dataset.run;
const at = (what) => `/runs/${encodeURIComponent(run)}/${what}`;
const percent = (share) => `${(100 * share).toFixed(1)}\u00a0%`;

function say(place, text, fault = false) {
  place.textContent = text;
  place.classList.toggle("warning", fault);
}

// -- an image → probabilities and maps -------------------------------------------------------------------------------

function predicting() {
  const canvas = document.getElementById("paper");
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  const status = document.getElementById("predict-status");
  const [height, width] = data.size;
  const scale = height === width ? Math.max(1, Math.round(280 / width)) : 1;
  [canvas.width, canvas.height] = [width * scale, height * scale];
  const grey = (v) => `rgb(${v} ${v} ${v})`;
  let sent = null; // the image of the latest request

  function clear() {
    pen.fillStyle = grey(data.paper);
    pen.fillRect(0, 0, canvas.width, canvas.height);
  }

  // As large as the test images' and with its centre of mass in the middle, as MNIST's were made.
  function centred() {
    const centre = document.getElementById("centre");
    if (!data.share || !centre?.checked) return canvas;
    const { data: pixels } = pen.getImageData(0, 0, canvas.width, canvas.height);
    let [left, top, right, bottom, mass, x, y] = [canvas.width, canvas.height, -1, -1, 0, 0, 0];
    for (let row = 0; row < canvas.height; row++) {
      for (let column = 0; column < canvas.width; column++) {
        const ink = Math.abs(pixels[4 * (row * canvas.width + column)] - data.paper);
        if (ink < 32) continue;
        [left, right, top, bottom] = [Math.min(left, column), Math.max(right, column), Math.min(top, row), Math.max(bottom, row)];
        [mass, x, y] = [mass + ink, x + ink * column, y + ink * row];
      }
    }
    if (!mass) return canvas;
    const factor = (data.share * Math.min(canvas.width, canvas.height)) / Math.max(right - left + 1, bottom - top + 1);
    const copy = element("canvas", { width: canvas.width, height: canvas.height });
    const other = copy.getContext("2d");
    other.fillStyle = grey(data.paper);
    other.fillRect(0, 0, copy.width, copy.height);
    const middle = data.share > 0.9 ? [(left + right) / 2, (top + bottom) / 2] : [x / mass, y / mass];
    other.setTransform(factor, 0, 0, factor, copy.width / 2 - factor * middle[0], copy.height / 2 - factor * middle[1]);
    other.drawImage(canvas, 0, 0);
    return copy;
  }

  const show = latest(async (image) => {
    sent = image;
    try {
      const said = await ask(at("predict"), image);
      document.getElementById("taken").replaceChildren(tile(said.image, 0, "the image as the model takes it"));
      document.getElementById("probabilities").replaceChildren(...said.probabilities.map(([name, share]) => {
        const bar = element("span", { class: "bar-of" });
        bar.style.setProperty("--share", `${100 * share}%`);
        return element("li", { "data-share": share }, element("span", { class: "of" }, name), bar, element("span", { class: "number" }, percent(share)));
      }));
      say(status, `${said.label}, ${percent(said.probabilities[0][1])}`);
      document.getElementById("answer").dataset.ready = String(Number(document.getElementById("answer").dataset.ready ?? 0) + 1);
    } catch (error) { say(status, error.message, true); return; }
    if (!data.offers.maps || sent !== image) return;
    try {
      const maps = await ask(at("maps"), image);
      document.getElementById("maps").replaceChildren(...maps.items.map((one, place) =>
        element("figure", {}, tile(maps, place, `map ${one.name}`), element("figcaption", {}, element("b", {}, one.name), ` ${one.text}`))));
    } catch (error) { say(document.getElementById("maps"), error.message, true); }
  });

  // Off it goes; and Save keeps exactly that file.
  function submit(image) {
    const reader = new FileReader();
    reader.addEventListener("load", () => { document.getElementById("save").href = reader.result; });
    reader.readAsDataURL(image);
    show(image);
  }
  const send = () => centred().toBlob(submit);

  // drawing: by pointer, or by arrow keys with the space bar down
  let last = null;
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [((event.clientX - box.left) * canvas.width) / box.width, ((event.clientY - box.top) * canvas.height) / box.height];
  };
  function stroke(from, to) {
    pen.strokeStyle = grey(data.ink);
    pen.lineWidth = Math.max(1, canvas.width * 0.08);
    pen.lineCap = pen.lineJoin = "round";
    pen.beginPath();
    pen.moveTo(...from);
    pen.lineTo(to[0], to[1] + 0.01);
    pen.stroke();
  }
  canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); last = place(event); stroke(last, last); });
  canvas.addEventListener("pointermove", (event) => { if (last) { const next = place(event); stroke(last, next); last = next; } });
  const lift = () => { if (last) { last = null; send(); } };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  let key = [canvas.width / 2, canvas.height / 2];
  canvas.addEventListener("keydown", (event) => {
    const move = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
    if (!move) return;
    event.preventDefault();
    const next = key.map((v, i) => Math.min([canvas.width, canvas.height][i], Math.max(0, v + move[i] * canvas.width * 0.05)));
    if (!event.shiftKey) { stroke(key, next); send(); }
    key = next;
  });
  document.getElementById("clear").addEventListener("click", () => { clear(); key = [canvas.width / 2, canvas.height / 2]; say(status, "Draw, drop or choose an image."); });
  document.getElementById("centre")?.addEventListener("change", send);

  // files: as they are, so that replab predict on the same file says the same
  const file = (given) => {
    if (!given) return;
    createImageBitmap(given).then((picture) => { clear(); pen.drawImage(picture, 0, 0, canvas.width, canvas.height); }, () => {});
    submit(given);
  };
  document.getElementById("file").addEventListener("change", (event) => file(event.target.files[0]));
  const zone = document.getElementById("drop");
  zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("over"); });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => { event.preventDefault(); zone.classList.remove("over"); file(event.dataTransfer.files[0]); });

  if (data.few) {
    document.getElementById("few").replaceChildren(...data.few.numbers.map((number, i) => {
      const picture = tile(data.few.images, i, "");
      return element("button", { type: "button", class: "thumb", title: `test image ${number}`, onclick: () => {
        clear();
        pen.imageSmoothingEnabled = false;
        pen.drawImage(picture, 0, 0, canvas.width, canvas.height);
        picture.toBlob(submit);
      } }, picture, data.few.names[i]);
    }));
  }
  clear();
}

// -- a walk in latent space --------------------------------------------------------------------------------------------

function walking() {
  const FIRST = 10;
  const status = document.getElementById("walk-status");
  const sliders = document.getElementById("sliders");
  const more = document.getElementById("more-sliders");
  const label = document.getElementById("walk-label");
  const seed = document.getElementById("walk-seed");
  let z = null;

  const show = latest(async (place) => {
    try {
      const answer = await ask(at("walk"), JSON.stringify({ ...place, label: Number(label?.value ?? 0) }));
      if (label) document.getElementById("label-holder").hidden = !answer.labels;
      if (!z || place.seed !== undefined) { z = answer.z; build(); }
      const picture = document.getElementById("walk-image");
      const fresh = tile(answer.image, 0, "the image at this point");
      picture.replaceChildren(fresh);
      picture.dataset.ready = String(Number(picture.dataset.ready ?? 0) + 1);
      say(status, "");
    } catch (error) { say(status, error.message, true); }
  });

  function build() {
    const order = data.order ?? z.map((_, i) => i);
    const shown = more.dataset.all ? order : order.slice(0, FIRST);
    sliders.replaceChildren(...shown.map((i) => {
      const value = element("output", {}, z[i].toFixed(2));
      const slider = element("input", { type: "range", min: -4, max: 4, step: 0.05, value: z[i], "data-number": i, oninput: (event) => {
        z[i] = Number(event.target.value);
        value.textContent = z[i].toFixed(2);
        show({ z });
      } });
      return element("label", {}, element("span", {}, `z${i + 1}`), slider, value);
    }));
    more.hidden = Boolean(more.dataset.all) || order.length <= FIRST;
    more.textContent = `Show all ${order.length} numbers`;
  }
  more.addEventListener("click", () => { more.dataset.all = "yes"; build(); });
  label?.addEventListener("change", () => show({ z }));
  document.getElementById("walk-new").addEventListener("click", () => { seed.value = String(Number(seed.value) + 1); show({ seed: Number(seed.value) }); });
  seed.addEventListener("change", () => show({ seed: Math.max(0, Math.floor(Number(seed.value) || 0)) }));
  document.getElementById("walk-zero").addEventListener("click", () => { z = z.map(() => 0); build(); show({ z }); });
  show({ seed: 0 });
}

// -- t-SNE -------------------------------------------------------------------------------------------------------------

function mapping() {
  const status = document.getElementById("points-status");
  const button = document.getElementById("points-make");
  button.addEventListener("click", async () => {
    button.disabled = true;
    say(status, "Images are read and placed; this takes some seconds …");
    try {
      const answer = await ask(at("points"));
      const name = (c) => answer.classes[c] ?? "";
      const classes = [...new Set(answer.points.map((p) => p[2]))].sort((a, b) => a - b);
      const series = classes.map((c) => ({
        name: name(c) || "images", colour: c, marks: answer.points.flatMap(([x, y, truth, said, number, place]) => (truth !== c ? [] : [{
          x, y, place, cross: truth !== said,
          text: `test image ${number}${name(truth) ? `: ${name(truth)}` : ""}${truth === said ? "" : `, answered ${name(said)}`}`,
        }])),
      }));
      const holder = document.getElementById("points");
      const closer = document.getElementById("points-closer");
      holder.replaceChildren();
      chart(holder, { title: `t-SNE of ${answer.what}`, x: "", unit: "", bare: true, tall: 460, small: true, series }, (point) => {
        closer.replaceChildren(point.place < 0 ? "" : tile(answer.images, point.place, point.text), element("p", {}, point.text));
      });
      const mistakes = answer.points.some((p) => p[2] !== p[3]) ? " Crosses are mistakes." : "";
      say(status, `${answer.points.length} test images.${mistakes} Hover, or use the arrow keys, to see an image. ${answer.note}`);
      button.hidden = true;
    } catch (error) { say(status, error.message, true); button.disabled = false; }
  });
}

if (token) {
  if (data.offers.predict) predicting();
  if (data.offers.walk) walking();
  if (data.offers.points) mapping();
}
