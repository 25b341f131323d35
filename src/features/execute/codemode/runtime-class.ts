// A name for ported entries, apart from what runs programs: an entry that exports it loads nothing else.

/**
 * Nothing needs to be exported from a Worker: what it would hold is in the agent's own storage.
 *
 * @example
 * export { CodemodeRuntime } from "everthink/server-entry"; // may stay in a ported entry
 */
export class CodemodeRuntime {}
