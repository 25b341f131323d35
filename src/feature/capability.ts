// A capability as its folder gives it to the rest of the package: one value that is listed once.
import type { TakeoverPart } from "../host/takeover.ts";
import type { Feature } from "./feature.ts";
import type { Features } from "./features.ts";
import type { MembersClass } from "./members.ts";
import { servicesOf, type ChatServices, type Services } from "./services.ts";

interface CapabilityInit<Members extends object, Requires extends readonly Capability[]> {
  /** In messages; that of its feature, where it has one. */
  readonly name: string;
  /** Its public names. */
  readonly members?: MembersClass<Members>;
  /** What it is built on: a class that has it has those too. */
  readonly requires?: Requires;
  /** What it carries over from an object of the packages that everthink replaces. */
  readonly takeover?: readonly TakeoverPart[];
  /** Whether a start opens its feature. One that is not opened costs nothing. Default: yes. */
  readonly isUsed?: (agent: object) => boolean;
  /** Its feature is opened with the agent itself and started before the conversation: its wakes count also when a start fails. */
  readonly opensWithAgent?: boolean;
}

/** Values of the class that carry a capability's feature: only a class that has such values imports its code. */
export interface Carried {
  /** The method that returns them, for messages. */
  readonly method: string;
  readonly read: (agent: object) => unknown;
  /** The error for a value that carries nothing. */
  readonly refuse: () => Error;
}

export interface Capability<
  Has extends Feature = Feature,
  Members extends object = object,
  Names extends object = Members
> {
  /** For types only: its public names, and those of what it is built on. */
  readonly names?: Names;
  readonly name: string;
  readonly members: MembersClass<Members> | undefined;
  readonly requires: readonly Capability[];
  readonly takeover: readonly TakeoverPart[];
  readonly isUsed: (agent: object) => boolean;
  readonly opensWithAgent: boolean;
  readonly open: ((features: Features) => Has) | undefined;
  readonly carried: Carried | undefined;
  /** The feature of an agent. Throws NotStartedError before there is a conversation that it needs. */
  of(agent: object): Has;
  /** The feature of an agent that has opened it. */
  find(agent: object): Has | undefined;
}

/** The public names of an agent with these capabilities. */
export type NamesOf<List extends readonly Capability[]> = UnionToIntersection<
  List[number] extends infer One ? (One extends Capability<Feature, object, infer Names> ? Names : never) : never
>;

type UnionToIntersection<Union> = (Union extends unknown ? (one: Union) => void : never) extends (
  all: infer All
) => void
  ? All
  : never;

/** Of every agent. */
export function capability<
  Has extends Feature = Feature,
  Members extends object = object,
  const Requires extends readonly Capability[] = readonly []
>(
  init: CapabilityInit<Members, Requires> & { readonly feature?: (services: Services) => Has }
): Capability<Has, Members, Members & NamesOf<Requires>> {
  const { feature } = init;
  return build(init, feature && (({ services }) => feature(services)));
}

/** Of agents with a conversation. */
export function chatCapability<
  Has extends Feature = Feature,
  Members extends object = object,
  const Requires extends readonly Capability[] = readonly []
>(
  init: CapabilityInit<Members, Requires> & {
    readonly feature?: (services: ChatServices) => Has;
    readonly carried?: Carried;
  }
): Capability<Has, Members, Members & NamesOf<Requires>> {
  const { feature, carried } = init;
  return build(init, feature && (({ chat }) => feature(chat)), carried);
}

function build<Has extends Feature, Members extends object, Names extends object>(
  {
    name,
    members,
    requires = [],
    takeover = [],
    isUsed = () => true,
    opensWithAgent = false
  }: CapabilityInit<Members, readonly Capability[]>,
  open: ((features: Features) => Has) | undefined,
  carried?: Carried
): Capability<Has, Members, Names> {
  const built: Capability<Has, Members, Names> = {
    name,
    members,
    requires,
    takeover,
    isUsed,
    opensWithAgent,
    open,
    carried,
    of: (agent) => servicesOf(agent).features.of(built),
    find: (agent) => servicesOf(agent).features.find(built)
  };
  return built;
}
