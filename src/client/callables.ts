// What an agent's class says about itself to its clients, as types only. Import the class with `import type`: nothing of
// the server reaches the page. Which methods are callable is decided by marks at run time, which types cannot see.

type Method = (...args: never[]) => unknown;

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

/** The methods of a class as a client calls them: arguments and results cross as JSON. Without a class, any. */
export type CallableMethods<Agent> = unknown extends Agent
  ? Record<string, { args: readonly unknown[]; result: unknown }>
  : {
      [Name in keyof Agent as Agent[Name] extends Method ? Name : never]: Agent[Name] extends (
        ...args: infer Args
      ) => infer Result
        ? { args: ClientArguments<Args>; result: Awaited<Result> }
        : never;
    };

/** The state of a class that extends `Agent` or `Think`. */
export type AgentState<Agent> = Agent extends { state: infer State } ? State : unknown;
