// A run while it goes on: asks every second, and becomes the report when the run has ended.
import { charts, element } from "./chart.js";

const EVERY = 1000; // milliseconds
const state = document.getElementById("state");
const block = document.getElementById("live-data");

function show(data) {
  state.replaceChildren(element("strong", {}, data.state), " ", element("span", {}, data.progress));
  for (const holder of document.querySelectorAll("[data-charts]")) charts(holder, data[holder.dataset.charts] ?? []);
  document.getElementById("searching").hidden = !data.search.length;
  document.getElementById("said").hidden = !data.messages.length;
  document.getElementById("messages").replaceChildren(...data.messages.map((text) => element("li", {}, text)));
}

async function follow() {
  try {
    const answer = await fetch(`/runs/${encodeURIComponent(state.dataset.run)}/live.json`);
    if (!answer.ok) throw new Error(answer.statusText);
    const data = await answer.json();
    if (data.finished) { location.reload(); return; }
    show(data);
  } catch {
    state.replaceChildren("The server does not answer; replab view starts it again.");
  }
  setTimeout(follow, EVERY);
}

if (block) show(JSON.parse(block.textContent));
if (state.dataset.follow) setTimeout(follow, EVERY);
