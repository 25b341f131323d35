// SQLite errors in the platform's wording: the message, then the result code's name.

const CODES: Record<number, string> = {
  1: "SQLITE_ERROR",
  5: "SQLITE_BUSY",
  6: "SQLITE_LOCKED",
  7: "SQLITE_NOMEM",
  8: "SQLITE_READONLY",
  13: "SQLITE_FULL",
  18: "SQLITE_TOOBIG",
  19: "SQLITE_CONSTRAINT",
  20: "SQLITE_MISMATCH",
  21: "SQLITE_MISUSE",
  23: "SQLITE_AUTH",
  25: "SQLITE_RANGE"
};

const CONSTRAINTS: Record<number, string> = {
  1: "CHECK",
  3: "FOREIGNKEY",
  5: "NOTNULL",
  6: "PRIMARYKEY",
  7: "TRIGGER",
  8: "UNIQUE",
  10: "ROWID",
  12: "DATATYPE"
};

const CONSTRAINT_CODE = 19;

export function sqliteError(error: unknown): unknown {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return error;
  const primary = error.errcode & 0xff;
  const extended = error.errcode >> 8;
  const constraint = primary === CONSTRAINT_CODE ? CONSTRAINTS[extended] : undefined;
  const suffix = constraint === undefined ? "" : ` (extended: SQLITE_CONSTRAINT_${constraint})`;
  return new Error(`${error.message}: ${CODES[primary] ?? "SQLITE_ERROR"}${suffix}`, { cause: error });
}
