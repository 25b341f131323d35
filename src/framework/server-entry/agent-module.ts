// From the module at a convention path to the class that is exported for it, when the Worker is loaded. The build checks
// what can be read off the source; this checks what is really there.
import { errorTable, ThinkError } from "../../util/errors.ts";
import { isAgentDefinition } from "../definition.ts";
import { missingExport } from "../manifest/module-exports.ts";

/** A Durable Object class with requests: every agent. */
export type AgentConstructor = new (ctx: never, env: never) => Rpc.DurableObjectBranded;

export interface ConventionAgent {
  readonly className: string;
  /** Of the file, for errors. */
  readonly path: string;
}

type AgentModuleProblem = "export-missing" | "export-ambiguous" | "class-shared";

const agentModuleErrors = errorTable(ThinkError, {
  AgentModuleError: (problem: AgentModuleProblem, message: string) => ({
    code: `agent-${problem}`,
    message,
    hint: "One file below agents/ is one agent: a class, or agent({ … })."
  })
});

/** Which name each class was given. One class is one agent. */
const named = new WeakMap<object, ConventionAgent>();

/**
 * The class of an agent file, under its generated name. Throws with the file's path when the file exports none, or
 * several and no default.
 */
export function thinkAgentClass(module: object, { className, path }: ConventionAgent): AgentConstructor {
  const chosen = chooseExport(module, path);
  if (isAgentDefinition(chosen)) return chosen.createClass(className);
  const before = named.get(chosen);
  if (before !== undefined && before.className !== className) {
    throw agentModuleErrors.AgentModuleError(
      "class-shared",
      `${path} and ${before.path} export the same class. Extend it in one of them: class Other extends It {}.`
    );
  }
  named.set(chosen, { className, path });
  nameClass(chosen, className);
  // Checked by `isAgentClass`.
  return chosen as AgentConstructor;
}

function chooseExport(module: object, path: string): object {
  const entries = Object.entries(module).filter(([name]) => name !== "className");
  const valid = entries.filter(([, value]) => isAgentDefinition(value) || isAgentClass(value));
  const chosen = valid.find(([name]) => name === "default") ?? valid[0];
  if (chosen === undefined) {
    const lookAlike = entries.some(([, value]) => typeof value === "object" && value !== null && "model" in value);
    throw agentModuleErrors.AgentModuleError("export-missing", missingExport(path, lookAlike));
  }
  // The same class under two names is one.
  if (chosen[0] !== "default" && new Set(valid.map(([, value]) => value)).size > 1) {
    const names = valid.map(([name]) => name).join(", ");
    throw agentModuleErrors.AgentModuleError(
      "export-ambiguous",
      `${path} exports several agents (${names}) and no default. One file is one agent: export it as default.`
    );
  }
  // Valid ones are classes or definitions.
  return chosen[1] as object;
}

function isAgentClass(value: unknown): boolean {
  if (typeof value !== "function") return false;
  const prototype: unknown = value.prototype;
  return typeof prototype === "object" && prototype !== null && typeof Reflect.get(prototype, "fetch") === "function";
}

/** So that `this.subAgent(ImportedClass, …)` finds the export. A class with a `name` of its own keeps it. */
function nameClass(chosen: object, className: string): void {
  const own = Object.getOwnPropertyDescriptor(chosen, "name");
  if (own === undefined || own.configurable)
    Object.defineProperty(chosen, "name", { value: className, configurable: true });
}
