import fc from "fast-check";
import { expect, test } from "vitest";
import { type ClassMigration, objectClasses } from "./object-classes.ts";

const migration = (part: Partial<ClassMigration>): ClassMigration => ({
  created: [],
  createdWithoutSql: [],
  renamed: [],
  deleted: [],
  ...part
});
const sql = (className: string, key: string) => ({ className, key, hasSql: true });

test.each([
  ["bound classes without a migration", [], ["A"], [sql("A", "everthink-A")]],
  ["a created class that is not bound", [migration({ created: ["A"] })], [], [sql("A", "everthink-A")]],
  [
    "a class of the old storage",
    [migration({ createdWithoutSql: ["A"] })],
    ["A"],
    [{ ...sql("A", "everthink-A"), hasSql: false }]
  ],
  [
    "a renamed class keeps its data",
    [
      migration({ created: ["A"] }),
      migration({ renamed: [{ from: "A", to: "B" }] }),
      migration({ renamed: [{ from: "B", to: "C" }] })
    ],
    ["C"],
    [sql("C", "everthink-A")]
  ],
  [
    "a new class under an old name does not get the data of the one that was renamed",
    [migration({ created: ["A"] }), migration({ renamed: [{ from: "A", to: "B" }], created: ["A"] })],
    ["A", "B"],
    [sql("B", "everthink-A"), sql("A", "everthink-A-2")]
  ],
  [
    "a class that was deleted and made again starts empty",
    [migration({ created: ["A"] }), migration({ deleted: ["A"] }), migration({ created: ["A"] })],
    ["A"],
    [sql("A", "everthink-A-2")]
  ],
  [
    "a deleted class is gone",
    [migration({ created: ["A", "B"] }), migration({ deleted: ["A"] })],
    ["B"],
    [sql("B", "everthink-B")]
  ]
])("%s", (_name, migrations, bound, expected) => {
  expect(objectClasses(migrations, bound)).toEqual(expected);
});

const name = fc.constantFrom("A", "B", "C");
const names = fc.array(name, { maxLength: 2 });
const anyMigration = fc.record({
  created: names,
  createdWithoutSql: names,
  renamed: fc.array(fc.record({ from: name, to: name }), { maxLength: 2 }),
  deleted: names
});

test("no two classes ever share a key, and a migration that comes later moves no key", () => {
  fc.assert(
    fc.property(fc.array(anyMigration, { maxLength: 6 }), names, (migrations, created) => {
      const before = objectClasses(migrations, []);
      expect(new Set(before.map(({ key }) => key)).size).toBe(before.length);
      const after = objectClasses([...migrations, migration({ created })], []);
      expect(after).toEqual(expect.arrayContaining(before));
    })
  );
});
