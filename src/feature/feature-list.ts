// The features of one agent in their order, and what they are looked up by: a member, a role, a name. The list of those that
// have a member is made once, so a feature without it costs nothing where that member would be called.
import { refuseClashes } from "./clashes.ts";
import type { Feature, Roles } from "./feature.ts";

/** Of this member at least it is known that it is there. */
export type With<Member extends keyof Feature> = Feature & Required<Pick<Feature, Member>>;

/** Around those of capabilities, whose place is their number in the list of the class. */
const PLACES = { "with-agent": -2, conversation: -1, joined: 1e6, last: 2e6 };

export class FeatureList {
  readonly #byMember = new Map<keyof Feature, readonly Feature[]>();
  #list: readonly { readonly feature: Feature; readonly place: number }[] = [];

  /** Throws FeatureClashError. */
  add<Added extends Feature>(feature: Added, place: keyof typeof PLACES | number = "joined"): Added {
    const at = typeof place === "number" ? place : PLACES[place];
    refuseClashes(feature, this.all);
    const behind = this.#list.findIndex((one) => one.place > at);
    this.#list = this.#list.toSpliced(behind < 0 ? this.#list.length : behind, 0, { feature, place: at });
    this.#byMember.clear();
    return feature;
  }

  remove(feature: Feature): void {
    this.#list = this.#list.filter((one) => one.feature !== feature);
    this.#byMember.clear();
  }

  get all(): readonly Feature[] {
    return this.#list.map(({ feature }) => feature);
  }

  /** What is opened with the agent, and the conversation: they are started first, and what one throws fails the start. */
  get beforeCapabilities(): readonly Feature[] {
    return this.#list.filter(({ place }) => place < 0).map(({ feature }) => feature);
  }

  named(name: string): Feature | undefined {
    return this.all.find((feature) => feature.name === name);
  }

  /** Those with this member, in order. */
  with<Member extends keyof Feature>(member: Member): readonly With<Member>[] {
    const known = this.#byMember.get(member) ?? this.all.filter((feature) => feature[member] !== undefined);
    this.#byMember.set(member, known);
    return known as readonly With<Member>[];
  }

  /** What one feature does for the agent; undefined: none does. */
  role<Name extends keyof Roles>(name: Name): Roles[Name] | undefined {
    return this.holderOf(name)?.roles?.[name];
  }

  holderOf(role: keyof Roles): Feature | undefined {
    return this.with("roles").find(({ roles }) => roles[role] !== undefined);
  }

  /** What it throws is logged under its name. */
  guarded<T>(feature: Feature, member: string, work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      logFailure(feature, member, error);
      return undefined;
    }
  }
}

export function logFailure(feature: Feature | undefined, member: string, error: unknown): void {
  console.error(`The feature "${feature?.name}" failed in ${member}:`, error);
}
