// The way back from a workflow to its agent: the root by its class or binding, then down the recorded path. A new stub
// for every call, because a workflow outlives many activations and a stub is broken by the first one that ends.
import { kebabCase } from "../../util/kebab.ts";
import { type AgentNamespace, type AgentStub, callAgent, isNamespace } from "../../agent/tree/agent-call.ts";
import type { InternalCall } from "../../agent/tree/internal.ts";
import type { WorkflowOrigin } from "./origin.ts";
import { workflowErrors } from "./errors.ts";

/** What a Worker can look agents up in: `ctx.exports` and `env`. */
export interface AgentDirectory {
  exports: unknown;
  env: unknown;
}

export interface OriginAddress {
  ask(call: InternalCall): Promise<unknown>;
}

/** Throws AgentBindingError when this Worker does not know the agent's class. */
export function openAddress(origin: WorkflowOrigin, directory: AgentDirectory): OriginAddress {
  const namespace = namespaceOf(origin, directory);
  const [root, ...below] = origin.path;
  return {
    ask(call) {
      const named = namespace.idFromName(root?.name ?? origin.agentName);
      // The name leads elsewhere when the agent lives in a jurisdiction.
      const id = named.toString() === origin.agentId ? named : namespace.idFromString(origin.agentId);
      // Every agent class has `internalCall`.
      return callAgent(namespace.get(id) as DurableObjectStub & AgentStub, { to: below, call });
    }
  };
}

/** The name of the binding that stands for a class: named like it, exactly or in kebab case. */
export function bindingOf(className: string, env: unknown): string | undefined {
  const names = namespaceNames(env);
  return names.find((name) => name === className) ?? names.find((name) => kebabCase(name) === kebabCase(className));
}

/** Whether a class can be found without knowing a binding. */
export function isExported(className: string, exports: unknown): boolean {
  return isNamespace(member(exports, className));
}

export function namespaceNames(env: unknown): string[] {
  return Object.keys(env ?? {}).filter((name) => isNamespace(member(env, name)));
}

function namespaceOf({ agentClass, agentBinding }: WorkflowOrigin, { exports, env }: AgentDirectory): AgentNamespace {
  const exported = member(exports, agentClass);
  const bound = agentBinding === null ? undefined : member(env, agentBinding);
  // A binding of another name was given on purpose; one of the same name was only guessed.
  const isGuess = agentBinding === null || kebabCase(agentBinding) === kebabCase(agentClass);
  for (const candidate of isGuess ? [exported, bound] : [bound, exported]) if (isNamespace(candidate)) return candidate;
  throw workflowErrors.AgentBindingError(agentClass, namespaceNames(env));
}

function member(holder: unknown, name: string): unknown {
  return holder === undefined || holder === null ? undefined : Reflect.get(holder as object, name);
}
