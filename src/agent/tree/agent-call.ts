// One call from agent to agent. What the platform hangs on an answer (a disposer that keeps the other object awake until
// it is called) ends here: callers get plain data.
import type { InternalEnvelope } from "./internal.ts";

/** Where agents of one class are found. */
export type AgentNamespace = Pick<DurableObjectNamespace, "get" | "idFromName" | "idFromString">;

export function isNamespace(value: unknown): value is AgentNamespace {
  return (
    (typeof value === "object" || typeof value === "function") &&
    value !== null &&
    "idFromName" in value &&
    typeof value.idFromName === "function"
  );
}

/** Any stub of an agent; every agent class has this method. */
export interface AgentStub {
  internalCall(envelope: InternalEnvelope): Promise<unknown>;
}

export async function callAgent(stub: AgentStub, envelope: InternalEnvelope): Promise<unknown> {
  const call = stub.internalCall(envelope);
  try {
    return passOn(await call);
  } catch (error) {
    // A failed call holds its object, too.
    if (Symbol.dispose in call) (call as Promise<unknown> & Disposable)[Symbol.dispose]();
    throw error;
  }
}

/** Plain data without the disposer it arrived with; anything that holds live references is handed on as it is. */
export function passOn(answer: unknown): unknown {
  if (typeof answer !== "object" || answer === null || !(Symbol.dispose in answer)) return answer;
  const prototype: unknown = Object.getPrototypeOf(answer);
  if (prototype !== Object.prototype && prototype !== Array.prototype) return answer;
  let copy: unknown;
  try {
    copy = structuredClone(answer);
  } catch {
    // Stubs and streams cannot be copied: their owner has to live as long as they do.
    return answer;
  }
  (answer as Disposable)[Symbol.dispose]();
  return copy;
}
