// The Durable Object classes of a Worker and the keys their data is stored under, from its migrations. A key names the
// folder on disk and goes into every object id: a class keeps its key when it is renamed, and a key is never given twice.

export interface BuiltClass {
  className: string;
  /** Never changes for the same data. */
  key: string;
  /** Without it the class has the key-value storage only, as on Cloudflare. */
  hasSql: boolean;
}

export interface ClassMigration {
  created: readonly string[];
  createdWithoutSql: readonly string[];
  renamed: readonly { from: string; to: string }[];
  deleted: readonly string[];
}

/** `bound` are classes with a binding; those no migration names are taken as they are. */
export function objectClasses(migrations: readonly ClassMigration[], bound: readonly string[]): BuiltClass[] {
  const living = new Map<string, BuiltClass>();
  const keys = new Set<string>();
  const create = (className: string, hasSql: boolean) => {
    if (living.has(className)) return;
    living.set(className, { className, key: unusedKey(className, keys), hasSql });
  };
  for (const { created, createdWithoutSql, renamed, deleted } of migrations) {
    for (const { from, to } of renamed) {
      const before = living.get(from);
      living.delete(from);
      if (before) living.set(to, { ...before, className: to });
      else create(to, true);
    }
    for (const className of deleted) living.delete(className);
    for (const className of created) create(className, true);
    for (const className of createdWithoutSql) create(className, false);
  }
  for (const className of bound) create(className, true);
  return [...living.values()];
}

/** A class created under a name that was used before must not find the data of its predecessor. */
function unusedKey(className: string, keys: Set<string>): string {
  let key = `everthink-${className}`;
  for (let generation = 2; keys.has(key); generation += 1) key = `everthink-${className}-${generation}`;
  keys.add(key);
  return key;
}
