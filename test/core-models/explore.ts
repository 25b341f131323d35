// An explorer of small state machines: visits every state that can be reached, breadth first, checks each transition, and
// then that from every state the machine can still come to rest. A problem is given with the shortest way to it.

export interface Machine<State> {
  readonly initial: State;
  /** What can happen in a state. A step that changes nothing is left out. */
  steps(state: State): Iterable<Step<State>>;
  /** What must hold after each step; undefined: it does. */
  check(after: State, before: State, name: string): string | undefined;
  /** Nothing is left to be done. It must be reachable from everywhere by steps that are not disturbances. */
  isAtRest(state: State): boolean;
}

export interface Step<State> {
  readonly name: string;
  /** A crash, or what somebody else does: nothing may depend on its coming. */
  readonly isDisturbance?: boolean;
  readonly to: State;
}

export interface Explored {
  readonly states: number;
  readonly transitions: number;
  /** The first one found. */
  readonly problem: string | undefined;
}

interface Visited<State> {
  readonly state: State;
  readonly from: string | undefined;
  readonly by: string;
  readonly next: string[];
}

const MOST_STATES = 400_000;

export function explore<State>(machine: Machine<State>): Explored {
  const known = new Map<string, Visited<State>>();
  const keyOf = (state: State) =>
    JSON.stringify(state, (_key, value: unknown) => (value instanceof Map ? [...value] : value));
  const first = keyOf(machine.initial);
  known.set(first, { state: machine.initial, from: undefined, by: "", next: [] });
  let transitions = 0;
  const ended = (problem: string | undefined): Explored => ({ states: known.size, transitions, problem });
  // Entries that are added while it runs are visited too.
  for (const [key, { state, next }] of known) {
    for (const { name, to, isDisturbance = false } of machine.steps(state)) {
      const target = keyOf(to);
      if (target === key) continue;
      transitions += 1;
      if (!isDisturbance) next.push(target);
      if (!known.has(target)) known.set(target, { state: to, from: key, by: name, next: [] });
      const problem = machine.check(to, state, name);
      if (problem) return ended(`${problem}: ${wayTo(known, key)}, ${name}`);
    }
    if (known.size > MOST_STATES) return ended(`more than ${MOST_STATES} states`);
  }
  const stuck = stuckState(known, machine);
  return ended(stuck && `it cannot come to rest: ${wayTo(known, stuck)}`);
}

/** The first state from which no rest can be reached. */
function stuckState<State>(
  known: ReadonlyMap<string, Visited<State>>,
  { isAtRest }: Machine<State>
): string | undefined {
  const before = new Map<string, string[]>();
  for (const [key, { next }] of known)
    for (const target of next) before.set(target, [...(before.get(target) ?? []), key]);
  const resting = [...known].filter(([, { state }]) => isAtRest(state)).map(([key]) => key);
  const reaching = new Set(resting);
  for (const key of reaching) for (const earlier of before.get(key) ?? []) reaching.add(earlier);
  return [...known.keys()].find((key) => !reaching.has(key));
}

function wayTo<State>(known: ReadonlyMap<string, Visited<State>>, key: string): string {
  const names: string[] = [];
  for (let at = known.get(key); at?.from !== undefined; at = known.get(at.from)) names.unshift(at.by);
  return names.join(", ");
}
