// Answers that no cache may keep.

export const NO_STORE = { "Cache-Control": "no-store" };

/** Answers with a value as JSON. */
export function noStoreJson(
  value: unknown,
  { status, headers }: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> } = {}
): Response {
  return Response.json(value, { status, headers: { ...NO_STORE, ...headers } });
}
