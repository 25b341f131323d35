// Makes the tools of an MCP server out of a few lines about it: things it knows with what is done to them, and tools of its
// own. Each server has its own manner of naming and describing, as servers of different authors have.

export interface ServerLines {
  readonly id: string;
  readonly name: string;
  readonly style: "snake" | "camel" | "kebab" | "noun-first";
  /** `singular | plural | what it is | fields | further operations` */
  readonly things: string;
  /** `name | description | parameter: what it is; …` */
  readonly own: string;
}

export interface ServedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: { readonly type: "object"; readonly [keyword: string]: unknown };
}

export interface ServerTools {
  readonly id: string;
  readonly name: string;
  readonly tools: readonly ServedTool[];
}

/** Of each server. */
export const TOOLS_PER_SERVER = 50;

const USUAL = ["list", "get", "create", "update", "delete"];

/** By operation: how different authors say it. `%s` one thing, `%p` several, `%a` what it is. */
const SAYINGS: Readonly<Record<string, readonly string[]>> = {
  list: [
    "List %p, newest first. Results are paginated; pass the cursor of the last page to get the next one.",
    "Returns %p (%a) that match the given filters.",
    "Enumerates all %p the caller has access to. At most 100 per page.",
    "Retrieve a page of %p with optional filtering and sorting."
  ],
  get: [
    "Get one %s by its id, with all of its fields.",
    "Returns the details of a %s: %a.",
    "Fetches a single %s. Fails with not_found if it does not exist.",
    "Retrieve a %s."
  ],
  create: [
    "Create a new %s (%a).",
    "Creates a %s and returns it with its id.",
    "Adds a %s. The call is not idempotent: calling it twice makes two %p.",
    "Create a %s with the given properties."
  ],
  update: [
    "Update fields of a %s; fields that are left out stay as they are.",
    "Changes an existing %s and returns the new version.",
    "Modifies the given %s. Only the owner and administrators may do this.",
    "Edit a %s."
  ],
  delete: [
    "Delete a %s. This cannot be undone.",
    "Permanently removes a %s.",
    "Removes the %s with this id. Depending objects are removed as well.",
    "Delete a %s and everything that belongs to it."
  ],
  search: [
    "Search %p by text.",
    "Full-text search over %p; returns the best matches with a snippet.",
    "Finds %p whose text matches the query.",
    "Query %p with a search expression."
  ],
  archive: [
    "Archive a %s, so that it is no longer listed.",
    "Moves a %s to the archive.",
    "Archives the %s.",
    "Archive a %s."
  ],
  comment: ["Add a comment to a %s.", "Posts a comment on a %s.", "Writes a comment below the %s.", "Comment on a %s."],
  assign: [
    "Assign a %s to a person.",
    "Sets the assignee of a %s.",
    "Makes a user responsible for the %s.",
    "Assign a %s."
  ],
  close: ["Close a %s with an optional reason.", "Marks a %s as closed.", "Closes the %s.", "Close a %s."],
  reopen: ["Reopen a closed %s.", "Marks a closed %s as open again.", "Reopens the %s.", "Reopen a %s."],
  share: ["Share a %s with people or groups.", "Grants others access to a %s.", "Shares the %s.", "Share a %s."],
  copy: ["Copy a %s.", "Makes a duplicate of a %s.", "Duplicates the %s under a new name.", "Copy a %s."],
  move: ["Move a %s to another parent.", "Puts a %s elsewhere.", "Moves the %s.", "Move a %s."],
  export: ["Export %p as CSV or JSON.", "Writes %p to a file and returns its address.", "Exports %p.", "Export %p."],
  restore: ["Restore a deleted %s.", "Brings a %s back from the trash.", "Restores the %s.", "Restore a %s."],
  cancel: [
    "Cancel a %s.",
    "Cancels a %s that has not been completed.",
    "Stops the %s before it takes effect.",
    "Cancel a %s."
  ],
  approve: ["Approve a %s.", "Marks a %s as approved.", "Approves the %s on behalf of the caller.", "Approve a %s."],
  reject: ["Reject a %s with a reason.", "Declines a %s.", "Rejects the %s.", "Reject a %s."],
  count: ["Count %p that match a filter.", "Returns how many %p there are.", "Counts %p.", "Count %p."],
  history: [
    "Show who changed a %s and when.",
    "Returns the versions of a %s.",
    "Lists past changes of the %s.",
    "History of a %s."
  ],
  tag: ["Put tags on a %s.", "Adds or removes tags of a %s.", "Tags the %s.", "Tag a %s."]
};

