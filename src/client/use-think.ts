// The store in a component. Clients live outside React, one per agent: components that name the same
// agent share one, a re-render never reconnects, and the last one to leave closes it a moment later.
import { useEffect, useMemo, useSyncExternalStore } from "react";
import { agentUrl } from "./address.ts";
import type { AgentState } from "./callables.ts";
import type { ThinkClientOptions, ThinkSnapshot } from "./options.ts";
import { createThinkClient, type ThinkClient } from "./think-client.ts";

/** Components that leave and come at once, as on navigation or in React's strict mode, keep the connection. */
const CLOSE_DELAY_MS = 1_000;

const FRAME_MS = 16;

export type UseThinkResult<Agent> = ThinkSnapshot<AgentState<Agent>> &
  Pick<
    ThinkClient<Agent>,
    | "send"
    | "submit"
    | "steer"
    | "followUp"
    | "editQueued"
    | "withdraw"
    | "stopAfterStep"
    | "stop"
    | "regenerate"
    | "edit"
    | "branches"
    | "selectBranch"
    | "clear"
    | "answerTool"
    | "failTool"
    | "approve"
    | "reject"
    | "call"
    | "setState"
    | "addressOf"
  > & { readonly client: ThinkClient<Agent> };

/**
 * The conversation with an agent, in a component.
 *
 * @example
 * const { messages, status, send, stop } = useThink<Assistant>({ agent: "assistant", name: "ada" });
 */
export function useThink<Agent = unknown>(options: ThinkClientOptions): UseThinkResult<Agent> {
  const key = agentUrl(options, typeof location === "undefined" ? undefined : location.origin);
  // Only the address decides: a new token or a new function is no new client.
  const shared = useMemo(() => sharedClient(key, options), [key]);
  // The class is what the caller says the address leads to.
  const client = shared.client as ThinkClient<Agent>;
  const snapshot = useSyncExternalStore(shared.subscribe, client.getSnapshot, client.getSnapshot);
  const { tools, onApproval, query, body, onMessage } = options;
  useEffect(() => {
    const given = { tools, onApproval, query, body, onMessage };
    client.configure(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)));
  });
  return useMemo(() => ({ ...snapshot, ...actionsOf(client), client }), [snapshot, client]);
}

function actionsOf<Agent>(client: ThinkClient<Agent>) {
  const { send, submit, stop, regenerate, edit, branches, selectBranch, clear } = client;
  const { answerTool, failTool, approve, reject, call, setState, addressOf } = client;
  const { steer, followUp, editQueued, withdraw, stopAfterStep } = client;
  const waiting = { steer, followUp, editQueued, withdraw, stopAfterStep };
  const conversation = { send, submit, stop, regenerate, edit, branches, selectBranch, clear };
  return { ...conversation, ...waiting, answerTool, failTool, approve, reject, call, setState, addressOf };
}

/**
 * The first change is shown at once, further ones once a frame. An answer may come in hundreds of pieces a second, and
 * React takes renders that follow each other without a pause for an endless loop.
 */
function onceAFrame(listener: () => void): { notify(): void; stop(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isChanged = false;
  const wait = () => {
    timer = setTimeout(() => {
      timer = undefined;
      if (isChanged) show();
    }, FRAME_MS);
  };
  const show = () => {
    isChanged = false;
    wait();
    listener();
  };
  return {
    notify() {
      isChanged = true;
      if (timer === undefined) show();
    },
    stop: () => clearTimeout(timer)
  };
}

interface SharedClient {
  readonly client: ThinkClient;
  subscribe(listener: () => void): () => void;
}

/** One entry per agent that is on the page; the last component to leave removes it. */
const shared = new Map<string, SharedClient>();

function sharedClient(key: string, options: ThinkClientOptions): SharedClient {
  const known = shared.get(key);
  if (known) return known;
  const client = createThinkClient({ ...options, autoConnect: false });
  let users = 0;
  const subscribe = (listener: () => void) => {
    users += 1;
    shared.set(key, entry);
    client.connect();
    const paced = onceAFrame(listener);
    const unsubscribe = client.subscribe(paced.notify);
    return () => {
      unsubscribe();
      paced.stop();
      users -= 1;
      setTimeout(leave, CLOSE_DELAY_MS);
    };
  };
  const leave = () => {
    if (users > 0) return;
    client.close();
    if (shared.get(key) === entry) shared.delete(key);
  };
  const entry: SharedClient = { client, subscribe };
  shared.set(key, entry);
  // A render that React throws away never subscribes.
  setTimeout(leave, CLOSE_DELAY_MS);
  return entry;
}
