// Requests to the server, with the token of the page. A page that was opened without it can only look.

export const token = document.querySelector("meta[name=replab-token]")?.content ?? "";

// What the server answers, or an Error with its sentence.
export async function ask(address, body, signal) {
  const answer = await fetch(address, { method: "POST", body, signal, headers: { "x-replab-token": token } });
  let data = null;
  try { data = await answer.json(); } catch { /* the guard answers in plain text */ }
  if (!answer.ok) throw new Error(data?.error ?? "the server refused it; open the address that replab view printed");
  return data;
}

// Only the latest of many requests counts: one is under way, the newest waits, those between are dropped.
export function latest(work) {
  let busy = false;
  let next = null;
  return async function call(...values) {
    if (busy) { next = values; return; }
    busy = true;
    try { await work(...values); } finally {
      busy = false;
      if (next) { const again = next; next = null; call(...again); }
    }
  };
}

// The token leaves the address bar: it is in a cookie now.
if (new URLSearchParams(location.search).has("token")) {
  const rest = new URL(location.href);
  rest.searchParams.delete("token");
  history.replaceState(null, "", rest);
}
