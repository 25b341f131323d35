// The playground: an agent, its server and its database in this page. The server can be killed at any moment, or at a write.
import { createThinkClient } from "../../src/client/index.ts";
import { createTestHost } from "../../src/testing/test-host.ts";
import { Assistant } from "./agent.ts";
import { HostSockets } from "./host-socket.ts";
import { forgetPauses } from "./pace.ts";

/** Of real time, and of the host's. */
const STEP_MS = 50;
const DOWN_MS = 1_200;

const element = <Kind extends HTMLElement>(id: string) => document.getElementById(`playground-${id}`) as Kind;
const host = createTestHost({ agents: { Assistant }, now: Date.now() });
const sockets = new HostSockets(host);
const client = createThinkClient<Assistant>({
  host: "playground.invalid",
  agent: "assistant",
  name: "you",
  WebSocket: sockets.socketClass,
  fetch: async (url, init) => host.fetch(new URL(url).pathname, init)
});

const watchDeath = () => void host.untilCrash().then(forgetPauses);
watchDeath();

// Code of a dead process unwinds here, which it would not do on a platform: what it logs is left out.
const logError = console.error.bind(console);
console.error = (...values: unknown[]) => {
  if (!values.some((value) => /process-died|ProcessDied/.test(String(value)))) logError(...values);
};

let deaths = 0;
let bootAt: number | undefined;
let lastWrites = 0;

function note(text: string): void {
  const line = document.createElement("li");
  line.textContent = text;
  element("events").insertAdjacentElement("afterbegin", line);
}

/** What a death leaves behind: broken sockets, and a boot that is due. */
function noticeDeath(): void {
  deaths += 1;
  bootAt = performance.now() + DOWN_MS;
  note(`Killed after ${host.counts.writes} writes. What was committed is on disk.`);
  sockets.breakAll();
}

async function live(): Promise<never> {
  for (;;) {
    if (host.crashed) {
      if (bootAt === undefined) noticeDeath();
      else if (performance.now() >= bootAt) {
        bootAt = undefined;
        await host.restart();
        watchDeath();
        note("Started again. Recovery reads the journal.");
      }
    } else {
      await host.advance(STEP_MS);
    }
    show();
    await new Promise((next) => setTimeout(next, STEP_MS));
  }
}

function show(): void {
  const { messages, status, pendingApprovals } = client.getSnapshot();
  const isDown = host.crashed;
  element("server").textContent = isDown ? "The server is dead." : `The server runs. Deaths: ${deaths}.`;
  element("server").dataset["state"] = isDown ? "down" : "up";
  element("status").textContent = status;
  if (!isDown && host.counts.writes !== lastWrites) {
    lastWrites = host.counts.writes;
    element("writes").textContent = String(lastWrites);
    showTables();
  }
  const lines = messages.map(({ role, parts }) => {
    const line = document.createElement("div");
    line.className = `playground-${role}`;
    line.textContent = parts
      .map((part) => {
        if (part.type === "text") return part.text;
        return part.type.startsWith("tool-") && "state" in part ? ` [${part.type.slice(5)}: ${part.state}] ` : "";
      })
      .join("");
    return line;
  });
  element("messages").replaceChildren(...lines);
  const [asked] = pendingApprovals;
  const approval = element("approval");
  approval.hidden = asked === undefined;
  if (asked) element("asked").textContent = `${asked.toolName} ${JSON.stringify(asked.input)}`;
}

function showTables(): void {
  const tables = host.sql<{ name: string }>(
    Assistant,
    "you",
    "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
  );
  const rows = tables.map(({ name }) => {
    const [{ rows: count } = { rows: 0 }] = host.sql<{ rows: number }>(
      Assistant,
      "you",
      `SELECT count(*) AS rows FROM "${name}"`
    );
    const row = document.createElement("tr");
    for (const value of [name, String(count)])
      row.appendChild(Object.assign(document.createElement("td"), { textContent: value }));
    return row;
  });
  element("tables").replaceChildren(...rows);
}

function ask(text: string): void {
  void client.send(text).catch(() => undefined);
}

for (const button of document.querySelectorAll<HTMLButtonElement>("[data-playground-ask]")) {
  button.addEventListener("click", () => ask(button.dataset["playgroundAsk"] ?? ""));
}
element("kill").addEventListener("click", () => {
  if (!host.crashed) host.kill();
});
element("kill-at").addEventListener("click", () => {
  const writes = Number(element<HTMLInputElement>("count").value);
  if (host.crashed || !(writes >= 1)) return;
  host.crashAfterWrite(writes);
  note(`The server will die right after write ${writes} from now.`);
});
element("approve").addEventListener("click", () => {
  const [asked] = client.getSnapshot().pendingApprovals;
  if (asked) void client.approve(asked);
});
element("reject").addEventListener("click", () => {
  const [asked] = client.getSnapshot().pendingApprovals;
  if (asked) void client.reject(asked);
});
element("app").hidden = false;
element("loading").hidden = true;
void live();
