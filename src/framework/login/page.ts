// The page with the form, as a text: it has no script, and nothing of the app's own page.

const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'",
  "referrer-policy": "same-origin"
};

const STYLE = `:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}body{display:grid;place-items:center;min-height:90vh;margin:1rem}
form{display:grid;gap:.75rem;width:min(22rem,100%)}h1{font-size:1.25rem;margin:0}label{display:grid;gap:.25rem}
input,button{font:inherit;padding:.5rem .75rem;border:1px solid color-mix(in srgb,currentColor 40%,transparent);border-radius:.5rem}
button{cursor:pointer}[role=alert]{margin:0}p{margin:0}`;

export interface LoginPage {
  readonly status: number;
  /** Why it is shown again, or what the operator has to do. */
  readonly problem?: string;
  /** Nothing to fill in: the app cannot let anyone in yet. */
  readonly isClosed?: boolean;
  /** In development: any name, and no password. */
  readonly isOpen?: boolean;
}

export function loginPage({ status, problem, isClosed, isOpen }: LoginPage): Response {
  const alert = problem === undefined ? "" : `<p role="alert">${escaped(problem)}</p>`;
  const password = `<label>Password <input name="password" type="password" autocomplete="current-password" required maxlength="200"></label>`;
  const hint = isOpen ? "<p>In development every name may enter, without a password.</p>" : password;
  const fields = `<label>E-mail <input name="user" autocomplete="username" required autofocus maxlength="200"></label>${hint}<button>Log in</button>`;
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Log in</title><style>${STYLE}</style></head><body><main><form method="post" action="/login"><h1>Log in</h1>${alert}${isClosed ? "" : fields}</form></main></body></html>`;
  return new Response(html, { status, headers: HEADERS });
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
