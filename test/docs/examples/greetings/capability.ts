// The capability of the architecture page: one folder, one line in a list.
import { tool } from "ai";
import { z } from "zod";
import { chatCapability } from "../../../../src/feature/capability.ts";
import { TableSet, type TableDefinition } from "../../../../src/host/table-set.ts";

const GREETING_TABLES: readonly TableDefinition[] = [
  // Bound: one row per person. Deleted: with the object.
  { name: "cf_greetings", create: ["CREATE TABLE cf_greetings (name TEXT PRIMARY KEY) WITHOUT ROWID"] }
];

export class GreetingMembers {
  /** A setting: every agent gets the field, and a class may have another value. */
  greeting = "Hello";

  /** A method on the prototype; `this` is the agent. */
  greet(name: string): string {
    greetings.of(this).remember(name);
    return `${this.greeting}, ${name}`;
  }

  /** Refused when a readonly client is behind the call. */
  static changes = ["greet"];
}

export const greetings = chatCapability({
  name: "greetings",
  members: GreetingMembers,
  feature: ({ sql }) => {
    const tables = new TableSet(sql, GREETING_TABLES);
    const list = () =>
      tables.all<{ name: string }>("SELECT name FROM cf_greetings ORDER BY name").map(({ name }) => name);
    return {
      name: "greetings",
      tables: GREETING_TABLES,
      remember: (name: string) => tables.run("INSERT OR IGNORE INTO cf_greetings VALUES (?)", name),
      toolNames: ["known_names"],
      inTurn: () => ({
        tools: { context: { known_names: tool({ inputSchema: z.object({}), execute: () => list() }) } },
        prompt: [{ label: "greetings", text: `You have greeted ${list().length} people.` }]
      })
    };
  }
});
