// What an agent's class says about itself to its clients, as types only. Import the class with `import type`: nothing of
// the server reaches the page.
import type { HasBase } from "../util/base-type.ts";

type Method = (...args: never[]) => unknown;
type AgentClass = abstract new (...args: never[]) => object;

/** A streaming method gets its response before the arguments that clients give. */
interface StreamArgument {
  send(chunk: never): unknown;
  end(final?: never): unknown;
}

type ClientArguments<Args extends readonly unknown[]> = Args extends readonly [infer First, ...infer Rest]
  ? First extends StreamArgument
    ? Rest
    : Args
  : Args;

/** A class may be given as itself, `typeof Assistant`, or as what it makes. */
type InstanceOf<Agent> = Agent extends AgentClass ? InstanceType<Agent> : Agent;

type MethodNames<Instance> = {
  [Name in keyof Instance]: Name extends string ? (Instance[Name] extends Method ? Name : never) : never;
}[keyof Instance];

/** Those that a class has from the package: hooks, settings, and methods for code on the server. */
type NamesOfBase<Instance> = Instance extends HasBase<infer Base> ? keyof Base : never;

/** Marked by the package: clients of every conversation may call them. */
type MarkedByPackage = "listBranches" | "selectBranch" | "pendingApprovals" | "approveExecution" | "rejectExecution";

/** What `static callables` lists, if the compiler knows its names: an object, or a list `as const`. */
type ListedNames<Agent> = Agent extends { readonly callables: infer Listed }
  ? Listed extends readonly (infer Name)[]
    ? Known<Name>
    : Known<keyof Listed>
  : unknown;

type Known<Name> = string extends Name ? unknown : Name;

type CallableNames<Agent, Instance> =
  unknown extends ListedNames<Agent> ? Exclude<MethodNames<Instance>, NamesOfBase<Instance>> : ListedNames<Agent>;

/**
 * The methods of a class as a client calls them: arguments and results cross as JSON. Of `typeof Assistant` they are what its
 * `static callables` lists, of `Assistant` the methods that the class adds to the package's. Without a class, any.
 */
export type CallableMethods<Agent> = unknown extends Agent
  ? Record<string, { args: readonly unknown[]; result: unknown }>
  : MethodsOf<Agent, InstanceOf<Agent>>;

type MethodsOf<Agent, Instance> = {
  [
    Name in keyof Instance as Name extends CallableNames<Agent, Instance> | MarkedByPackage
      ? Instance[Name] extends Method
        ? Name
        : never
      : never
  ]: Instance[Name] extends (...args: infer Args) => infer Result
    ? { args: ClientArguments<Args>; result: Awaited<Result> }
    : never;
};

/** The state of a class that extends `Agent` or `Think`. */
export type AgentState<Agent> = InstanceOf<Agent> extends { state: infer State } ? State : unknown;
