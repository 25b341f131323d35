// Who is at the page, as the server knows it. Types of src/login.ts and models/model.ts, as JSON.
export interface PageSession {
  readonly user: string;
  /** The agent that this person talks to. */
  readonly agent: string;
  readonly isDevelopment: boolean;
  readonly model: { readonly label: string; readonly problem?: string };
}

/** Undefined: the browser is on its way to the login. */
export async function readSession(): Promise<PageSession | undefined> {
  const response = await fetch("/me");
  if (response.status !== 401) return response.json();
  location.assign("/login");
  return undefined;
}
