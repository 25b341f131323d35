// Reads just enough of an SQL text to apply the platform's rules: which parameters it has, and whether the statement is
// one that Durable Objects refuse. Quoted text and comments never count as code.

export interface SqlText {
  /** The statement with comments and string literals blanked; quoted identifiers are kept. */
  readonly code: string;
  /** One entry per parameter slot; a name for `?1`, `:a`, `@a`, `$a`, undefined for a plain `?`. */
  readonly parameters: readonly (string | undefined)[];
}

const TOKEN =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|\?\d*|[:@$][A-Za-z_]\w*/g;

export function readSql(sql: string): SqlText {
  const parameters: (string | undefined)[] = [];
  const code = sql.replace(TOKEN, (token) => {
    const first = token[0];
    if (first === "'") return "''";
    if (first === "-" || first === "/") return " ";
    if (first === '"' || first === "`" || first === "[") return token;
    addParameter(parameters, token);
    return token;
  });
  return { code, parameters };
}

const COMMENT = /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g;
/** What SQLite skips, beside comments, before a statement. */
const SKIPPED = /^[ \t\n\f\r\uFEFF;]*$/;

/** False for blanks and comments alone. SQLite reads a text up to its first NUL. */
export function hasStatement(sql: string): boolean {
  const [read = ""] = sql.split("\0", 1);
  return !SKIPPED.test(read.replace(COMMENT, ""));
}

function addParameter(parameters: (string | undefined)[], token: string): void {
  if (token === "?") {
    parameters.push(undefined);
    return;
  }
  if (token.startsWith("?")) {
    const position = Number(token.slice(1));
    while (parameters.length < position) parameters.push(undefined);
    parameters[position - 1] = token;
    return;
  }
  if (!parameters.includes(token)) parameters.push(token);
}

const TRANSACTION_ERROR =
  "To execute a transaction, please use the state.storage.transaction() or state.storage.transactionSync() APIs " +
  "instead of the SQL BEGIN TRANSACTION or SAVEPOINT statements. The JavaScript API is safer because it will " +
  "automatically roll back on exceptions, and because it interacts correctly with Durable Objects' automatic atomic " +
  "write coalescing.";

const ALLOWED_PRAGMAS = new Set([
  "case_sensitive_like",
  "data_version",
  "defer_foreign_keys",
  "foreign_key_check",
  "foreign_key_list",
  "foreign_keys",
  "function_list",
  "ignore_check_constraints",
  "index_info",
  "index_list",
  "index_xinfo",
  "legacy_alter_table",
  "optimize",
  "quick_check",
  "recursive_triggers",
  "reverse_unordered_selects",
  "table_info",
  "table_list",
  "table_xinfo"
]);

/** Throws as the platform does for a statement it does not allow. */
export function refuseForbidden(code: string): void {
  const [first = "", second = ""] = code
    .trim()
    .toUpperCase()
    .split(/[\s;(=]+/, 2);
  if (/^(BEGIN|COMMIT|END|ROLLBACK|SAVEPOINT|RELEASE)$/.test(first)) throw new Error(TRANSACTION_ERROR);
  if (first === "ATTACH" || first === "DETACH") throw notAuthorized();
  if (first === "VACUUM") throw new Error("cannot VACUUM from within a transaction: SQLITE_ERROR");
  if (first === "PRAGMA" && !ALLOWED_PRAGMAS.has(second.toLowerCase().replace(/^main\./, ""))) throw notAuthorized();
  if (first === "CREATE" && /^TEMP(ORARY)?$/.test(second)) throw notAuthorized();
  const reserved = /(?:^|[^\w])(_cf_\w*)/i.exec(code);
  if (reserved !== null && isSchemaChange(code)) throw notAuthorized();
  if (reserved !== null) throw new Error(`access to ${reserved[1]} is prohibited: SQLITE_AUTH`);
  if (/\bsqlite_version\s*\(/i.test(code)) {
    throw new Error("not authorized to use function: sqlite_version: SQLITE_ERROR");
  }
}

export function isSchemaChange(code: string): boolean {
  return /^\s*(CREATE|DROP|ALTER|REINDEX)\b/i.test(code);
}

function notAuthorized(): Error {
  return new Error("not authorized: SQLITE_AUTH");
}
