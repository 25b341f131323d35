// MCP servers of the conversation: one is added by its address; what it offers is below its name.
import { useState, type FormEvent } from "react";
import type { PanelViewProps } from "../panel/views.ts";
import { ServerCard } from "./server-card.tsx";

export function ServersView({ chat }: PanelViewProps) {
  const { servers, call, state } = chat;
  const [url, setUrl] = useState("");
  const [isAdding, setAdding] = useState(false);
  const [problem, setProblem] = useState<string>();
  const attempt = async (work: Promise<unknown>) => {
    setProblem(undefined);
    try {
      await work;
      return true;
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      return false;
    }
  };
  const add = async (event: FormEvent) => {
    event.preventDefault();
    setAdding(true);
    if (await attempt(call("connectServer", [url.trim()]))) setUrl("");
    setAdding(false);
  };
  return (
    <div className="servers-view">
      <form className="server-form" onSubmit={(event) => void add(event)}>
        <input
          className="think-text-field"
          type="url"
          required
          aria-label="Address of an MCP server"
          placeholder="https://example.com/mcp"
          value={url}
          onChange={(event) => setUrl(event.target.value)}
        />
        <button type="submit" className="think-solid-button" disabled={isAdding}>
          {isAdding ? "Adding …" : "Add"}
        </button>
      </form>
      {problem !== undefined && (
        <p className="server-problem" role="alert">
          {problem}
        </p>
      )}
      {servers.length === 0 ? (
        <p className="panel-empty">Tools of a server that you add here are part of every turn of this conversation.</p>
      ) : (
        <ul className="server-list" aria-label="MCP servers">
          {servers.map((server) => (
            <ServerCard
              key={server.id}
              server={server}
              rules={state?.toolRules}
              onRetry={() => void attempt(call("connectServer", [server.server_url]))}
              onForget={() => void attempt(call("forgetServer", [server.id]))}
              onRule={(key, rule) => void attempt(call("ruleTool", [key, rule]))}
            />
          ))}
        </ul>
      )}
    </div>
  );
}
