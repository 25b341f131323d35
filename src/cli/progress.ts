// Says that something goes on: anything over a second is announced, and announced again while it lasts.
import type { CliContext } from "./cli-context.ts";

const FIRST_AFTER_MS = 1_000;
const AGAIN_AFTER_MS = 10_000;

/** The result of the work. Shorter work says nothing. */
export async function withProgress<Result>(
  text: string,
  { note }: Pick<CliContext, "note">,
  work: Promise<Result>
): Promise<Result> {
  const begin = Date.now();
  let repeated: NodeJS.Timeout | undefined;
  const first = setTimeout(() => {
    note(`${text} …`);
    repeated = setInterval(() => {
      note(`${text} … ${Math.round((Date.now() - begin) / 1000)} s`);
    }, AGAIN_AFTER_MS);
  }, FIRST_AFTER_MS);
  try {
    return await work;
  } finally {
    clearTimeout(first);
    clearInterval(repeated);
  }
}
