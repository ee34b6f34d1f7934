// A run while it goes on: asks every second, and becomes the report when the run has ended. Stop and resume.
import { charts, element } from "./chart.js";
import { ask, token } from "./ask.js";

const EVERY = 1000; // milliseconds
const state = document.getElementById("state");
const block = document.getElementById("live-data");

const act = document.getElementById("act");
const run = state.dataset.run;

// The one thing that can be done now: stop what was started here, resume what has stopped.
function offer(data) {
  const what = data.owned ? "stop" : data.state === "stopped" ? "resume" : "";
  if (!token || act.dataset.busy || act.dataset.what === what) return;
  act.dataset.what = what;
  act.replaceChildren(...(what ? [element("button", { type: "button", onclick: async (event) => {
    act.dataset.busy = "yes";
    event.target.disabled = true;
    event.target.textContent = what === "stop" ? "Stopping …" : "Resuming …";
    try { await ask(`/runs/${encodeURIComponent(run)}/${what}`); } catch (error) { fault(error.message); }
    delete act.dataset.busy;
    act.dataset.what = "";
    act.replaceChildren();
  } }, what === "stop" ? "Stop" : "Resume")] : []));
}

function fault(text) {
  const place = document.getElementById("fault");
  place.hidden = !text;
  place.textContent = text;
}

function show(data) {
  offer(data);
  if (data.failure) fault(data.failure);
  state.replaceChildren(element("strong", {}, data.state), " ", element("span", {}, data.progress));
  for (const holder of document.querySelectorAll("[data-charts]")) charts(holder, data[holder.dataset.charts] ?? []);
  document.getElementById("searching").hidden = !data.search.length;
  document.getElementById("said").hidden = !data.messages.length;
  document.getElementById("messages").replaceChildren(...data.messages.map((text) => element("li", {}, text)));
}

let last = ""; // what was shown: the same again draws nothing

async function follow() {
  try {
    const answer = await fetch(`/runs/${encodeURIComponent(run)}/live.json`);
    if (!answer.ok) throw new Error(answer.statusText);
    const text = await answer.text();
    const data = JSON.parse(text);
    if (data.finished) { location.reload(); return; }
    if (text !== last) show(data);
    last = text;
  } catch {
    last = "";
    state.replaceChildren("The server does not answer; replab view starts it again.");
  }
  setTimeout(follow, EVERY);
}

if (block) show(JSON.parse(block.textContent));
if (state.dataset.follow) setTimeout(follow, EVERY);
