// A conversation before its first word: what this is, and things to try.
import { Welcome } from "everthink/react";
import { SUGGESTIONS } from "../../shared/suggestions.ts";
import { Lighthouse } from "./lighthouse.tsx";

export function EmptyConversation({ hasPlug }: { hasPlug: boolean }) {
  return (
    <Welcome
      title={hasPlug ? "Ask something. Then pull the plug." : "Ask something."}
      suggestions={SUGGESTIONS}
      picture={<Lighthouse />}
    >
      {hasPlug
        ? "Kill the server’s process in the middle of an answer. It comes back, and the answer goes on where it stopped."
        : "Reload, close the page, restart the server: the answer goes on where it stopped."}
    </Welcome>
  );
}
