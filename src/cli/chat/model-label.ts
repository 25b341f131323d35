// Which model answers, as the app's own login tells its page.
import { printable } from "../message-text.ts";

const MODEL_LIMIT_MS = 5_000;

/** Undefined where the server does not say. */
export async function modelLabel(origin: string, query: Readonly<Record<string, string>>): Promise<string | undefined> {
  try {
    const url = new URL("/me", origin);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const response = await fetch(url, { signal: AbortSignal.timeout(MODEL_LIMIT_MS) });
    const { model } = (await response.json()) as { model?: { label?: unknown; problem?: unknown } };
    if (typeof model?.label !== "string") return undefined;
    return printable(typeof model.problem === "string" ? `${model.label}. ${model.problem}` : model.label);
  } catch {
    return undefined; // No such route: an app without the starters' login.
  }
}
