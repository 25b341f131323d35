// A page about MCP servers, without the hook: what it shows of them, and the buttons a user presses. Each generation's
// folder calls its own published hook and hands the result to this view.
import { useState } from "react";
import type { ShownMcp } from "../../clients/generation.ts";

export interface McpViewProps {
  mcp: ShownMcp;
  call(method: string, args: unknown[]): Promise<unknown>;
}

export const NO_SERVERS: ShownMcp = { servers: {}, tools: [] };

export function McpView({ mcp, call }: McpViewProps) {
  const [url, setUrl] = useState("");
  const [answer, setAnswer] = useState("");
  const tell = (work: Promise<unknown>) =>
    void work.then(
      (value) => setAnswer(JSON.stringify(value) ?? ""),
      (error: unknown) => setAnswer(String(error))
    );
  return (
    <main>
      <ul aria-label="Servers">
        {Object.entries(mcp.servers).map(([id, { name, state, auth_url: page }]) => (
          <li key={id}>
            {name} is {state}
            {page !== null && <button onClick={() => void window.open(page, "login", "popup")}>Log in</button>}
          </li>
        ))}
      </ul>
      <ul aria-label="Tools">
        {mcp.tools.map(({ name, serverId }) => (
          <li key={`${serverId} ${name}`}>{name}</li>
        ))}
      </ul>
      <input aria-label="Address" value={url} onChange={(event) => setUrl(event.target.value)} />
      <button onClick={() => tell(call("add", [url]))}>Add</button>
      <button onClick={() => tell(call("ask", []))}>Ask</button>
      <output aria-label="Answer">{answer}</output>
    </main>
  );
}
