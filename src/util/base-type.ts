// Which names of an agent's class are the package's own. A class of the package says so by a member that exists for the
// compiler only, so that a client, which imports nothing of the server, can tell a user's methods from the package's.

/** Keys the class that a user's class extends. No object has such a member. */
export declare const BASE: unique symbol;

export interface HasBase<Base = object> {
  readonly [BASE]?: Base;
}