export function serverTools(lines: ServerLines, index: number): ServerTools {
  const own = rowsOf(lines.own).map(([name = "", description = "", parameters = ""]) => ({
    name,
    description,
    inputSchema: schemaOf(parameters.split(";").map((one) => one.split(":") as string[]))
  }));
  const made = rowsOf(lines.things).flatMap(([one = "", many = "", about = "", fields = "", more = ""]) =>
    [...USUAL, ...wordsOf(more)].map((verb) => {
      const thing = { one, many, about, fields: fields.split(",").map((field) => field.trim()) };
      return thingTool(verb, thing, lines.style, index);
    })
  );
  const tools = [...own, ...made].slice(0, TOOLS_PER_SERVER);
  if (tools.length < TOOLS_PER_SERVER) throw new Error(`${lines.id} has only ${tools.length} tools.`);
  return { id: lines.id, name: lines.name, tools };
}

interface Thing {
  readonly one: string;
  readonly many: string;
  readonly about: string;
  readonly fields: readonly string[];
}

const SEVERAL = new Set(["list", "search", "export", "count"]);

function thingTool(verb: string, thing: Thing, style: ServerLines["style"], index: number): ServedTool {
  const sayings = SAYINGS[verb];
  const saying = sayings?.[index % sayings.length];
  if (saying === undefined) throw new Error(`No saying for "${verb}".`);
  const noun = SEVERAL.has(verb) ? thing.many : thing.one;
  const description = saying.replaceAll("%s", thing.one).replaceAll("%p", thing.many).replaceAll("%a", thing.about);
  return { name: nameOf(verb, noun, style), description, inputSchema: schemaOf(parametersOf(verb, thing)) };
}

function nameOf(verb: string, noun: string, style: ServerLines["style"]): string {
  const words = noun.toLowerCase().split(/[^a-z0-9]+/);
  if (style === "kebab") return [verb, ...words].join("-");
  if (style === "noun-first") return [...words, verb].join("_");
  if (style === "snake") return [verb, ...words].join("_");
  return verb + words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join("");
}

function parametersOf(verb: string, { one, many, fields }: Thing): string[][] {
  const id = [`${one.replaceAll(/\W+/g, "_").toLowerCase()}_id`, `Id of the ${one}`];
  const page = [
    ["cursor", "Where the next page starts"],
    ["limit", `The most ${many} to return, from 1 to 100`]
  ];
  const given = fields.map((field) => [field.replaceAll(" ", "_"), `The ${field} of the ${one}`]);
  switch (verb) {
    case "list":
      return [...given.slice(-2).map(([name = ""]) => [name, `Only ${many} with this ${name}`]), ...page];
    case "search":
      return [["query", `Words to find in ${many}`], ...page];
    case "create":
      return given;
    case "update":
      return [id, ...given];
    case "comment":
      return [id, ["body", "Text of the comment, in Markdown"]];
    case "export":
    case "count":
      return [
        ["filter", `Which ${many}`],
        ["format", "csv or json"]
      ];
    default:
      return [id];
  }
}

function schemaOf(parameters: readonly (readonly string[])[]): ServedTool["inputSchema"] {
  const named = parameters
    .map(([name = "", about = ""]) => [name.trim(), about.trim()] as const)
    .filter(([name]) => name);
  const properties = Object.fromEntries(
    named.map(([name, description]) => [name, { type: typeOf(name), description: description || `The ${name}` }])
  );
  return { type: "object", properties, required: named.slice(0, 1).map(([name]) => name), additionalProperties: false };
}

function typeOf(name: string): string {
  if (/^(limit|count|amount|max|page|width|height|minutes|quantity|number)/.test(name)) return "number";
  if (/^(is|has|include|dry)_/.test(name)) return "boolean";
  return "string";
}

function rowsOf(text: string): string[][] {
  return text
    .trim()
    .split("\n")
    .map((line) => line.split("|").map((cell) => cell.trim()));
}

function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}
