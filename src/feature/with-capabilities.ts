// Classes with a part of the capabilities.
import type { HasBase } from "../util/base-type.ts";
import type { Capability, NamesOf } from "./capability.ts";
import { capabilitiesOfClass, install } from "./members.ts";

type AbstractClass = abstract new (...args: never[]) => object;

/** TypeScript joins what such a constructor makes with what the base class makes; it knows one by these very parameters. */
// oxlint-disable-next-line typescript/no-explicit-any
type Mixin<Members> = abstract new (...args: any[]) => Members & HasBase<Members>;

/**
 * A class with these capabilities and those that they are built on, to extend. What it does not have costs it nothing: no
 * row, no call, no byte of its bundle.
 *
 * @example
 * class Support extends withCapabilities(ThinkCore, actions, skills)<Env> {
 *   getModel() {
 *     return openai("gpt-5");
 *   }
 * }
 */
export function withCapabilities<Base extends AbstractClass, List extends readonly Capability[]>(
  base: Base,
  ...capabilities: List
): Base & Mixin<NamesOf<List>> {
  const known = new Set(capabilitiesOfClass(base));
  const all = withRequired(capabilities).filter((one) => !known.has(one));
  const parent: AbstractClass = base;
  // Named by who extends it.
  abstract class WithCapabilities extends parent {
    static {
      install(this, all);
    }
  }
  const made: AbstractClass = WithCapabilities;
  return made as Base & Mixin<NamesOf<List>>;
}

/** Each behind what it is built on, once. */
function withRequired(capabilities: readonly Capability[], found = new Set<Capability>()): Capability[] {
  for (const capability of capabilities) {
    withRequired(capability.requires, found);
    found.add(capability);
  }
  return [...found];
}
