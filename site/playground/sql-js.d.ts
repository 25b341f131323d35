// What the playground uses of the package, which has no types of its own.
declare module "sql.js" {
  export default function initSqlJs(options: { locateFile: () => string }): Promise<unknown>;
}
