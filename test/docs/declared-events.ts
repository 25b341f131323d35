// The events of the package with the names of their fields, read from their declaration: types leave nothing at run time.

export interface DeclaredEvent {
  readonly name: string;
  readonly fields: readonly string[];
}

export function eventsOf(source: string): readonly DeclaredEvent[] {
  const text = source.replaceAll(/\/\*\*[^]*?\*\//g, "").replaceAll(/\/\/.*$/gm, "");
  const aliases = new Map(
    [...text.matchAll(/^type (\w+) = ([^]*?);$(?=\n(?:\n|type |export ))/gm)].map(([, name = "", type = ""]) => [
      name,
      type
    ])
  );
  const body = text.split("export interface EventPayloads {")[1]?.split("\n}\n")[0] ?? "";
  return membersOf(body).map(([name, type]) => ({ name, fields: fieldsOf(type, aliases) }));
}

/** Own fields of an object type, and those of the types it is made with. */
function fieldsOf(type: string, aliases: ReadonlyMap<string, string>): readonly string[] {
  if (type.startsWith("Record<")) return [];
  return split(type, "&").flatMap((part) => {
    const alias = aliases.get(part);
    if (alias !== undefined) return fieldsOf(alias, aliases);
    return membersOf(part.slice(part.indexOf("{") + 1, part.lastIndexOf("}"))).map(([name]) => name);
  });
}

function membersOf(body: string): readonly (readonly [name: string, type: string])[] {
  return split(body, ";").map((member) => {
    const [, name = "", type = ""] = /^"?([\w:-]+?)"?\??: ([^]*)$/.exec(member) ?? [];
    return [name, type] as const;
  });
}

/** At a separator outside of braces and brackets. */
function split(text: string, separator: string): readonly string[] {
  const parts = [""];
  let depth = 0;
  for (const character of text) {
    depth += "{[(<".includes(character) ? 1 : "}])>".includes(character) ? -1 : 0;
    if (character === separator && depth === 0) parts.push("");
    else parts[parts.length - 1] += character;
  }
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}
