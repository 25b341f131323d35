// Counts the rows a worker's objects read and write, as the platform bills them: table rows and index entries of every
// SQL statement. Counting is off, and costs nothing, until the driver switches it on: then the platform's own method is
// wrapped, so the statements of a library pass through it too. What is stored without SQL (alarms) is not counted.

interface Cursor {
  rowsRead: number;
  rowsWritten: number;
}

interface Execs {
  exec: (this: unknown, ...args: unknown[]) => Cursor;
}

let prototype: Execs | undefined;
let original: Execs["exec"] | undefined;
let cursors: Cursor[] = [];

/** Called by each object before anything else. */
export function meterObject(ctx: DurableObjectState): void {
  prototype ??= Object.getPrototypeOf(ctx.storage.sql) as Execs;
}

/** Answers the driver's requests to switch counting on and off; undefined for every other request. */
export function answerMeter(request: Request): Response | undefined {
  const { pathname } = new URL(request.url);
  if (pathname === "/meter/start") return start();
  if (pathname === "/meter/stop") return Response.json(stop());
  return undefined;
}

function start(): Response {
  if (prototype === undefined || original !== undefined) return new Response("Not now", { status: 409 });
  const exec = prototype.exec;
  original = exec;
  prototype.exec = function (...args) {
    const cursor = exec.apply(this, args);
    cursors.push(cursor);
    return cursor;
  };
  return new Response("counting");
}

/** A cursor counts while it is read, so the sums are taken at the end. */
function stop(): Cursor & { statements: number } {
  if (prototype !== undefined && original !== undefined) prototype.exec = original;
  original = undefined;
  const counted = cursors;
  cursors = [];
  const sum = (key: keyof Cursor) => counted.reduce((total, cursor) => total + cursor[key], 0);
  return { rowsRead: sum("rowsRead"), rowsWritten: sum("rowsWritten"), statements: counted.length };
}
