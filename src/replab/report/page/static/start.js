// The form that starts a run: its cost is measured first, then it may begin.
import { ask } from "./ask.js";

const form = document.getElementById("start");
const [cost, go, status, fault, command] = ["cost", "go", "start-status", "start-fault", "start-command"].map((id) => document.getElementById(id));

const values = () => JSON.stringify(Object.fromEntries([...new FormData(form)].filter(([, text]) => text !== "")));

function say(text, wrong = "") {
  status.textContent = text;
  fault.textContent = wrong;
  fault.hidden = !wrong;
}

// What was measured is of these settings: others have to be measured again.
form.addEventListener("input", () => { go.disabled = true; command.hidden = true; say(""); });

cost.addEventListener("click", async () => {
  const asked = values();
  [cost.disabled, go.disabled] = [true, true];
  say("A few steps are measured …");
  try {
    const answer = await ask("/start/cost", asked);
    if (values() === asked) {
      say(answer.cost);
      command.textContent = answer.command;
      [command.hidden, go.disabled] = [false, false];
    } else say("The settings have changed since; measure again.");
  } catch (error) { say("", error.message); }
  cost.disabled = false;
});

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (go.disabled) return;
  [cost.disabled, go.disabled] = [true, true];
  say("It starts …");
  try {
    const { run } = await ask("/start", values());
    location.assign(`/runs/${encodeURIComponent(run)}`);
  } catch (error) { say("", error.message); cost.disabled = false; }
});
