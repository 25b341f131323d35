import { isTextUIPart } from "ai";
import { useThink } from "everthink/react";
import type { Keeper } from "./keeper.ts";

export function Chat({ name }: { name: string }) {
  const { messages, status, error, connectionError, pendingApprovals, send, stop, approve, reject } = useThink<Keeper>({
    agent: "keeper",
    name
  });
  return (
    <main>
      {messages.map(({ id, role, parts }) => (
        <p key={id}>
          <b>{role}:</b> {parts.filter(isTextUIPart).map(({ text }) => text)}
        </p>
      ))}
      {pendingApprovals.map((asked) => (
        <p key={asked.callId}>
          {asked.toolName} {JSON.stringify(asked.input)}
          {asked.mayHaveRun && <b> This may have run already: approve it only if it did not.</b>}
          <button onClick={() => void approve(asked)}>Approve</button>
          <button onClick={() => void reject(asked)}>Reject</button>
        </p>
      ))}
      <p role="alert">{connectionError ?? error}</p>
      <form action={(form) => void send(String(form.get("text")))}>
        <input name="text" aria-label="Message" />
        <button>Send</button>
        {status === "running" && (
          <button type="button" onClick={stop}>
            Stop
          </button>
        )}
      </form>
    </main>
  );
}
