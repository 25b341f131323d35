// How the provider's adapter reaches the simulated Telegram. Adapters call the global `fetch`; calls to the host below
// are answered by the messenger of the agent that made them, and all other calls go on as they were.
import { getCurrentAgent, type Agent } from "everthink/agent";

/** No host has a name below `.invalid`: a call that is not answered here reaches none. */
export const SIMULATED_API = "https://telegram.invalid";

export interface SimulatedProvider {
  answer(request: Request): Promise<Response>;
}

/** Weak, so that an agent that is not in memory any more takes its messenger with it. */
const providers = new WeakMap<object, SimulatedProvider>();
let isInstalled = false;

export function simulateProvider(agent: Pick<Agent, "name">, provider: SimulatedProvider): void {
  providers.set(agent, provider);
  if (isInstalled) return;
  isInstalled = true;
  const { fetch } = globalThis;
  globalThis.fetch = (input: RequestInfo | URL, init?: RequestInit) => {
    const url = input instanceof Request ? input.url : String(input);
    if (!url.startsWith(`${SIMULATED_API}/`)) return fetch(input, init);
    const { agent: caller } = getCurrentAgent();
    const own = caller && providers.get(caller);
    return own?.answer(new Request(input, init)) ?? Promise.reject(new TypeError("There is no such messenger."));
  };
}
